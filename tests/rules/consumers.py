"""The subscribers that the rule tests judge: every class of ours that subscribes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock import UNBOUNDED, AsyncSubscriber, Broadcast, IdentityProcessor, SyncSubscriber
from penstock.api import Processor, Subscriber
from penstock.runtime import Executor
from tests.rules.parties import Recorder
from tests.rules.subjects import (
    Engine,
    MakeEngine,
    asyncio_loop,
    calling_thread,
    pool_of_1,
    pool_of_2,
    trampoline,
    virtual_time,
)

Keep: TypeAlias = Callable[[object], bool]


def everything(_: object) -> bool:
    """Go on after any element."""
    return True


class Sync(SyncSubscriber[object]):
    """The synchronous base class, filled in."""

    def __init__(self, keep: Keep = everything) -> None:
        super().__init__()
        self.elements: list[object] = []
        self.error: Exception | None = None
        self.completed_times = 0
        self._keep = keep

    def receive(self, element: object) -> bool:
        self.elements.append(element)
        return self._keep(element)

    def failed(self, error: Exception) -> None:
        assert self.error is None
        self.error = error

    def completed(self) -> None:
        self.completed_times += 1


class Async(AsyncSubscriber[object]):
    """The asynchronous base class, filled in."""

    def __init__(self, executor: Executor, keep: Keep = everything, prefetch: int = 4) -> None:
        super().__init__(executor, prefetch=prefetch)
        self.elements: list[object] = []
        self.error: Exception | None = None
        self.completed_times = 0
        self._keep = keep

    def receive(self, element: object) -> bool:
        self.elements.append(element)
        return self._keep(element)

    def failed(self, error: Exception) -> None:
        assert self.error is None
        self.error = error

    def completed(self) -> None:
        self.completed_times += 1


@dataclass
class Consumer:
    """A subscriber of ours, and what comes out of it."""

    subscriber: Subscriber[Any]
    outcome: Sync | Async | Recorder
    engine: Engine

    def settle(self) -> None:
        self.engine.settle()

    @property
    def elements(self) -> list[object]:
        return self.outcome.elements

    @property
    def error(self) -> Exception | None:
        return self.outcome.error

    @property
    def completed(self) -> bool:
        if isinstance(self.outcome, Recorder):
            return self.outcome.completed
        assert self.outcome.completed_times < 2
        return self.outcome.completed_times == 1


def sync(engine: Engine, keep: Keep) -> Consumer:
    subscriber = Sync(keep)
    return Consumer(subscriber, subscriber, engine)


def asynchronous(engine: Engine, keep: Keep) -> Consumer:
    assert engine.executor is not None
    subscriber = Async(engine.executor, keep)
    return Consumer(subscriber, subscriber, engine)


def identity(engine: Engine, keep: Keep) -> Consumer:
    return upstream_of_a_recorder(IdentityProcessor(4, executor=engine.executor), engine, keep)


def broadcast(engine: Engine, keep: Keep) -> Consumer:
    hub = Broadcast[Any](4, executor=engine.executor, shuts_down_when_idle=True)
    return upstream_of_a_recorder(hub, engine, keep)


def upstream_of_a_recorder(processor: Processor[Any, Any], engine: Engine, keep: Keep) -> Consumer:
    recorder = Recorder(
        UNBOUNDED, on_next=lambda me: None if keep(me.elements[-1]) else me.cancel()
    )
    processor.subscribe(recorder)
    engine.settle()
    return Consumer(processor, recorder, engine)


Choice: TypeAlias = tuple[Callable[[Engine, Keep], Consumer], MakeEngine]

BASE_CLASSES: dict[str, Choice] = {
    "sync subscriber": (sync, calling_thread),
    "async subscriber, trampoline": (asynchronous, trampoline),
    "async subscriber, pool of 1": (asynchronous, pool_of_1),
    "async subscriber, pool of 2": (asynchronous, pool_of_2),
    "async subscriber, asyncio loop": (asynchronous, asyncio_loop),
    "async subscriber, virtual time": (asynchronous, virtual_time),
}

CONSUMERS: dict[str, Choice] = {
    **BASE_CLASSES,
    "identity": (identity, calling_thread),
    "identity, pool of 2": (identity, pool_of_2),
    "identity, virtual time": (identity, virtual_time),
    "broadcast": (broadcast, calling_thread),
    "broadcast, pool of 2": (broadcast, pool_of_2),
    "broadcast, virtual time": (broadcast, virtual_time),
}

Make: TypeAlias = Callable[..., Consumer]


@contextmanager
def making(choice: Choice) -> Iterator[Make]:
    """A function that makes consumers of one kind: ``make()`` or ``make(keep)``."""
    build, make_engine = choice
    made: list[Consumer] = []
    with make_engine() as engine:

        def make(keep: Keep = everything) -> Consumer:
            consumer = build(engine, keep)
            made.append(consumer)
            return consumer

        yield make
    for consumer in made:
        if isinstance(consumer.outcome, Recorder):
            assert consumer.outcome.faults == []
