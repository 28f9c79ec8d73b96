"""What makes other elements."""

from __future__ import annotations

from itertools import accumulate, pairwise, takewhile

from penstock.flow import OnComplete, OnNext, X
from tests.flow.case import Case


def chain(given: list[int]) -> list[int]:
    kept = [x + 1 for x in given if (x + 1) % 2 and (x + 1) % 5]
    return list(accumulate((y for x in kept for y in (x, -x)), max, initial=0))[1:]


def signal_of(x: int) -> OnNext[int] | OnComplete:
    """The number as an element, and five as the end."""
    return OnComplete() if x == 5 else OnNext(x)


CASES = [
    Case("map", lambda flow: flow.map(lambda x: x + 1), lambda given: [x + 1 for x in given]),
    Case("map with X", lambda flow: flow.map(X * 2 - 1), lambda given: [x * 2 - 1 for x in given]),
    Case(
        "map to falsy elements", lambda flow: flow.map(lambda x: 0), lambda given: [0] * len(given)
    ),
    Case(
        "map_not_none",
        lambda flow: flow.map_not_none(lambda x: x if x % 3 else None),
        lambda given: [x for x in given if x % 3],
    ),
    Case(
        "map_not_none to nothing", lambda flow: flow.map_not_none(lambda x: None), lambda given: []
    ),
    Case(
        "filter",
        lambda flow: flow.filter(lambda x: x % 2 == 0),
        lambda given: [x for x in given if x % 2 == 0],
    ),
    Case(
        "filter with X", lambda flow: flow.filter(X > 3), lambda given: [x for x in given if x > 3]
    ),
    Case("filter to nothing", lambda flow: flow.filter(lambda x: False), lambda given: []),
    Case(
        "flat_map_iterable",
        lambda flow: flow.flat_map_iterable(lambda x: [x] * (x % 4)),
        lambda given: [x for x in given for _ in range(x % 4)],
    ),
    Case(
        "flat_map_iterable of generators",
        lambda flow: flow.flat_map_iterable(lambda x: (x + n for n in range(3))),
        lambda given: [x + n for x in given for n in range(3)],
    ),
    Case(
        "flat_map_iterable, nested",
        lambda flow: flow.flat_map_iterable(lambda x: [[x, 1], [], [2]]).flat_map_iterable(X),
        lambda given: [y for x in given for y in (x, 1, 2)],
    ),
    Case(
        "flat_map_iterable to nothing",
        lambda flow: flow.flat_map_iterable(lambda x: ()),
        lambda _: [],
    ),
    Case(
        "scan",
        lambda flow: flow.scan(10, lambda total, x: total + x),
        lambda given: list(accumulate(given, initial=10))[1:],
    ),
    Case(
        "scan without a seed",
        lambda flow: flow.scan(lambda total, x: total * 2 + x),
        lambda given: list(accumulate(given, lambda total, x: total * 2 + x)),
    ),
    Case(
        "enumerate",
        lambda flow: flow.enumerate(start=-1),
        lambda given: list(enumerate(given, start=-1)),
    ),
    Case(
        "materialize",
        lambda flow: flow.materialize(),
        lambda given: [*map(OnNext, given), OnComplete()],
        claims={"absorbs_errors": True},
    ),
    Case(
        "materialize, the elements alone",
        lambda flow: flow.materialize().map_not_none(lambda each: getattr(each, "element", None)),
        list,
    ),
    Case("dematerialize", lambda flow: flow.materialize().dematerialize(), list),
    Case(
        "dematerialize up to an end",
        lambda flow: flow.map(signal_of).dematerialize(),
        lambda given: list(takewhile(lambda x: x != 5, given)),
    ),
    Case("pairwise", lambda flow: flow.pairwise(), lambda given: list(pairwise(given))),
    Case(
        "pipe",
        lambda flow: flow.pipe(lambda flow, n: flow.map(X + n), 2),
        lambda given: [x + 2 for x in given],
    ),
    Case(
        "a chain of them",
        lambda flow: (
            flow.map(X + 1)
            .filter(lambda x: x % 2)
            .flat_map_iterable(lambda x: (x, -x))
            .map_not_none(lambda x: x if x % 5 else None)
            .scan(0, max)
        ),
        chain,
    ),
]
