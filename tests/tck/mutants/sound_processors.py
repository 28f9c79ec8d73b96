"""Processors that keep the rules, each written in a manner of its own: the kit must pass them all.

None of them uses anything of Penstock. What they have in common is the names of the standard.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any


def require(argument: Any) -> None:
    if argument is None:
        raise TypeError("None is no argument")


class Loop:
    """The thread that wakes it works, unless another one does; that one works once more then."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.calls = 0

    def wake(self) -> None:
        with self.lock:
            self.calls += 1
            if self.calls > 1:
                return
        seen = 1
        while seen:
            self.work()
            with self.lock:
                self.calls -= seen
                seen = self.calls

    def work(self) -> None:
        raise NotImplementedError


class Nothing:
    """The subscription of a subscriber that is turned away."""

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        pass


def turn_away(subscriber: Any, error: Exception | None) -> None:
    try:
        subscriber.on_subscribe(Nothing())
        if error is None:
            subscriber.on_complete()
        else:
            subscriber.on_error(error)
    except Exception:
        pass


class Relay(Loop):
    """For one subscriber, on the calling thread; asks for what was asked, 16 at a time."""

    ROOM = 16

    def __init__(self) -> None:
        super().__init__()
        self.upstream: Any = None
        self.connected = False
        self.subscriber: Any = None
        self.taken = False
        self.greeted = False
        self.held: deque[Any] = deque()
        self.requested = 0
        self.delivered = 0
        self.asked = 0
        self.error: Exception | None = None
        self.completed = False

    # Downstream.

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        with self.lock:
            taken, self.taken = self.taken, True
        if taken:
            turn_away(subscriber, RuntimeError("there is a subscriber already"))
        else:
            self.subscriber = subscriber
            self.wake()

    def request(self, n: int) -> None:
        if self.subscriber is not None:
            if n > 0:
                with self.lock:
                    self.requested += n
            else:
                self.error = ValueError(f"{n} elements cannot be requested")
            self.wake()

    def cancel(self) -> None:
        self.subscriber = None
        self.wake()

    # Upstream.

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        with self.lock:
            surplus, self.connected = self.connected, True
            if not surplus:
                self.upstream = subscription
        if surplus:
            subscription.cancel()
        else:
            self.wake()

    def on_next(self, element: Any) -> None:
        require(element)
        self.held.append(element)
        self.wake()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.upstream = None
        self.error = error
        self.wake()

    def on_complete(self) -> None:
        self.upstream = None
        self.completed = True
        self.wake()

    # In between.

    def work(self) -> None:
        if not self.greeted and self.subscriber is not None:
            self.greeted = True
            self.tell("on_subscribe", self)
        while self.step():
            pass

    def step(self) -> bool:
        """Do one thing, if there is one to do."""
        if self.greeted and self.subscriber is None:
            self.release()
        elif self.greeted and self.error is not None:
            self.end("on_error", self.error)
        elif self.held and self.requested > self.delivered:
            return self.deliver()
        elif self.greeted and self.completed and not self.held:
            self.end("on_complete")
        else:
            return self.ask()
        return False

    def deliver(self) -> bool:
        self.delivered += 1
        self.tell("on_next", self.held.popleft())
        return True

    def wanted(self) -> int:
        """How many more elements to ask for."""
        return min(self.requested, self.delivered + self.ROOM) - self.asked

    def ask(self) -> bool:
        upstream, wanted = self.upstream, self.wanted()
        if upstream is None or wanted < 1:
            return False
        self.asked += wanted
        upstream.request(wanted)
        return True

    def release(self) -> None:
        with self.lock:
            upstream, self.upstream = self.upstream, None
        self.held.clear()
        if upstream is not None:
            upstream.cancel()

    def end(self, signal: str, *arguments: Any) -> None:
        subscriber, self.subscriber = self.subscriber, None
        self.release()
        self.call(subscriber, signal, *arguments)

    def tell(self, signal: str, *arguments: Any) -> None:
        self.call(self.subscriber, signal, *arguments)

    def call(self, subscriber: Any, signal: str, *arguments: Any) -> None:
        if subscriber is not None:
            try:
                getattr(subscriber, signal)(*arguments)
            except Exception:
                self.subscriber = None


