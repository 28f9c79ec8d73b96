"""The publishers that the rule tests judge: every class of ours that publishes, on every engine."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from penstock import Broadcast, ExecutorPublisher, IdentityProcessor, IterablePublisher
from penstock.api import Publisher
from penstock.runtime import AsyncioLoop, CallingThread, Executor, Task, ThreadPool, VirtualTime
from tests.rules.parties import PATIENCE, Recorder

CAPACITY = 4
"""Of the processors, and of a batch: small, so that a few elements go beyond it."""


class Engine(ABC):
    """An executor that knows when nothing is left to run."""

    executor: Executor | None = None

    @abstractmethod
    def settle(self) -> None:
        """Return once nothing is left to run."""


class OnCallingThread(Engine):
    """No executor: everything has run by the time a call returns."""

    def settle(self) -> None:
        pass


class OnTrampoline(Engine):
    """An executor on the calling thread."""

    def __init__(self) -> None:
        self.executor = CallingThread()

    def settle(self) -> None:
        pass


class OnVirtualTime(Engine):
    """Tasks that run when the test says so."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.executor = self.time

    def settle(self) -> None:
        self.time.settle()


class OnThreads(Engine):
    """A thread pool, whose tasks are counted."""

    def __init__(self, pool: ThreadPool) -> None:
        self.watched = WatchedExecutor(pool)
        self.executor = self.watched

    def settle(self) -> None:
        self.watched.wait_until_idle()


class OnAsyncioLoop(Engine):
    """An asyncio loop that runs on the test's thread while the test settles."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watched = WatchedExecutor(AsyncioLoop(loop))
        self.executor = self._watched

    def settle(self) -> None:
        while self._watched.unfinished:
            self._loop.run_until_complete(asyncio.sleep(0))


class WatchedExecutor:
    """Passes tasks on to another executor and counts those that have not returned yet."""

    def __init__(self, executor: Executor) -> None:
        self.unfinished = 0
        self._executor = executor
        self._changed = threading.Condition()

    def execute(self, task: Task) -> None:
        self._count(+1)
        try:
            self._executor.execute(partial(self._run, task))
        except Exception:
            self._count(-1)
            raise

    def wait_until_idle(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: not self.unfinished, PATIENCE)

    def _run(self, task: Task) -> None:
        try:
            task()
        finally:
            self._count(-1)

    def _count(self, difference: int) -> None:
        with self._changed:
            self.unfinished += difference
            self._changed.notify_all()


@contextmanager
def calling_thread() -> Iterator[Engine]:
    yield OnCallingThread()


@contextmanager
def trampoline() -> Iterator[Engine]:
    yield OnTrampoline()


@contextmanager
def virtual_time() -> Iterator[Engine]:
    yield OnVirtualTime()


@contextmanager
def pool_of(workers: int) -> Iterator[Engine]:
    with ThreadPool(workers) as pool:
        yield OnThreads(pool)


@contextmanager
def asyncio_loop() -> Iterator[Engine]:
    loop = asyncio.new_event_loop()
    try:
        yield OnAsyncioLoop(loop)
    finally:
        loop.close()


pool_of_1 = partial(pool_of, 1)
pool_of_2 = partial(pool_of, 2)

MakeEngine: TypeAlias = Callable[[], AbstractContextManager[Engine]]

EXECUTORS: dict[str, MakeEngine] = {
    "trampoline": trampoline,
    "pool of 1": pool_of_1,
    "pool of 2": pool_of_2,
    "asyncio loop": asyncio_loop,
    "virtual time": virtual_time,
}

Build: TypeAlias = Callable[[Iterable[Any], Any], Publisher[Any]]


def iterable_publisher(iterable: Iterable[Any], _: Executor | None) -> Publisher[Any]:
    return IterablePublisher(iterable)


def executor_publisher(iterable: Iterable[Any], executor: Executor) -> Publisher[Any]:
    return ExecutorPublisher(iterable, executor, batch=CAPACITY)


def identity(iterable: Iterable[Any], executor: Executor | None) -> Publisher[Any]:
    processor = IdentityProcessor[Any](CAPACITY, executor=executor)
    IterablePublisher(iterable).subscribe(processor)
    return processor


def identity_downstream(iterable: Iterable[Any], executor: Executor) -> Publisher[Any]:
    processor = IdentityProcessor[Any](CAPACITY)
    ExecutorPublisher(iterable, executor, batch=CAPACITY).subscribe(processor)
    return processor


def broadcast(iterable: Iterable[Any], executor: Executor | None) -> Publisher[Any]:
    source = IterablePublisher(iterable)
    return Broadcast(CAPACITY, source=source, executor=executor, shuts_down_when_idle=True)


def broadcast_downstream(iterable: Iterable[Any], executor: Executor) -> Publisher[Any]:
    source = ExecutorPublisher(iterable, executor, batch=CAPACITY)
    return Broadcast(CAPACITY, source=source, shuts_down_when_idle=True)


@dataclass
class Subject:
    """A way to publish an iterable, and the engine that it runs on."""

    build: Build
    engine: Engine
    faults: list[list[str]] = field(default_factory=list)

    def publisher(self, iterable: Iterable[Any]) -> Publisher[Any]:
        """A publisher of the elements of ``iterable``."""
        return self.build(iterable, self.engine.executor)

    def subscribe(self, iterable: Iterable[Any], recorder: Recorder) -> Recorder:
        """Subscribe ``recorder`` to ``iterable`` and wait until nothing more happens."""
        self.watch(recorder)
        self.publisher(iterable).subscribe(recorder)
        self.settle()
        return recorder

    def watch(self, recorder: Recorder) -> Recorder:
        """Check at the end of the test that no rule was broken towards ``recorder``."""
        self.faults.append(recorder.faults)  # not the recorder, which a test may want to see freed
        return recorder

    def settle(self) -> None:
        """Wait until nothing more happens."""
        self.engine.settle()


Choice: TypeAlias = tuple[Build, MakeEngine]

ITERATIONS: dict[str, Choice] = {
    "iterable publisher": (iterable_publisher, calling_thread),
    "executor publisher, trampoline": (executor_publisher, trampoline),
    "executor publisher, pool of 1": (executor_publisher, pool_of_1),
    "executor publisher, pool of 2": (executor_publisher, pool_of_2),
    "executor publisher, asyncio loop": (executor_publisher, asyncio_loop),
    "executor publisher, virtual time": (executor_publisher, virtual_time),
}

PROCESSORS: dict[str, Choice] = {
    "identity": (identity, calling_thread),
    "identity, trampoline": (identity, trampoline),
    "identity, pool of 2": (identity, pool_of_2),
    "identity, asyncio loop": (identity, asyncio_loop),
    "identity, virtual time": (identity, virtual_time),
    "identity downstream of a pool of 2": (identity_downstream, pool_of_2),
    "broadcast": (broadcast, calling_thread),
    "broadcast, trampoline": (broadcast, trampoline),
    "broadcast, pool of 2": (broadcast, pool_of_2),
    "broadcast, asyncio loop": (broadcast, asyncio_loop),
    "broadcast, virtual time": (broadcast, virtual_time),
    "broadcast downstream of a pool of 2": (broadcast_downstream, pool_of_2),
}

SUBJECTS = ITERATIONS | PROCESSORS

ON_THE_CALLING_THREAD = {
    name: choice for name, choice in SUBJECTS.items() if choice[1] in (calling_thread, trampoline)
}
