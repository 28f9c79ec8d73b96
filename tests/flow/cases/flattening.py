"""Flows of flows."""

from __future__ import annotations

from itertools import chain

from penstock import IterablePublisher
from penstock.flow import Flow
from tests.flow.case import Case

LONG = 300
"""More elements than an input gives in one turn."""
LEVEL = 1_000_000
"""What is added to a number on each level of its expansion."""


def several(x: int) -> list[int]:
    """None, one or two elements, by the number."""
    return [x, -x][: x % 3]


def flattened(given: list[int]) -> list[int]:
    return list(chain.from_iterable(map(several, given)))


def offspring(x: int) -> list[int]:
    """None, one or two elements of the next level, of which there are two at most."""
    level, number = divmod(x, LEVEL)
    return [x + LEVEL] * (1 + number // 4 % 2) if level < number % 3 else []


def expanded(given: list[int]) -> list[int]:
    """Level by level."""
    level, levels = given, list[int]()
    while level:
        levels += level
        level = list(chain.from_iterable(map(offspring, level)))
    return levels


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
        "flat_map_sequential to flows",
        lambda flow: flow.flat_map_sequential(lambda x: Flow.from_iterable(several(x))),
        flattened,
    ),
    Case(
        "flat_map_sequential to publishers",
        lambda flow: flow.flat_map_sequential(lambda x: IterablePublisher(several(x))),
        flattened,
        # So many publishers run ahead of their turn, and what they give waits for that.
        claims={"prefetch": 256, "errors_overtake": True},
    ),
    Case(
        "flat_map_sequential to publishers, two at a time",
        lambda flow: flow.flat_map_sequential(
            lambda x: IterablePublisher(several(x)), concurrency=2, prefetch=1
        ),
        flattened,
    ),
    Case(
        "flat_map_sequential to some of each kind",
        lambda flow: flow.flat_map_sequential(
            lambda x: (Flow.from_iterable if x % 2 else IterablePublisher)(several(x))
        ),
        flattened,
    ),
    Case(
        "flat_map_sequential to long flows",
        lambda flow: flow.take(3).flat_map_sequential(
            lambda x: Flow.range(LONG * x, LONG * (x + 1))
        ),
        lambda given: [y for x in given[:3] for y in range(LONG * x, LONG * (x + 1))],
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
    Case(
        "exhaust_map of one element",
        lambda flow: flow.take(1).exhaust_map(lambda x: IterablePublisher([x, x + 1])),
        lambda given: [y for x in given[:1] for y in (x, x + 1)],
        claims={"unbounded": True, "cancels_early": True},
    ),
    Case(
        "exhaust_map to nothing",
        lambda flow: flow.exhaust_map(lambda x: IterablePublisher(())),
        lambda given: [],
        claims={"unbounded": True},
    ),
    Case(
        "exhaust_map to the flow, twice",
        lambda flow: Flow.of("a", "b").exhaust_map(lambda x: flow),
        lambda given: given,
    ),
    Case(
        "expand to flows",
        lambda flow: flow.expand(lambda x: Flow.from_iterable(offspring(x))),
        expanded,
        # The function has to say that nothing follows, and it is not asked after an error.
        claims={"completes_eagerly": False, "errors_overtake": True},
    ),
    Case(
        "expand to publishers",
        lambda flow: flow.expand(lambda x: IterablePublisher(offspring(x))),
        expanded,
        claims={"completes_eagerly": False, "errors_overtake": True},
    ),
    Case(
        "expand to several publishers at a time",
        lambda flow: flow.expand(lambda x: IterablePublisher(offspring(x)), concurrency=3),
        expanded,
        ordered=False,
    ),
]
