"""From thread to thread and into a task, in loops by hand: without the rules, or by them."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import chain, repeat, starmap
from typing import Final

from benchmarks.bar import Work
from benchmarks.chains_by_hand import PENDING, Run, sum_of
from benchmarks.crossings import ELEMENTS
from penstock import ExecutorPublisher, Subscription, ThreadPool

__all__ = [
    "CHUNK",
    "async_for",
    "blocking",
    "blocking_by_the_rules",
    "calls_of_on_next",
    "calls_of_on_next_by_the_rules",
    "counted",
    "taken_from_a_publisher",
    "taken_out",
    "told",
    "told_and_looked_for",
    "two_threads",
]

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


class CountedChunks(Chunks):
    """The same, counted for whoever asks, and no more than is wanted (1.1)."""

    def __init__(self) -> None:
        super().__init__(lambda line: line.append)
        self._run = Run(CHUNK)

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


class LawfulSubscriber(Subscriber):
    """No ``None`` (2.13), nothing without demand (1.1), nothing after a cancel (2.8); counts."""

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._admitted, self._asked = 0, ELEMENTS
        self._closed = self._waiting = False

    def on_next(self, element: int | None) -> None:
        if element is not None and self._admitted < self._asked and not self._closed:
            self._admitted += 1
            self._line.append(element)
        if self._waiting:
            self._waiting = False
        if self._closed:
            self._line.clear()


def added(chunks: Iterable[Iterator[int]]) -> int:
    """Add up what another thread makes."""
    total, add = 0, operator.add
    for chunk in chunks:
        for x in chunk:
            total = add(total, x)
    return ELEMENTS


def added_by_the_rules(chunks: Chunks) -> int:
    """The other side looks for elements that are not there yet, and whether it was cancelled."""
    total, add, run = 0, operator.add, Run(ELEMENTS)
    for x in chain.from_iterable(chunks):
        if x is PENDING:
            continue
        total = add(total, x)
        if run.over:
            break
    return ELEMENTS


def two_threads() -> int:
    return added(plain_chunks())


def counted() -> int:
    return added(CountedChunks())


def told() -> int:
    return added(ToldChunks())


def told_and_looked_for() -> int:
    return added_by_the_rules(ToldChunks())


def calls_of_on_next() -> int:
    return added(Chunks(lambda line: Subscriber(line).on_next))


def calls_of_on_next_by_the_rules() -> int:
    return added(Chunks(lambda line: LawfulSubscriber(line).on_next))


class Receiver(LawfulSubscriber):
    """Asks for a chunk, and for the next one when the other side has taken it (2.1)."""

    def __init__(self) -> None:
        super().__init__(deque())
        self._asked = 0
        self._full = threading.Semaphore(0)

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._ask()

    def on_next(self, element: int | None) -> None:
        if element is not None and self._admitted < self._asked and not self._closed:
            self._admitted += 1
            self._line.append(element)
        if self._admitted == self._asked:
            self._full.release()
        if self._closed:
            self._line.clear()

    def on_error(self, error: Exception) -> None:
        raise error

    def on_complete(self) -> None:
        self._closed = True
        self._full.release()

    def _ask(self) -> None:
        self._asked += CHUNK
        self._subscription.request(CHUNK)

    def __iter__(self) -> Iterator[Iterator[int]]:
        while not self._closed:
            self._full.acquire()
            yield starmap(self._line.popleft, repeat((), len(self._line)))
            self._ask()


def taken_from_a_publisher() -> int:
    with ThreadPool() as front:
        receiver = Receiver()
        ExecutorPublisher(range(ELEMENTS), front).subscribe(receiver)
        return added(receiver)


def taken_out(line: Line) -> Work:
    """What it takes to get elements out of a deque, and to add them up."""

    def run() -> int:
        line.extend(range(CHUNK))
        total, add = 0, operator.add
        for x in starmap(line.popleft, repeat((), CHUNK)):
            total = add(total, x)
        return CHUNK

    return run


def async_for() -> int:
    async def numbers() -> AsyncIterator[int]:
        for x in range(ELEMENTS):
            yield x

    asyncio.run(sum_of(numbers()))
    return ELEMENTS


def async_for_over(chunks: Callable[[], Chunks]) -> Work:
    """The same over the chunks of another thread, for which it blocks the loop."""

    async def numbers() -> AsyncIterator[int]:
        for chunk in chunks():
            for x in chunk:
                yield x

    def run() -> int:
        asyncio.run(sum_of(numbers()))
        return ELEMENTS

    return run


def plain_chunks() -> Chunks:
    return Chunks(lambda line: line.append)


blocking: Final = async_for_over(plain_chunks)
blocking_by_the_rules: Final = async_for_over(ToldChunks)
