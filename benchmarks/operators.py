"""Single operators, each against a loop that does the same and hands the elements to a function."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic
from typing import Any

from benchmarks.bar import Bench, Work
from penstock import UNBOUNDED, Flow, Subscription, X

__all__ = ["BENCHES"]

ELEMENTS = 100_000
HELD = 1_000
LENGTH = 10
PERIOD = 0.05

NUMBERS = Flow.range(ELEMENTS)
OUTER = Flow.range(ELEMENTS // LENGTH)


class Taker:
    """Takes all elements, and does nothing with them."""

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, element: object) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        raise error

    def on_complete(self) -> None:
        pass


def deliver(flow: Flow[Any]) -> Work:
    """Run ``flow`` for a subscriber."""

    def run() -> int:
        flow.subscribe(Taker())
        return ELEMENTS

    return run


def loop(elements: Callable[[], Iterator[Any]]) -> Work:
    """Hand ``elements`` to a function."""

    def run() -> int:
        take = Taker().on_next
        for element in elements():
            take(element)
        return ELEMENTS

    return run


def add(total: int, x: int) -> int:
    return total + x


def running_sums() -> Iterator[int]:
    total = 0
    for x in range(ELEMENTS):
        total = add(total, x)
        yield total


def last_sum() -> Iterator[int]:
    total = 0
    for x in range(ELEMENTS):
        total = add(total, x)
    yield total


def last_ones() -> Iterator[int]:
    latest: deque[int] = deque(maxlen=HELD)
    for x in range(ELEMENTS):
        latest.append(x)
    yield from latest


def all_but_the_last() -> Iterator[int]:
    latest: deque[int] = deque()
    for x in range(ELEMENTS):
        latest.append(x)
        if len(latest) > HELD:
            yield latest.popleft()


def latest_of_periods() -> Iterator[int]:
    due, held = monotonic() + PERIOD, 0
    for x in range(ELEMENTS):
        if monotonic() >= due:
            yield held
            due += PERIOD
        held = x
    yield held


def sliding(step: int) -> Callable[[], Iterator[list[int]]]:
    def lists() -> Iterator[list[int]]:
        batch: list[int] = []
        for x in range(ELEMENTS):
            batch.append(x)
            if len(batch) == LENGTH:
                yield batch
                batch = batch[step:]

    return lists


def inner(x: int) -> Flow[int]:
    return Flow.range(x * LENGTH, (x + 1) * LENGTH)


def nested() -> Iterator[int]:
    for x in range(ELEMENTS // LENGTH):
        yield from range(x * LENGTH, (x + 1) * LENGTH)


def first() -> Iterator[int]:
    numbers = iter(range(ELEMENTS))
    yield next(numbers)
    for _ in numbers:
        pass


def following(x: int) -> Flow[int]:
    """All numbers after one that is below zero."""
    return NUMBERS if x < 0 else Flow.empty()


PLAIN = loop(lambda: iter(range(ELEMENTS)))
NUMBERED = loop(lambda: enumerate(range(ELEMENTS)))
PAIRS = loop(lambda: pairwise(range(ELEMENTS)))
SUMS, SUM, NESTED = loop(running_sums), loop(last_sum), loop(nested)

BENCHES = [
    Bench("i  scan", deliver(NUMBERS.scan(0, add)), SUMS, 1.5),
    Bench("i  scan without a seed", deliver(NUMBERS.scan(add)), SUMS, 1.5),
    Bench("i  reduce", deliver(NUMBERS.reduce(0, add)), SUM, 1.2),
    Bench("i  reduce without a seed", deliver(NUMBERS.reduce(add)), SUM, 1.3),
    Bench("i  enumerate", deliver(NUMBERS.enumerate()), NUMBERED, 2),
    Bench("i  pairwise", deliver(NUMBERS.pairwise()), PAIRS, 2),
    Bench("i  take_last(1000)", deliver(NUMBERS.take_last(HELD)), loop(last_ones), 1.5),
    Bench("i  skip_last(1000)", deliver(NUMBERS.skip_last(HELD)), loop(all_but_the_last), 1.5),
    Bench("i  sample", deliver(NUMBERS.sample(PERIOD)), loop(latest_of_periods), 8),
    Bench("i  buffer(10)", deliver(NUMBERS.buffer(LENGTH)), loop(sliding(LENGTH)), 1.2),
    Bench("i  buffer(10, step=5)", deliver(NUMBERS.buffer(LENGTH, step=5)), loop(sliding(5)), 1.2),
    Bench("i  concat_map to 10", deliver(OUTER.concat_map(inner)), NESTED, 25),
    Bench("i  flat_map_sequential to 10", deliver(OUTER.flat_map_sequential(inner)), NESTED, 25),
    Bench(
        "i  flat_map_sequential to one flow",
        deliver(Flow.of(0).flat_map_sequential(lambda _: NUMBERS)), PLAIN, 2.5,
    ),
    Bench(
        "i  exhaust_map to one flow", deliver(Flow.of(0).exhaust_map(lambda _: NUMBERS)), PLAIN, 4
    ),
    Bench("i  exhaust_map, discarding", deliver(NUMBERS.exhaust_map(Flow.of)), loop(first), 8),
    Bench("i  expand to one flow", deliver(Flow.of(-1).expand(following).take(ELEMENTS)), PLAIN, 6),
    Bench("i  take_until", deliver(NUMBERS.take_until(Flow.never())), PLAIN, 3.5),
    Bench("i  skip_until", deliver(NUMBERS.skip_until(Flow.of("go"))), PLAIN, 3),
    Bench("i  delay_subscription", deliver(NUMBERS.delay_subscription(Flow.of("go"))), PLAIN, 3),
    Bench("i  map, to compare", deliver(NUMBERS.map(X + 1)), PLAIN, 2),
]  # fmt: skip
