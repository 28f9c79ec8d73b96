"""Where a bar is missed: what the same work takes in loops written by hand, and where ours goes."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

from benchmarks import chains_by_hand, crossings_by_hand
from benchmarks.bar import Work
from benchmarks.chains import (
    CALLS,
    CALLS_SUMMED,
    EXPRESSIONS,
    GENERATORS,
    async_for,
    bare_loop,
    deep_reactivex,
    deep_run,
    deliver,
    result,
)
from benchmarks.crossings import (
    ELEMENTS,
    bare_nested,
    bare_sum,
    callbacks,
    flat_map,
    foreign_hop,
    multicast,
    thread_to_loop,
    two_threads,
    zip_by_reactivex,
    zipped,
)
from benchmarks.measure import best_of
from benchmarks.multicast_by_hand import joined_and_left, joined_at_any_time
from benchmarks.operators import LENGTH, NUMBERS, loop, sliding
from benchmarks.operators import deliver as take
from benchmarks.parties import Adder, OneByOneAdder
from penstock import ExecutorPublisher, Flow, ThreadPool

__all__ = ["report"]


@dataclass(frozen=True)
class Limit:
    """A bar, the bare loop that it is a multiple of, and what is to be compared with it."""

    name: str
    bar: float
    bare: Work
    rows: dict[str, Work]


def warm_two_threads() -> Work:
    """The same as in the bench, on threads that run already, and with the largest prefetch."""
    front, back = ThreadPool(), ThreadPool()
    made = Flow.range(ELEMENTS).subscribe_on(front)
    total = made.publish_on(back, prefetch=crossings_by_hand.CHUNK).reduce(0, operator.add)
    return result(total)


class Nothing(Adder):
    """Does nothing with what it gets."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()

    def on_next(self, element: int) -> None:
        pass

    def on_complete(self) -> None:
        self.over.set()


def publisher_alone() -> int:
    """The foreign publisher of the bench, with nothing behind it."""
    with ThreadPool() as front:
        nothing = Nothing()
        ExecutorPublisher(range(ELEMENTS), front).subscribe(nothing)
        nothing.over.wait()
    return ELEMENTS


async def _sum() -> int:
    total = 0
    async for x in Flow.range(ELEMENTS):
        total += x
    return ELEMENTS


def one_thread_async_for() -> int:
    return asyncio.run(_sum())


LONG: Final = 3_000


def long_flat_map() -> int:
    """Ten times the elements of each flow."""
    inner = Flow.range(LONG)
    Flow.range(30).flat_map(lambda _: inner).reduce(0, operator.add).run_sync()
    return 30 * LONG


def bare_long_nested() -> int:
    total = 0
    for _ in range(30):
        for x in range(LONG):
            total += x
    return 30 * LONG


LIMITS: Final = (
    Limit("functions, a subscriber, unbounded", 2.4, bare_loop, {
        "by hand": chains_by_hand.called,
        "by hand, by the rules": chains_by_hand.called_by_the_rules,
        "ours": deliver(CALLS, Adder),
    }),
    Limit("functions, request(1)", 3.4, bare_loop, {
        "by hand": chains_by_hand.requested,
        "by hand, by the rules": chains_by_hand.requested_by_the_rules,
        "ours": deliver(CALLS, lambda: OneByOneAdder(1)),
    }),
    Limit("functions, summed", 2.0, bare_loop, {
        "by hand": chains_by_hand.summed,
        "by hand, by the rules": chains_by_hand.summed_by_the_rules,
        "ours": result(CALLS_SUMMED),
    }),
    Limit("expressions, a subscriber", 1.4, bare_loop, {
        "by hand": chains_by_hand.called_inline,
        "by hand, by the rules": chains_by_hand.called_inline_by_the_rules,
        "ours": deliver(EXPRESSIONS, Adder),
    }),
    Limit("10 maps, against reactivex (3.8 times faster)", 1 / 3.8, deep_reactivex(10), {
        "ten calls by hand": chains_by_hand.ten_calls,
        "ours": deep_run(10),
    }),
    Limit("50 maps, against reactivex (3.8 times faster)", 1 / 3.8, deep_reactivex(50), {
        "fifty calls by hand": chains_by_hand.fifty_calls,
        "ours": deep_run(50),
    }),
    Limit("async for, against async generators (1.9 times)", 1 / 1.9, GENERATORS.work, {
        "by hand, all in one async generator": chains_by_hand.iterated_in_one,
        "by hand, stages in a generator, in turns": chains_by_hand.iterated,
        "by hand, and by the rules": chains_by_hand.iterated_by_the_rules,
        "ours": async_for,
    }),
    Limit("zip, against reactivex (35 times faster)", 1 / 35, zip_by_reactivex, {
        "the builtin zip, and the function": chains_by_hand.zipped,
        "ours": zipped,
    }),
    Limit("buffer(10, step=5)", 1.2, loop(sliding(chains_by_hand.STEP)), {
        "by hand": chains_by_hand.overlapping,
        "by hand, by the rules": chains_by_hand.overlapping_by_the_rules,
        "ours": take(NUMBERS.buffer(LENGTH, step=chains_by_hand.STEP)),
    }),
    Limit("two threads at work", 4.0, bare_sum, {
        "by hand": crossings_by_hand.two_threads,
        "by hand, counted and within demand": crossings_by_hand.counted,
        "by hand, and told of waiting and of cancels": crossings_by_hand.told,
        "by hand, and the other side looks for both": crossings_by_hand.told_and_looked_for,
        "ours, on threads that run, prefetch=4096": warm_two_threads(),
        "ours": two_threads,
    }),
    Limit("thread to thread, a foreign publisher", 5.0, bare_sum, {
        "the publisher alone, on_next does nothing": publisher_alone,
        "the other side alone, out of a deque": crossings_by_hand.taken_out(deque()),
        "both by hand": crossings_by_hand.calls_of_on_next,
        "both by hand, on_next by the rules": crossings_by_hand.calls_of_on_next_by_the_rules,
        "that publisher, the rest by hand and rules": crossings_by_hand.taken_from_a_publisher,
        "ours": foreign_hop,
    }),
    Limit("thread to asyncio, async for", 5.0, bare_sum, {
        "async for over a generator, one thread": crossings_by_hand.async_for,
        "ours, one thread": one_thread_async_for,
        "by hand, blocking the loop": crossings_by_hand.blocking,
        "by hand, by the rules, blocking the loop": crossings_by_hand.blocking_by_the_rules,
        "ours": thread_to_loop,
    }),
    Limit("multicast to 100", 1.15, callbacks(100), {
        "by hand, by the rules": joined_and_left(100),
        "by hand, who joins and leaves at any time": joined_at_any_time(100),
        "ours": multicast(100),
        "ours, ten times the elements": multicast(100, ELEMENTS // 10),
    }),
    Limit("flat_map", 2.5, bare_nested, {"ours": flat_map}),
    Limit("flat_map to flows of 3,000", 2.5, bare_long_nested, {"ours": long_flat_map}),
)  # fmt: skip


def report() -> None:
    """Print what each of them takes."""
    print(f"{'':50} {'ns':>8} {'x bare':>7} {'bar':>6}")
    for limit in LIMITS:
        spent = best_of({"bare": limit.bare, **limit.rows})
        places = 2 if limit.bar > 0.1 else 3
        print(f"{limit.name:50} {spent['bare']:8,.0f} {1:7.2f} {limit.bar:6.{places}f}")
        for name in limit.rows:
            print(f"   {name:47} {spent[name]:8,.0f} {spent[name] / spent['bare']:7.{places}f}")
    print()
