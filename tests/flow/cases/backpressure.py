"""Elements that come without demand, and demand in portions.

What is lost under pressure depends on when elements come, which no model on lists can say; but it
can say what remains true of the whole.
"""

from __future__ import annotations

import operator

from penstock import UNBOUNDED
from penstock.flow import Flow
from tests.flow.case import Case

__all__ = ["CASES"]

PLENTY = 20_000


def number_of_all(flow: Flow[int]) -> Flow[int]:
    """How many elements came, even if they were dropped."""
    dropped: list[int] = []
    return flow.on_backpressure_drop(dropped.append).count().map(lambda n: n + len(dropped))


CASES = [
    Case(
        "on_backpressure_buffer with room for all",
        lambda flow: flow.on_backpressure_buffer(PLENTY),
        list,
        prefetch=UNBOUNDED,
        claims={"unbounded": True},
    ),
    Case(
        "on_backpressure_buffer that would drop, with room for all",
        lambda flow: flow.on_backpressure_buffer(PLENTY, "drop_oldest"),
        list,
        prefetch=UNBOUNDED,
        claims={"unbounded": True},
    ),
    Case(
        "on_backpressure_drop, all counted",
        lambda flow: Flow.defer(lambda: number_of_all(flow)),
        lambda given: [len(given)],
        prefetch=UNBOUNDED,
        claims={"unbounded": True},
    ),
    Case(
        "on_backpressure_latest, the last one",
        lambda flow: flow.on_backpressure_latest().last(),
        lambda given: given[-1:],
        prefetch=UNBOUNDED,
        claims={"unbounded": True},
    ),
    Case(
        "conflate, the sum of all",
        lambda flow: flow.conflate(operator.add).reduce(0, operator.add),
        lambda given: [sum(given)],
        prefetch=UNBOUNDED,
        claims={"unbounded": True},
    ),
    Case("limit_rate", lambda flow: flow.limit_rate(3), list, prefetch=3),
    Case("limit_rate with much left", lambda flow: flow.limit_rate(8, 7), list, prefetch=8),
    Case("limit_rate of one", lambda flow: flow.limit_rate(1), list, prefetch=1),
]
