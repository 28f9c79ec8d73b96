"""Operators that keep the rules, in several manners: the kit must pass them all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.mutants.sound_processors import Eager, Mapping, Relay, require


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
    """Errors wait behind elements."""

    def step(self) -> bool:
        if self.error is None or not self.held or self.subscriber is None:
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
        if self.predicate(element):
            super().on_next(element)
        else:
            with self.lock:
                self.asked -= 1
            self.wake()


class MappingInOrder(InOrder, Mapping):
    """Applies a function."""


class Direct:
    """A map without a buffer: the subscription below passes its calls on as they come."""

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
        self.lock = threading.Lock()

    def on_subscribe(self, subscription: Any) -> None:
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
        self.end("on_error", error)

    def on_complete(self) -> None:
        self.end("on_complete")

    def end(self, signal: str, *arguments: Any) -> None:
        self.leave()
        subscriber, self.subscriber = self.subscriber, None
        if subscriber is not None:
            getattr(subscriber, signal)(*arguments)


class Take(InOrder):
    """Completes behind some elements, and cancels above."""

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
