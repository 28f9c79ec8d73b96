"""Sound parties that look like something else: tuples, arrays, lists, and one made of a queue.

They are falsy, cannot be hashed or take no attributes, are equal to others, and some of their
methods are written in C. None of that is anybody's concern.
"""

from __future__ import annotations

import queue
import threading
from array import array
from collections import deque
from typing import Any, Final

from tests.tck.mutants.sound_processors import require

ALL: Final = 2**63 - 1


class Row(tuple[int, ...]):
    """A publisher that is a tuple of its elements, and falsy."""

    __slots__ = ()

    def __new__(cls, n: int) -> Row:
        return super().__new__(cls, range(n))

    def __bool__(self) -> bool:
        return False

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Place(self, subscriber).start()


class Place:
    """The subscription to a `Row`: falsy, and with slots."""

    __slots__ = ("demand", "elements", "over", "sending", "subscriber")

    def __init__(self, row: Row, subscriber: Any) -> None:
        self.subscriber = subscriber
        self.elements = deque(row)
        self.demand: deque[int] = deque()
        self.over = False
        self.sending = threading.Lock()

    def __bool__(self) -> bool:
        return False

    def start(self) -> None:
        with self.sending:
            try:
                self.subscriber.on_subscribe(self)
            except Exception:
                self.over = True
        self.work()

    def request(self, n: int) -> None:
        self.demand.append(n)
        self.work()

    def cancel(self) -> None:
        self.over = True
        self.work()

    def work(self) -> None:
        while self.has_work() and self.sending.acquire(blocking=False):
            try:
                self.send()
            except Exception:
                self.over = True
            finally:
                if self.over:
                    self.subscriber = None
                self.sending.release()

    def has_work(self) -> bool:
        if self.over:
            return self.subscriber is not None
        return bool(self.demand) or not self.elements

    def send(self) -> None:
        if self.over:
            return
        if not self.elements:
            self.over = True
            self.subscriber.on_complete()
        elif self.demand:
            n = self.demand.popleft()
            if n > 1:
                self.demand.appendleft(n - 1)
            if n < 1:
                self.over = True
                self.subscriber.on_error(ValueError(n))
            else:
                self.subscriber.on_next(self.elements.popleft())


class Shelf(list[Any]):
    """A subscriber that is a list of its elements: falsy, without a hash, and equal to others."""

    subscription: Any = None

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        if self.subscription is not None:
            subscription.cancel()
            return
        self.subscription = subscription
        subscription.request(ALL)

    def on_next(self, element: Any) -> None:
        require(element)
        self.append(element)

    def on_error(self, error: Exception) -> None:
        require(error)

    def on_complete(self) -> None:
        pass


class Numbers(array):  # type: ignore[type-arg]  # it cannot be subscripted when it is executed
    """A subscriber that is an array, with a method in C that refuses None."""

    subscription: Any = None
    on_next = array.append
    on_subscribe = Shelf.on_subscribe
    on_error = Shelf.on_error
    on_complete = Shelf.on_complete


class ThroughAQueue:
    """An operator whose both sides leave messages for a thread, and which asks for two ahead."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        stage = QueueStage(subscriber)
        threading.Thread(target=stage.live, daemon=True).start()
        self.source.subscribe(stage)


class QueueStage:
    """Both the subscriber to the source and the subscription of the subscriber downstream."""

    size = 2

    def __init__(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        self.messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.connected = False
        self.left = False
        self.upstream: Any = None
        self.demand = 0
        self.held: deque[Any] = deque()
        self.ending: tuple[Any, ...] = ()

    # From upstream.

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        if self.connected:
            subscription.cancel()
        else:
            self.connected = True
            self.messages.put(("begin", subscription))

    def on_next(self, element: Any) -> None:
        require(element)
        self.messages.put(("hold", element))

    def on_error(self, error: Exception) -> None:
        require(error)
        self.messages.put(("close", ("on_error", error)))

    def on_complete(self) -> None:
        self.messages.put(("close", ("on_complete",)))

    # From downstream.

    def request(self, n: int) -> None:
        if not self.left:
            self.messages.put(("ask", n))

    def cancel(self) -> None:
        self.left = True
        self.messages.put(("ask", 0))

    # On the thread.

    def live(self) -> None:
        while not (self.left and (self.upstream or self.ending)):
            task, argument = self.messages.get()
            try:
                getattr(self, task)(argument)
                self.deliver()
            except Exception:
                self.left = True
        self.subscriber = None
        self.held.clear()
        if not self.ending:
            self.upstream.cancel()

    def begin(self, subscription: Any) -> None:
        self.upstream = subscription
        self.subscriber.on_subscribe(self)
        if not self.left:
            subscription.request(self.size)

    def hold(self, element: Any) -> None:
        self.held.append(element)

    def close(self, ending: tuple[Any, ...]) -> None:
        self.ending = ending

    def ask(self, n: int) -> None:
        if n < 1 and not self.left:
            self.left = True
            self.subscriber.on_error(ValueError(n))
        self.demand += n

    def deliver(self) -> None:
        while self.held and self.demand and not self.left:
            self.demand -= 1
            self.subscriber.on_next(self.held.popleft())
            if not self.ending and not self.left:
                self.upstream.request(1)
        if self.ending and not self.held and not self.left:
            self.left = True
            signal, *arguments = self.ending
            getattr(self.subscriber, signal)(*arguments)
