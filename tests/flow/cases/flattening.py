"""Flows of flows."""

from __future__ import annotations

from itertools import chain

from penstock import IterablePublisher
from penstock.flow import Flow
from tests.flow.case import Case

LONG = 300
"""More elements than an input gives in one turn."""


def several(x: int) -> list[int]:
    """None, one or two elements, by the number."""
    return [x, -x][: x % 3]


def flattened(given: list[int]) -> list[int]:
    return list(chain.from_iterable(map(several, given)))


CASES = [
    Case(
        "flat_map to flows",
        lambda flow: flow.flat_map(lambda x: Flow.from_iterable(several(x))),
        flattened,
    ),
    Case(
        "flat_map to publishers",
        lambda flow: flow.flat_map(lambda x: IterablePublisher(several(x))),
        flattened,
        ordered=False,
    ),
    Case(
        "flat_map to publishers, two at a time",
        lambda flow: flow.flat_map(
            lambda x: IterablePublisher(several(x)), concurrency=2, prefetch=1
        ),
        flattened,
        ordered=False,
    ),
    Case(
        "flat_map to flows that take turns",
        lambda flow: flow.take(3).flat_map(lambda x: Flow.range(LONG * x, LONG * (x + 1))),
        lambda given: [y for x in given[:3] for y in range(LONG * x, LONG * (x + 1))],
        ordered=False,
    ),
    Case(
        "flat_map twice",
        lambda flow: flow.flat_map(lambda x: Flow.of(x, x)).flat_map(lambda x: Flow.of(x, -x)),
        lambda given: [y for x in given for y in (x, -x, x, -x)],
    ),
    Case(
        "concat_map to flows",
        lambda flow: flow.concat_map(lambda x: Flow.from_iterable(several(x))),
        flattened,
    ),
    Case(
        "concat_map to publishers",
        lambda flow: flow.concat_map(lambda x: IterablePublisher(several(x))),
        flattened,
    ),
    Case(
        "concat_map to nothing",
        lambda flow: flow.concat_map(lambda x: Flow.empty()),
        lambda given: [],
    ),
    Case(
        "switch_map of one element",
        lambda flow: flow.take(1).switch_map(lambda x: IterablePublisher([x, x + 1])),
        lambda given: [y for x in given[:1] for y in (x, x + 1)],
        claims={"unbounded": True, "cancels_early": True},
    ),
    Case(
        "switch_map to the flow",
        lambda flow: Flow.of("a").switch_map(lambda x: flow),
        lambda given: given,
    ),
    Case(
        "switch_map to the flow, twice",
        lambda flow: Flow.of("a", "b").switch_map(lambda x: flow),
        lambda given: given,
    ),
]
