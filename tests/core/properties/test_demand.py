"""The demand counter against plain numbers, for any series of requests and deliveries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.api import UNBOUNDED
from penstock.core import Demand

REQUESTS = st.one_of(
    st.integers(1, 10),
    st.integers(UNBOUNDED - 10, UNBOUNDED + 10),
    st.integers(1, 10**30),
)
FRACTIONS = st.integers(0, 10)


@given(st.lists(st.tuples(REQUESTS, FRACTIONS)))
def test_demand_is_requests_less_deliveries_until_it_reaches_the_limit(
    steps: list[tuple[int, int]],
) -> None:
    demand = Demand()
    outstanding = delivered = 0
    for requested, tenths in steps:
        demand.add(requested)
        outstanding = min(outstanding + requested, UNBOUNDED)
        sent = outstanding * tenths // 10
        demand.consume(sent)
        delivered += sent
        if outstanding < UNBOUNDED:
            outstanding -= sent
        assert demand.outstanding == outstanding
        assert demand.delivered == delivered
        assert demand.requested == min(outstanding + delivered, UNBOUNDED)


@given(st.lists(REQUESTS))
def test_the_order_of_requests_does_not_matter(requests: list[int]) -> None:
    forwards, backwards = Demand(), Demand()
    for each in requests:
        forwards.add(each)
    for each in reversed(requests):
        backwards.add(each)
    assert forwards.outstanding == backwards.outstanding == min(sum(requests), UNBOUNDED)
