"""One chain of synchronous stages: ``range``, ``x + 1``, the even ones, ``x * 2``, the sum."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Callable

import aiostream
import reactivex
import reactivex.operators as rx
import streamz

from benchmarks.bar import Bench, Peer
from benchmarks.parties import Adder, BatchAdder, OneByOneAdder
from penstock import Flow, X

__all__ = ["BENCHES"]

ELEMENTS = 100_000
FEW = 5_000


def increment(x: int) -> int:
    return x + 1


def is_even(x: int) -> bool:
    return x % 2 == 0


def double(x: int) -> int:
    return x * 2


CALLS = Flow.range(ELEMENTS).map(increment).filter(is_even).map(double)
EXPRESSIONS = Flow.range(ELEMENTS).map(X + 1).filter(X % 2 == 0).map(X * 2)
CALLS_SUMMED = CALLS.reduce(0, operator.add)
EXPRESSIONS_SUMMED = EXPRESSIONS.reduce(0, operator.add)


def bare_loop() -> int:
    total = 0
    for element in range(ELEMENTS):
        x = element + 1
        if x % 2 == 0:
            total += x * 2
    return ELEMENTS


def builtins() -> int:
    sum(map(double, filter(is_even, map(increment, range(ELEMENTS)))))
    return ELEMENTS


def by_reactivex() -> int:
    total = 0

    def add(x: int) -> None:
        nonlocal total
        total += x

    source = reactivex.from_iterable(range(ELEMENTS))
    source.pipe(rx.map(increment), rx.filter(is_even), rx.map(double)).subscribe(add)
    return ELEMENTS


async def _sum_by_aiostream() -> None:
    xs = aiostream.stream.range(FEW)
    chain = aiostream.stream.map(
        aiostream.stream.filter(aiostream.stream.map(xs, increment), is_even), double
    )
    await aiostream.stream.reduce(chain, operator.add)


def by_aiostream() -> int:
    asyncio.run(_sum_by_aiostream())
    return FEW


def by_streamz() -> int:
    source = streamz.Stream()
    source.map(increment).filter(is_even).map(double).accumulate(operator.add).sink(len_of)
    for x in range(FEW):
        source.emit(x)
    return FEW


def len_of(x: int) -> int:
    return x


def deliver(flow: Flow[int], subscriber: Callable[[], Adder]) -> Callable[[], int]:
    """Run ``flow`` for a new subscriber."""

    def run() -> int:
        flow.subscribe(subscriber())
        return ELEMENTS

    return run


def result(flow: Flow[int]) -> Callable[[], int]:
    """Run ``flow`` for its result."""

    def run() -> int:
        flow.run_sync()
        return ELEMENTS

    return run


async def _async_generators() -> int:
    async def numbers() -> AsyncIterator[int]:
        for x in range(ELEMENTS):
            yield x

    async def mapped(
        source: AsyncIterator[int], function: Callable[[int], int]
    ) -> AsyncIterator[int]:
        async for x in source:
            yield function(x)

    async def filtered(source: AsyncIterator[int]) -> AsyncIterator[int]:
        async for x in source:
            if is_even(x):
                yield x

    total = 0
    async for x in mapped(filtered(mapped(numbers(), increment)), double):
        total += x
    return ELEMENTS


async def _async_for() -> int:
    total = 0
    async for x in CALLS:
        total += x
    return ELEMENTS


def async_for() -> int:
    return asyncio.run(_async_for())


DEPTHS = (10, 50, 1_000)


def deep(depth: int) -> Flow[int]:
    """So many maps, summed."""
    flow = Flow.range(FEW)
    for _ in range(depth):
        flow = flow.map(increment)
    return flow.reduce(0, operator.add)


def deep_loop(depth: int) -> Callable[[], int]:
    """A loop that calls as many functions."""
    functions = [increment] * depth

    def run() -> int:
        total = 0
        for element in range(FEW):
            x = element
            for function in functions:
                x = function(x)
            total += x
        return FEW

    return run


def deep_run(depth: int) -> Callable[[], int]:
    flow = deep(depth)

    def run() -> int:
        flow.run_sync()
        return FEW

    return run


def deep_reactivex(depth: int) -> Callable[[], int]:
    stages = [rx.map(increment)] * depth

    def run() -> int:
        reactivex.from_iterable(range(FEW)).pipe(*stages).subscribe(len_of)
        return FEW

    return run


REACTIVEX = Peer("reactivex", by_reactivex)
AIOSTREAM = Peer("aiostream", by_aiostream)
STREAMZ = Peer("streamz", by_streamz)
BUILTINS = Peer("builtins", builtins)
GENERATORS = Peer("async generators", lambda: asyncio.run(_async_generators()))

BENCHES = [
    Bench(
        "a  functions, a subscriber, unbounded", deliver(CALLS, Adder), bare_loop, 2.4,
        {REACTIVEX: 2.5, AIOSTREAM: 40, STREAMZ: 60},
    ),
    Bench("a  functions, request(128)", deliver(CALLS, lambda: BatchAdder(128)), bare_loop, 3.2),
    Bench("a  functions, request(1)", deliver(CALLS, lambda: OneByOneAdder(1)), bare_loop, 3.4),
    Bench(
        "a  expressions, a subscriber", deliver(EXPRESSIONS, Adder), bare_loop, 1.4,
        {REACTIVEX: 4.5},
    ),
    Bench("a  functions, summed", result(CALLS_SUMMED), bare_loop, 2.0, {BUILTINS: 1.2}),
    Bench("a  expressions, summed", result(EXPRESSIONS_SUMMED), bare_loop, 1.1, {BUILTINS: 2}),
    *(
        Bench(f"b  {depth} maps", deep_run(depth), deep_loop(depth), 1.2,
              {Peer(f"reactivex, {depth}", deep_reactivex(depth)): 3.8} if depth < 1_000 else {})
        for depth in DEPTHS
    ),
    Bench(
        "d  async for over functions", async_for, bare_loop, 4.0,
        {GENERATORS: 1.9, AIOSTREAM: 28},
    ),
]  # fmt: skip
