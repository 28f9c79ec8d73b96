"""Several publishers."""

from __future__ import annotations

from itertools import zip_longest

from penstock import IterablePublisher
from penstock.flow import Flow
from tests.flow.case import Case

OTHERS = [100, 101, 102]
PLENTY = 20_000


def latest(given: list[int], others: list[int]) -> list[tuple[int, int]]:
    """Both take turns; a tuple for each element, once there are two."""
    if not given or not others:
        return []
    pairs = [(given[0], others[0])]
    for one, other in zip_longest(given[1:], others[1:]):
        if one is not None:
            pairs.append((one, pairs[-1][1]))
        if other is not None:
            pairs.append((pairs[-1][0], other))
    return pairs


CASES = [
    Case(
        "merge with a flow",
        lambda flow: Flow.merge(flow, Flow.from_iterable(OTHERS)),
        lambda given: given + OTHERS,
        ordered=False,
        claims={"prefetch": 256},  # what is asked of one input, another one may have
    ),
    Case(
        "merge with a publisher",
        lambda flow: Flow.merge(IterablePublisher(OTHERS), flow),
        lambda given: given + OTHERS,
        ordered=False,
    ),
    Case(
        "merge with an empty publisher",
        lambda flow: Flow.merge(IterablePublisher(()), flow, Flow.empty()),
        lambda given: given,
    ),
    Case(
        "merge one at a time",
        lambda flow: Flow.merge(flow, IterablePublisher(OTHERS), concurrency=1),
        lambda given: given + OTHERS,
    ),
    Case(
        "merge with delayed errors",
        lambda flow: Flow.merge(flow, IterablePublisher(OTHERS), delay_errors=True),
        lambda given: given + OTHERS,
        ordered=False,
    ),
    Case("merge alone", Flow.merge, lambda given: given),
    Case(
        "merge with itself",
        lambda flow: Flow.merge(flow, flow),
        lambda given: given + given,
        ordered=False,
    ),
    Case(
        "concat with one more element",
        lambda flow: Flow.concat(flow, Flow.of(100)),
        lambda given: [*given, 100],
    ),
    Case(
        "concat with an empty flow",
        lambda flow: Flow.concat(flow, Flow.empty()),
        lambda given: given,
    ),
    Case(
        "concat with a flow",
        lambda flow: Flow.concat(Flow.from_iterable(OTHERS), flow),
        lambda given: OTHERS + given,
    ),
    Case(
        "concat with a publisher",
        lambda flow: Flow.concat(flow, IterablePublisher(OTHERS), flow),
        lambda given: given + OTHERS + given,
    ),
    Case(
        "zip with a longer flow",
        lambda flow: Flow.zip(flow, Flow.range(PLENTY)),
        lambda given: list(zip(given, range(PLENTY), strict=False)),
    ),
    Case(
        "zip with a shorter publisher",
        lambda flow: Flow.zip(IterablePublisher(OTHERS), flow),
        lambda given: list(zip(OTHERS, given, strict=False)),
    ),
    Case(
        "zip of three",
        lambda flow: Flow.zip(flow, flow.map(lambda x: -x), Flow.from_iterable(OTHERS)),
        lambda given: [(x, -x, y) for x, y in zip(given, OTHERS, strict=False)],
    ),
    Case(
        "combine_latest with one element",
        lambda flow: Flow.combine_latest(Flow.of(1), flow),
        lambda given: [(1, x) for x in given],
    ),
    Case(
        "combine_latest with a flow",
        lambda flow: Flow.combine_latest(flow.map(lambda x: x), Flow.from_iterable(OTHERS)),
        lambda given: latest(given, OTHERS),
    ),
    Case(
        "combine_latest with nothing",
        lambda flow: Flow.combine_latest(flow, IterablePublisher(())),
        lambda given: [],
    ),
    Case(
        "race with one that never comes",
        lambda flow: Flow.race(Flow.never(), flow),
        lambda given: given,
    ),
    Case("race alone", Flow.race, lambda given: given),
    Case(
        "with_latest_from a flow",
        lambda flow: flow.with_latest_from(Flow.from_iterable(OTHERS)),
        lambda given: [(x, OTHERS[-1]) for x in given],
    ),
    Case(
        "with_latest_from a publisher",
        lambda flow: flow.with_latest_from(IterablePublisher(OTHERS)),
        lambda given: [(x, OTHERS[-1]) for x in given],
    ),
    Case(
        "with_latest_from nothing",
        lambda flow: flow.with_latest_from(Flow.empty()),
        lambda given: [],
    ),
    Case(
        "take_until never",
        lambda flow: flow.take_until(Flow.never()),
        lambda given: given,
    ),
    Case(
        "take_until at once",
        lambda flow: flow.take_until(IterablePublisher([1])),
        lambda given: [],
    ),
    Case(
        "skip_until never",
        lambda flow: flow.skip_until(Flow.never()),
        lambda given: [],
    ),
    Case(
        "skip_until at once",
        lambda flow: flow.skip_until(IterablePublisher([1])),
        lambda given: given,
    ),
    Case(
        "skip_until nothing",
        lambda flow: flow.skip_until(Flow.empty()),
        lambda given: given,
    ),
    Case(
        "then one element",
        lambda flow: flow.then(Flow.of(100)),
        lambda given: [100],
    ),
    Case(
        "then a flow",
        lambda flow: flow.then(Flow.from_iterable(OTHERS)),
        lambda given: OTHERS,
    ),
    Case(
        "then a publisher",
        lambda flow: flow.then(IterablePublisher(OTHERS)),
        lambda given: OTHERS,
    ),
    Case(
        "then the flow",
        lambda flow: Flow.from_iterable(OTHERS).then(flow),
        lambda given: given,
    ),
    Case(
        "start_with",
        lambda flow: flow.start_with(-1, -2),
        lambda given: [-1, -2, *given],
    ),
    Case("start_with nothing", lambda flow: flow.start_with(), lambda given: given),
]
