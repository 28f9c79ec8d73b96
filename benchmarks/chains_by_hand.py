"""One chain of stages in loops written by hand: without what the rules ask for, or with it."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from threading import get_ident
from typing import Final

from benchmarks.chains import double, increment, is_even
from benchmarks.crossings import ELEMENTS
from benchmarks.operators import LENGTH, Taker
from benchmarks.parties import Adder

__all__ = [
    "PENDING",
    "Run",
    "called",
    "called_by_the_rules",
    "called_inline",
    "called_inline_by_the_rules",
    "fifty_calls",
    "iterated",
    "iterated_by_the_rules",
    "iterated_in_one",
    "overlapping",
    "overlapping_by_the_rules",
    "requested",
    "requested_by_the_rules",
    "sum_of",
    "summed",
    "summed_by_the_rules",
    "ten_calls",
    "zipped",
]


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


STEP: Final = 5

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


# The same three functions, for ``async for``.

TURN: Final = 256
PENDING: Final = object()


async def sum_of(numbers: AsyncIterator[int]) -> None:
    total = 0
    async for x in numbers:
        total += x


def iterated_in_one() -> int:
    """All in one generator, which no other part can use, and which never lets others run."""

    async def numbers() -> AsyncIterator[int]:
        for x in range(ELEMENTS):
            y = increment(x)
            if is_even(y):
                yield double(y)

    asyncio.run(sum_of(numbers()))
    return ELEMENTS


def _stages() -> Iterator[int]:
    for x in range(ELEMENTS):
        y = increment(x)
        if is_even(y):
            yield double(y)


def _stages_by_the_rules() -> Iterator[int]:
    """No ``None`` (2.13), a run that may be cancelled while nothing passes (1.8)."""
    run = Run(ELEMENTS)
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
        yield y


async def _in_turns(stages: Iterator[int]) -> AsyncIterator[int]:
    """What a task awaits: others have a turn, and an element may not be there yet."""
    goes_on = True
    while goes_on:
        goes_on = False
        for x in islice(stages, TURN):
            goes_on = True
            if x is PENDING:
                continue
            yield x
        await asyncio.sleep(0)


def iterated() -> int:
    """Stages that also serve a subscriber or a thread, so that the task has a generator of them."""
    asyncio.run(sum_of(_in_turns(_stages())))
    return ELEMENTS


def iterated_by_the_rules() -> int:
    asyncio.run(sum_of(_in_turns(_stages_by_the_rules())))
    return ELEMENTS


# Two sources, and a function for each pair.


def _add_pair(total: int, pair: tuple[int, int]) -> int:
    return total + pair[0] + pair[1]


def zipped() -> int:
    total, add = 0, _add_pair
    for pair in zip(range(ELEMENTS), range(ELEMENTS), strict=True):
        total = add(total, pair)
    return ELEMENTS


# Lists that overlap.


def overlapping() -> int:
    on_next, batch = Taker().on_next, list[int]()
    for x in range(ELEMENTS):
        batch.append(x)
        if len(batch) == LENGTH:
            on_next(batch)
            batch = batch[STEP:]
    return ELEMENTS


def overlapping_by_the_rules() -> int:
    """May be cancelled at any element (1.8); what no list has had is known, to be discarded."""
    on_next, run, batch = Taker().on_next, Run(ELEMENTS), list[int]()
    repeated = 0
    for x in range(ELEMENTS):
        batch.append(x)
        if len(batch) < LENGTH:
            if run.over:
                break
            continue
        full, batch = batch, batch[STEP:]
        repeated = len(batch)
        try:
            on_next(full)
        except Exception:
            break
        if run.over:
            break
    del batch[:repeated]
    return ELEMENTS