class KnowsItsCaller(Relay):
    """Knows from within which of its signals it was called."""

    signal = "outside"
    requested_in: frozenset[str] = frozenset()
    cancelled_in = ""

    def tell(self, signal: str, *arguments: Any) -> None:
        outer, self.signal = self.signal, signal
        super().tell(signal, *arguments)
        self.signal = outer

    def request(self, n: int) -> None:
        self.requested_in |= {self.signal}
        super().request(n)

    def cancel(self) -> None:
        self.cancelled_in = self.cancelled_in or self.signal
        super().cancel()


class Eager(Relay):
    """Asks for four elements before anybody asks for one."""

    ROOM = 4

    def wanted(self) -> int:
        return self.delivered + self.ROOM - self.asked


class Mapping(Relay):
    """Sends something else than it gets, and fails if its function does."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def on_next(self, element: Any) -> None:
        require(element)
        if self.error is not None or self.completed:
            return
        try:
            result = self.function(element)
        except Exception as error:
            self.error = error.with_traceback(None)
            self.wake()
        else:
            super().on_next(result)


class Recovering(Relay):
    """Completes when upstream fails."""

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()


class OnAThread(Relay):
    """Works on a thread of its own, which lives as long as there is something to do."""

    def wake(self) -> None:
        with self.lock:
            self.calls += 1
            first = self.calls == 1
        if first:
            threading.Thread(target=self.live, daemon=True).start()

    def live(self) -> None:
        seen = 1
        while seen:
            self.work()
            with self.lock:
                self.calls -= seen
                seen = self.calls


class ByCondition:
    """A thread that waits on a condition, from the first subscriber to the end of the stream."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.upstream: Any = None
        self.subscriber: Any = None
        self.taken = self.over = self.completed = False
        self.demand = self.to_ask = 0
        self.held: list[Any] = []
        self.error: Exception | None = None

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        with self.changed:
            taken, self.taken = self.taken, True
        if taken:
            turn_away(subscriber, RuntimeError("there is a subscriber already"))
        else:
            self.subscriber = subscriber
            threading.Thread(target=self.live, daemon=True).start()

    def request(self, n: int) -> None:
        with self.changed:
            if n > 0:
                self.demand += n
                self.to_ask += n
            else:
                self.error = self.error or ValueError(f"{n} elements cannot be requested")
            self.changed.notify()

    def cancel(self) -> None:
        with self.changed:
            self.subscriber = None
            self.changed.notify()

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        with self.changed:
            surplus = self.upstream is not None or self.over
            if not surplus:
                self.upstream = subscription
                self.changed.notify()
        if surplus:
            subscription.cancel()

    def on_next(self, element: Any) -> None:
        require(element)
        with self.changed:
            self.held.append(element)
            self.changed.notify()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.finish(error)

    def on_complete(self) -> None:
        self.finish(None)

    def finish(self, error: Exception | None) -> None:
        with self.changed:
            self.upstream = None
            self.error = self.error or error
            self.over = self.completed = True
            self.changed.notify()

    def live(self) -> None:
        self.tell("on_subscribe", self)
        while (task := self.next_task()) is not None:
            task()
            del task  # it refers to the subscriber, for which this thread may wait long

    def next_task(self) -> Callable[[], object] | None:
        with self.changed:
            while True:
                if self.subscriber is None or self.error or (self.completed and not self.held):
                    return self.last_task()
                if self.held and self.demand:
                    self.demand -= 1
                    element = self.held.pop(0)
                    return lambda: self.tell("on_next", element)
                if self.upstream is not None and self.to_ask:
                    upstream, wanted, self.to_ask = self.upstream, self.to_ask, 0
                    return lambda: upstream.request(wanted)
                self.changed.wait()

    def last_task(self) -> Callable[[], object] | None:
        """What is left to do when the stream is over downstream."""
        if self.upstream is not None:
            upstream, self.upstream, self.over = self.upstream, None, True
            return partial(upstream.cancel)
        subscriber, self.subscriber, self.over = self.subscriber, None, True
        if subscriber is None:
            return None
        if self.error is None:
            return lambda: self.call(subscriber, "on_complete")
        return lambda: self.call(subscriber, "on_error", self.error)

    def tell(self, signal: str, *arguments: Any) -> None:
        self.call(self.subscriber, signal, *arguments)

    def call(self, subscriber: Any, signal: str, *arguments: Any) -> None:
        if subscriber is not None:
            try:
                getattr(subscriber, signal)(*arguments)
            except Exception:
                self.subscriber = None


