"""Operators that keep the rules, in several manners: the kit must pass them all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

from tests.tck.mutants.sound_processors import Eager, Mapping, OnAThread, Relay, require


class Through:
    """An operator that gives each subscriber a processor of its own."""

    def __init__(self, source: Any, make: Callable[[], Any]) -> None:
        self.source = source
        self.make = make

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        processor = self.make()
        processor.subscribe(subscriber)
        self.source.subscribe(processor)


class InOrder(Relay):
    """Errors wait for elements, except for those that answer an illegal request."""

    refuses = False

    def request(self, n: int) -> None:
        self.refuses = self.refuses or n < 1
        super().request(n)

    def step(self) -> bool:
        if self.error is None or self.refuses or not self.held or self.subscriber is None:
            return super().step()
        return self.requested > self.delivered and self.deliver()


class Buffered(InOrder, Eager):
    """Holds up to four elements, and keeps a list of those that nobody got."""

    def __init__(self) -> None:
        super().__init__()
        self.discarded: list[Any] = []

    def release(self) -> None:
        self.discarded += self.held
        super().release()


class Filter(InOrder):
    """Leaves elements out, and asks for others in their place."""

    def __init__(self, predicate: Callable[[Any], bool]) -> None:
        super().__init__()
        self.predicate = predicate

    def on_next(self, element: Any) -> None:
        require(element)
        if self.predicate(element):
            super().on_next(element)
        else:
            with self.lock:
                self.asked -= 1
            self.wake()


class MappingInOrder(InOrder, Mapping):
    """Applies a function."""


class Direct:
    """A map without a buffer: the subscription downstream passes its calls on as they come."""

    def __init__(self, source: Any, function: Callable[[Any], Any]) -> None:
        self.source = source
        self.function = function

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        self.source.subscribe(self.stage(subscriber))

    def stage(self, subscriber: Any) -> Any:
        return DirectStage(subscriber, self.function)


class DirectStage:
    def __init__(self, subscriber: Any, function: Callable[[Any], Any]) -> None:
        self.subscriber = subscriber
        self.function = function
        self.upstream: Any = None
        self.connected = False
        self.lock = threading.Lock()

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        with self.lock:
            surplus, self.connected = self.connected, True
        if surplus:
            subscription.cancel()
        else:
            self.upstream = subscription
            self.subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        upstream = self.upstream
        if upstream is not None:
            upstream.request(n)

    def leave(self) -> Any:
        with self.lock:
            upstream, self.upstream = self.upstream, None
        return upstream

    def cancel(self) -> None:
        upstream = self.leave()
        self.subscriber = None
        if upstream is not None:
            upstream.cancel()

    def on_next(self, element: Any) -> None:
        require(element)
        subscriber = self.subscriber
        if subscriber is None:
            return
        try:
            result = self.function(element)
        except Exception as error:
            self.cancel()
            subscriber.on_error(error.with_traceback(None))
        else:
            subscriber.on_next(result)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.end("on_error", error)

    def on_complete(self) -> None:
        self.end("on_complete")

    def end(self, signal: str, *arguments: Any) -> None:
        self.leave()
        subscriber, self.subscriber = self.subscriber, None
        if subscriber is not None:
            getattr(subscriber, signal)(*arguments)


class Take(InOrder):
    """Completes after some elements, and cancels upstream."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def on_next(self, element: Any) -> None:
        require(element)
        if self.count:
            self.count -= 1
            self.held.append(element)
            self.completed = self.count == 0
        self.wake()

    def step(self) -> bool:
        if self.completed and self.upstream is not None:
            self.leave()
        return super().step()

    def leave(self) -> None:
        with self.lock:
            upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.cancel()


