"""The least that Python takes where a bar is missed: without what the rules ask for, or with it."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import repeat, starmap
from typing import Final

from benchmarks.chains import increment
from benchmarks.crossings import ELEMENTS, bare_sum
from benchmarks.measure import best_of

__all__ = ["report"]

CHUNK: Final = 4096

Line = deque[int]
Put = Callable[[int], None]


class Chunks:
    """Numbers of another thread, of which a chunk at a time is on its way."""

    def __init__(self, put: Callable[[Line], Put]) -> None:
        self._line: Line = deque()
        self._put = put(self._line)
        self._full = threading.Semaphore(0)
        self._free = threading.Semaphore(1)

    def __iter__(self) -> Iterator[Iterator[int]]:
        thread = threading.Thread(target=self._produce)
        thread.start()
        taken = 0
        while taken < ELEMENTS:
            self._full.acquire()
            ready = len(self._line)
            taken += ready
            yield starmap(self._line.popleft, repeat((), ready))
            self._free.release()
        thread.join()

    def _produce(self) -> None:
        put, left = self._put, CHUNK
        self._free.acquire()
        for x in range(ELEMENTS):
            put(x)
            left -= 1
            if not left:
                self._full.release()
                self._free.acquire()
                left = CHUNK
        self._full.release()


class Run:
    """What the two threads know of each other."""

    def __init__(self) -> None:
        self.delivered = 0
        self.requested = CHUNK
        self.waiting = False
        self.over = False


class CountedChunks(Chunks):
    """The same, counted for whoever asks, and no more than is wanted (1.1)."""

    def __init__(self) -> None:
        super().__init__(lambda line: line.append)
        self._run = Run()

    def _produce(self) -> None:
        put, run, delivered = self._put, self._run, 0
        self._free.acquire()
        for x in range(ELEMENTS):
            run.delivered = delivered = delivered + 1
            put(x)
            if delivered >= run.requested:
                self._full.release()
                self._free.acquire()
                run.requested += CHUNK
        self._full.release()


class ToldChunks(CountedChunks):
    """And each time a look whether the other side waits, or has cancelled (1.8)."""

    def _produce(self) -> None:
        put, run, delivered, starved = self._put, self._run, 0, False
        self._free.acquire()
        for x in range(ELEMENTS):
            while starved:
                starved = delivered >= run.requested
            run.delivered = delivered = delivered + 1
            put(x)
            if run.waiting:
                self._full.release()
            if run.over:
                return
            if delivered >= run.requested:
                self._full.release()
                self._free.acquire()
                run.requested += CHUNK
                starved = True
        self._full.release()


class Subscriber:
    """Keeps what it gets."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def on_next(self, element: int) -> None:
        self._line.append(element)


def summed(chunks: Chunks) -> int:
    """Add up what another thread makes."""
    total, add = 0, operator.add
    for chunk in chunks:
        for x in chunk:
            total = add(total, x)
    return ELEMENTS


def two_threads() -> int:
    return summed(Chunks(lambda line: line.append))


def counted() -> int:
    return summed(CountedChunks())


def told() -> int:
    return summed(ToldChunks())


def calls_of_on_next() -> int:
    return summed(Chunks(lambda line: Subscriber(line).on_next))


async def _sum_of(numbers: AsyncIterator[int]) -> None:
    total = 0
    async for x in numbers:
        total += x


def async_for() -> int:
    async def numbers() -> AsyncIterator[int]:
        for x in range(ELEMENTS):
            yield x

    asyncio.run(_sum_of(numbers()))
    return ELEMENTS


def async_for_over_a_thread() -> int:
    async def numbers() -> AsyncIterator[int]:
        for chunk in Chunks(lambda line: line.append):  # which blocks the loop
            for x in chunk:
                yield x

    asyncio.run(_sum_of(numbers()))
    return ELEMENTS


def ten_calls() -> int:
    total, add, f = 0, operator.add, increment
    for x in range(ELEMENTS):
        total = add(total, f(f(f(f(f(f(f(f(f(f(x)))))))))))
    return ELEMENTS


CASES: Final[dict[str, Callable[[], int]]] = {
    "bare loop": bare_sum,
    "two threads and a deque": two_threads,
    "the same, counted and within demand": counted,
    "and told of waiting and of cancels": told,
    "two threads, a deque, a call of on_next": calls_of_on_next,
    "async for over a generator, one thread": async_for,
    "async for over the deque of a thread": async_for_over_a_thread,
    "ten calls of a function, and a sum": ten_calls,
}


def report() -> None:
    """Print what each of them takes."""
    results = best_of(CASES)
    bare = results["bare loop"]
    print(f"{'':42} {'ns':>8} {'x bare':>7}")
    for name, spent in results.items():
        print(f"{name:42} {spent:8,.0f} {spent / bare:7.2f}")
    print()
