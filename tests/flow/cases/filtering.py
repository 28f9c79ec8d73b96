"""What leaves elements out."""

from __future__ import annotations

from itertools import dropwhile, groupby, takewhile

from penstock.flow import X
from tests.flow.case import Case


def through_first_multiple_of_five(given: list[int]) -> list[int]:
    fitting = list(takewhile(lambda x: x % 5, given))
    return given[: len(fitting) + 1]


def first_of_each_remainder(given: list[int]) -> list[int]:
    found: dict[int, int] = {}
    for x in given:
        found.setdefault(x % 3, x)
    return list(found.values())


def far_from_the_one_before(given: list[int]) -> list[int]:
    far: list[int] = []
    for x in given:
        if not far or abs(far[-1] // 2 - x // 2) >= 3:
            far.append(x)
    return far


CASES = [
    Case(
        "take",
        lambda flow: flow.take(3),
        lambda given: given[:3],
        claims={"cancels_early": True},
    ),
    Case("take nothing", lambda flow: flow.take(0), lambda given: []),
    Case("take more than there is", lambda flow: flow.take(1_000_000), lambda given: given),
    Case("take twice", lambda flow: flow.take(5).take(2), lambda given: given[:2]),
    Case(
        "take upstream of filter",
        lambda flow: flow.take(4).filter(X % 2 == 0),
        lambda given: [x for x in given[:4] if x % 2 == 0],
    ),
    Case(
        "take downstream of filter",
        lambda flow: flow.filter(X % 2 == 0).take(2),
        lambda given: [x for x in given if x % 2 == 0][:2],
    ),
    Case(
        "take downstream of flat_map_iterable",
        lambda flow: flow.flat_map_iterable(lambda x: (x, x)).take(3),
        lambda given: [y for x in given for y in (x, x)][:3],
    ),
    Case(
        "take upstream of flat_map_iterable",
        lambda flow: flow.take(2).flat_map_iterable(lambda x: (x, x)),
        lambda given: [y for x in given[:2] for y in (x, x)],
    ),
    Case("take and count", lambda flow: flow.take(3).count(), lambda given: [len(given[:3])]),
    Case(
        "take_while with X",
        lambda flow: flow.take_while(X < 10),
        lambda given: list(takewhile(lambda x: x < 10, given)),
        claims={"cancels_early": True},
    ),
    Case(
        "take_while",
        lambda flow: flow.take_while(lambda x: x % 5),
        lambda given: list(takewhile(lambda x: x % 5, given)),
    ),
    Case(
        "take_while, inclusive",
        lambda flow: flow.take_while(X % 5, inclusive=True),
        through_first_multiple_of_five,
        claims={"cancels_early": True},
    ),
    Case("take_while never", lambda flow: flow.take_while(lambda x: False), lambda given: []),
    Case(
        "take_last",
        lambda flow: flow.take_last(3),
        lambda given: given[-3:],
        claims={"errors_overtake": True},  # what has failed has no last elements
    ),
    Case("take_last of nothing", lambda flow: flow.take_last(0), lambda given: []),
    Case("skip_last", lambda flow: flow.skip_last(2), lambda given: given[:-2]),
    Case("skip_last nothing", lambda flow: flow.skip_last(0), lambda given: given),
    Case("skip", lambda flow: flow.skip(2), lambda given: given[2:]),
    Case("skip nothing", lambda flow: flow.skip(0), lambda given: given),
    Case("skip all", lambda flow: flow.skip(1_000_000), lambda given: []),
    Case("skip and take", lambda flow: flow.skip(2).take(2), lambda given: given[2:4]),
    Case(
        "skip_while with X",
        lambda flow: flow.skip_while(X < 10),
        lambda given: list(dropwhile(lambda x: x < 10, given)),
    ),
    Case(
        "skip_while",
        lambda flow: flow.skip_while(lambda x: x % 5),
        lambda given: list(dropwhile(lambda x: x % 5, given)),
    ),
    Case(
        "first",
        lambda flow: flow.first(),
        lambda given: given[:1],
        claims={"cancels_early": True},
    ),
    Case(
        "first with a condition",
        lambda flow: flow.first(lambda x: x % 4 == 0),
        lambda given: [x for x in given if x % 4 == 0][:1],
    ),
    Case(
        "single",
        lambda flow: flow.first().default_if_empty(-1).single(),
        lambda given: given[:1] or [-1],
        claims={"cancels_early": True},
    ),
    Case("last", lambda flow: flow.last(), lambda given: given[-1:]),
    Case("last of what is taken", lambda flow: flow.take(3).last(), lambda given: given[:3][-1:]),
    Case("distinct", lambda flow: flow.distinct(), lambda given: given),
    Case(
        "distinct by a key",
        lambda flow: flow.distinct(lambda x: x % 3),
        first_of_each_remainder,
    ),
    Case(
        "distinct_until_changed",
        lambda flow: flow.map(X % 2).distinct_until_changed(),
        lambda given: [key for key, _ in groupby(given, lambda x: x % 2)],
    ),
    Case(
        "distinct_until_changed by a key",
        lambda flow: flow.distinct_until_changed(X // 4),
        lambda given: [next(group) for _, group in groupby(given, lambda x: x // 4)],
    ),
    Case(
        "distinct_until_changed by a comparison",
        lambda flow: flow.distinct_until_changed(X // 2, equal=lambda a, b: abs(a - b) < 3),
        far_from_the_one_before,
    ),
]