class Chunks:
    """Lists of three, on the calling thread; what is left comes with completion."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        stage = ChunkStage()
        stage.subscribe(subscriber)
        self.source.subscribe(stage)


class ChunkStage(InOrder):
    SIZE = 3

    def __init__(self) -> None:
        super().__init__()
        self.chunk: list[Any] = []

    def wanted(self) -> int:
        return min(self.requested, self.delivered + self.ROOM) * self.SIZE - self.asked

    def on_next(self, element: Any) -> None:
        require(element)
        self.chunk.append(element)
        if len(self.chunk) == self.SIZE:
            self.flush()
        self.wake()

    def on_complete(self) -> None:
        if self.chunk:
            self.flush()
        super().on_complete()

    def flush(self) -> None:
        chunk, self.chunk = self.chunk, []
        self.held.append(chunk)


class Summary(InOrder):
    """Takes all elements, and sends one thing that a function makes of them."""

    def __init__(self, function: Callable[[list[Any]], Any]) -> None:
        super().__init__()
        self.function = function
        self.pile: list[Any] = []

    def wanted(self) -> int:
        return 2**63 - 1 - self.asked if self.requested else 0

    def on_next(self, element: Any) -> None:
        require(element)
        self.pile.append(element)

    def on_complete(self) -> None:
        pile, self.pile = self.pile, []
        try:
            self.held.append(self.function(pile))
        except Exception as error:
            self.on_error(error.with_traceback(None))
        else:
            super().on_complete()

    def end(self, signal: str, *arguments: Any) -> None:
        self.pile = []
        super().end(signal, *arguments)


class Doubling(InOrder):
    """Sends each element twice."""

    def wanted(self) -> int:
        return (min(self.requested, self.delivered + self.ROOM) + 1) // 2 - self.asked

    def on_next(self, element: Any) -> None:
        require(element)
        self.held.append(element)
        super().on_next(element)


class TakeWhile(Take):
    """Completes with the first element that a predicate does not like."""

    def __init__(self, predicate: Callable[[Any], bool]) -> None:
        super().__init__(1)
        self.predicate = predicate

    def on_next(self, element: Any) -> None:
        require(element)
        if not self.completed and self.predicate(element):
            self.held.append(element)
        else:
            self.completed = True
        self.wake()


class InContext(OnAThread, InOrder):
    """Works on threads, in the context in which it was made."""

    def __init__(self) -> None:
        super().__init__()
        self.context = copy_context()

    def wake(self) -> None:
        with self.lock:
            self.calls += 1
            first = self.calls == 1
        if first:
            work = partial(self.context.copy().run, self.live)
            threading.Thread(target=work, daemon=True).start()


class Again:
    """Subscribes to its source once more when a stream of that has ended by this signal."""

    def __init__(self, source: Any, signal: str) -> None:
        self.source = source
        self.signal = signal

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        stage = AgainStage(self.source, self.signal)
        stage.subscribe(subscriber)
        self.source.subscribe(Part(stage))


class AgainWhenWanted(Again):
    """The same, as soon as something is wanted of the second stream."""

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        stage = AgainWhenWantedStage(self.source, self.signal)
        stage.subscribe(subscriber)
        self.source.subscribe(Part(stage))


class AgainStage(InOrder):
    def __init__(self, source: Any, signal: str) -> None:
        super().__init__()
        self.source = source
        self.signal = signal
        self.left = 1

    def over(self, signal: str, *arguments: Any) -> None:
        if signal == self.signal and self.left and self.subscriber is not None:
            self.left -= 1
            with self.lock:
                self.upstream, self.connected = None, False
                self.asked = self.delivered + len(self.held)
            self.source.subscribe(Part(self))
        else:
            getattr(self, signal)(*arguments)


class AgainWhenWantedStage(AgainStage):
    def __init__(self, source: Any, signal: str) -> None:
        super().__init__(source, signal)
        self.ended = False

    def over(self, signal: str, *arguments: Any) -> None:
        if self.left and signal == self.signal:
            with self.lock:
                self.upstream, self.ended = None, True
            self.go_on()
        else:
            super().over(signal, *arguments)

    def request(self, n: int) -> None:
        super().request(n)
        self.go_on()

    def go_on(self) -> None:
        with self.lock:
            due = self.ended and self.requested > self.delivered + len(self.held)
            self.ended = self.ended and not due
        if due:
            super().over(self.signal)


class Part:
    """Subscribes an `AgainStage` to one stream of its source."""

    def __init__(self, stage: AgainStage) -> None:
        self.stage = stage
        self.subscribed = False

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        if self.subscribed:
            subscription.cancel()
        else:
            self.subscribed = True
            self.stage.on_subscribe(subscription)

    def on_next(self, element: Any) -> None:
        self.stage.on_next(element)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.stage.over("on_error", error)

    def on_complete(self) -> None:
        self.stage.over("on_complete")


class Recorder(Through):
    """Keeps all elements, of whichever stream, for its user."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, self.record)
        self.elements: list[Any] = []

    def record(self) -> Any:
        return MappingInOrder(self.keep)

    def keep(self, element: Any) -> Any:
        self.elements.append(element)
        return element


class Shared:
    """One processor for all: it subscribes upstream with its first subscriber."""

    def __init__(self, source: Any, make: Callable[[], Any]) -> None:
        self.source = source
        self.processor = make()
        self.is_joined = False

    def subscribe(self, subscriber: Any) -> None:
        self.join(subscriber)
        self.processor.subscribe(subscriber)

    def join(self, subscriber: Any) -> None:
        if not self.is_joined and subscriber is not None:
            self.is_joined = True
            self.source.subscribe(self.processor)


class SharedAfterwards(Shared):
    """The same, but a subscriber may have requested something before the stream begins."""

    def subscribe(self, subscriber: Any) -> None:
        self.processor.subscribe(subscriber)
        if self.processor.branches:  # it may have left already
            self.join(subscriber)
