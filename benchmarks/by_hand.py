"""The work of some benches in loops written by hand: without what the rules ask for, or with it."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import chain, repeat, starmap
from threading import get_ident
from typing import Final

from benchmarks.bar import Work
from benchmarks.chains import double, increment, is_even
from benchmarks.crossings import ELEMENTS
from benchmarks.parties import Adder

__all__ = [
    "ToldChunks",
    "added",
    "added_by_the_rules",
    "async_for",
    "async_for_over",
    "called",
    "called_by_the_rules",
    "called_inline",
    "called_inline_by_the_rules",
    "calls_of_on_next",
    "calls_of_on_next_by_the_rules",
    "counted",
    "fifty_calls",
    "plain_chunks",
    "requested",
    "requested_by_the_rules",
    "summed",
    "summed_by_the_rules",
    "taken_out",
    "ten_calls",
    "told",
    "told_and_looked_for",
    "two_threads",
]

CHUNK: Final = 4096

Line = deque[int]
Put = Callable[[int], None]


class Run:
    """What a publisher has to look at."""

    __slots__ = ("delivered", "over", "requested", "thread", "waiting")

    def __init__(self, requested: int) -> None:
        self.delivered = 0
        self.requested = requested
        self.waiting = False
        self.over = False
        self.thread = get_ident()

    def request(self, n: int) -> None:
        """Count, no more."""
        self.requested += n

    def request_by_the_rules(self, n: int) -> None:
        """Count here, or somewhere else: demand may come from any thread (3.9, 2.7)."""
        if self.thread == get_ident() and type(n) is int and n > 0:
            self.requested += n


# Three functions, or the same work inline, and a subscriber.


def called() -> int:
    on_next = Adder().on_next
    for x in range(ELEMENTS):
        y = increment(x)
        if is_even(y):
            on_next(double(y))
    return ELEMENTS


def called_by_the_rules() -> int:
    """No ``None`` (2.13), a subscriber that may raise (2.13), or cancel (1.8)."""
    on_next, run = Adder().on_next, Run(ELEMENTS)
    for x in range(ELEMENTS):
        y = increment(x)
        if y is None:
            raise TypeError
        if not is_even(y):
            if run.over:
                break
            continue
        y = double(y)
        if y is None:
            raise TypeError
        try:
            on_next(y)
        except Exception:
            break
        if run.over:
            break
    return ELEMENTS


def called_inline() -> int:
    on_next = Adder().on_next
    for element in range(ELEMENTS):
        x = element + 1
        if x % 2 == 0:
            on_next(x * 2)
    return ELEMENTS


def called_inline_by_the_rules() -> int:
    on_next, run = Adder().on_next, Run(ELEMENTS)
    for element in range(ELEMENTS):
        x = element + 1
        if x % 2 != 0:
            if run.over:
                break
            continue
        x = x * 2
        try:
            on_next(x)
        except Exception:
            break
        if run.over:
            break
    return ELEMENTS


class OneByOne:
    """Asks for one more with each element."""

    __slots__ = ("_request", "total")

    def __init__(self, request: Callable[[int], None]) -> None:
        self._request = request
        self.total = 0

    def on_next(self, element: int) -> None:
        self.total += element
        self._request(1)


def requested() -> int:
    run = Run(1)
    on_next = OneByOne(run.request).on_next
    delivered = 0
    for x in range(ELEMENTS):
        y = increment(x)
        if is_even(y):
            delivered += 1
            on_next(double(y))
            if delivered >= run.requested:
                break
    return ELEMENTS


def requested_by_the_rules() -> int:
    run = Run(1)
    on_next = OneByOne(run.request_by_the_rules).on_next
    delivered = 0
    for x in range(ELEMENTS):
        y = increment(x)
        if y is None:
            raise TypeError
        if not is_even(y):
            if run.over:
                break
            continue
        y = double(y)
        if y is None:
            raise TypeError
        run.delivered = delivered = delivered + 1
        try:
            on_next(y)
        except Exception:
            break
        if run.over:
            break
        if delivered >= run.requested:
            break
    return ELEMENTS


def summed() -> int:
    total, add = 0, operator.add
    for x in range(ELEMENTS):
        y = increment(x)
        if is_even(y):
            total = add(total, double(y))
    return ELEMENTS


def summed_by_the_rules() -> int:
    total, add = 0, operator.add
    for x in range(ELEMENTS):
        y = increment(x)
        if y is None:
            raise TypeError
        if not is_even(y):
            continue
        y = double(y)
        if y is None:
            raise TypeError
        total = add(total, y)
    return ELEMENTS


def ten_calls() -> int:
    total, add, f = 0, operator.add, increment
    for x in range(ELEMENTS):
        total = add(total, f(f(f(f(f(f(f(f(f(f(x)))))))))))
    return ELEMENTS


def fifty_calls() -> int:
    total, add, f = 0, operator.add, increment
    for x in range(ELEMENTS):
        x1 = f(f(f(f(f(f(f(f(f(f(x))))))))))
        x2 = f(f(f(f(f(f(f(f(f(f(x1))))))))))
        x3 = f(f(f(f(f(f(f(f(f(f(x2))))))))))
        x4 = f(f(f(f(f(f(f(f(f(f(x3))))))))))
        total = add(total, f(f(f(f(f(f(f(f(f(f(x4)))))))))))
    return ELEMENTS


# Another thread.


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


def added(chunks: Chunks) -> int:
    """Add up what another thread makes."""
    total, add = 0, operator.add
    for chunk in chunks:
        for x in chunk:
            total = add(total, x)
    return ELEMENTS


PENDING: Final = object()


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


def taken_out(line: Line) -> Work:
    """What it takes to get elements out of a deque, and to add them up."""

    def run() -> int:
        line.extend(range(CHUNK))
        total, add = 0, operator.add
        for x in starmap(line.popleft, repeat((), CHUNK)):
            total = add(total, x)
        return CHUNK

    return run


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


def async_for_over(chunks: Callable[[], Chunks]) -> Work:
    """The same over the chunks of another thread, for which it blocks the loop."""

    async def numbers() -> AsyncIterator[int]:
        for chunk in chunks():
            for x in chunk:
                yield x

    def run() -> int:
        asyncio.run(_sum_of(numbers()))
        return ELEMENTS

    return run


def plain_chunks() -> Chunks:
    return Chunks(lambda line: line.append)