class Branch:
    """One subscriber of a hub."""

    def __init__(self, hub: Hub, subscriber: Any) -> None:
        self.hub = hub
        self.subscriber = subscriber
        self.greeted = False
        self.demand = 0
        self.error: Exception | None = None

    def request(self, n: int) -> None:
        with self.hub.lock:
            if n > 0:
                self.demand += n
            else:
                self.error = ValueError(f"{n} elements cannot be requested")
        self.hub.wake()

    def cancel(self) -> None:
        self.subscriber = None
        self.hub.wake()

    def tell(self, signal: str, *arguments: Any) -> None:
        subscriber = self.subscriber
        if signal in ("on_error", "on_complete"):
            self.subscriber = None
        if subscriber is not None:
            try:
                getattr(subscriber, signal)(*arguments)
            except Exception:
                self.subscriber = None


class Hub(Loop):
    """For many subscribers, in step: an element is asked for when all of them want one."""

    def __init__(self) -> None:
        super().__init__()
        self.upstream: Any = None
        self.connected = self.over = False
        self.waiting = False
        self.branches: list[Branch] = []
        self.held: deque[Any] = deque()
        self.error: Exception | None = None

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        with self.lock:
            over = self.over and not self.held
            if not over:
                self.branches.append(Branch(self, subscriber))
        if over:
            turn_away(subscriber, self.error)
        self.wake()

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        with self.lock:
            surplus, self.connected = self.connected, True
            if not surplus:
                self.upstream = subscription
        if surplus:
            subscription.cancel()
        self.wake()

    def on_next(self, element: Any) -> None:
        require(element)
        self.held.append(element)
        self.waiting = False
        self.wake()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.finish(error)

    def on_complete(self) -> None:
        self.finish(None)

    def finish(self, error: Exception | None) -> None:
        with self.lock:
            self.upstream = None
            self.error, self.over = error, True
        self.wake()

    def work(self) -> None:
        while self.step():
            pass

    def step(self) -> bool:
        branches = self.greet()
        if self.over and (self.error is not None or not self.held):
            self.end(branches)
        elif branches and all(branch.demand for branch in branches):
            return self.send(branches) if self.held else self.ask()
        return False

    def greet(self) -> list[Branch]:
        """Tell newcomers, and drop those that left."""
        for branch in list(self.branches):
            if not branch.greeted:
                branch.greeted = True
                branch.tell("on_subscribe", branch)
            if branch.error is not None:
                branch.tell("on_error", branch.error)
            if branch.subscriber is None:
                self.leave(branch)
        return list(self.branches)

    def leave(self, branch: Branch) -> None:
        with self.lock:
            self.branches.remove(branch)
            upstream = None
            if not self.branches:
                upstream, self.upstream, self.over = self.upstream, None, True
                self.held.clear()
        if upstream is not None:
            upstream.cancel()

    def send(self, branches: list[Branch]) -> bool:
        element = self.held.popleft()
        for branch in branches:
            with self.lock:
                branch.demand -= 1
            branch.tell("on_next", element)
        return True

    def ask(self) -> bool:
        if self.waiting or self.upstream is None:
            return False
        self.waiting = True
        self.upstream.request(1)
        return True

    def end(self, branches: list[Branch]) -> None:
        for branch in branches:
            if self.error is None:
                branch.tell("on_complete")
            else:
                branch.tell("on_error", self.error)
        self.greet()
