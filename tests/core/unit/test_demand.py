"""The demand counter: what it adds up, where it stops, and from how many threads."""

from __future__ import annotations

import pytest

from penstock.api import UNBOUNDED
from penstock.core import Demand
from tests.core.unit.parties import LockWatch
from tests.runtime.unit.threads import frequent_switches, run_together


def counts(demand: Demand) -> tuple[int, int, int]:
    return demand.requested, demand.delivered, demand.outstanding


def test_at_first_nothing_is_requested_and_nothing_delivered() -> None:
    assert counts(Demand()) == (0, 0, 0)


def test_requests_add_up_and_deliveries_are_taken_off() -> None:
    demand = Demand()
    demand.add(3)
    demand.add(4)
    assert counts(demand) == (7, 0, 7)
    demand.consume(5)
    assert counts(demand) == (7, 5, 2)
    demand.add(1)
    assert counts(demand) == (8, 5, 3)


def test_delivering_nothing_changes_nothing() -> None:
    demand = Demand()
    demand.add(2)
    demand.consume(0)
    assert counts(demand) == (2, 0, 2)


@pytest.mark.parametrize("last", [1, 2, UNBOUNDED, 10**30])
def test_rule_3_17_a_sum_that_reaches_the_largest_demand_stops_there(last: int) -> None:
    demand = Demand()
    demand.add(UNBOUNDED - 1)
    assert demand.outstanding == UNBOUNDED - 1
    demand.add(last)
    assert counts(demand) == (UNBOUNDED, 0, UNBOUNDED)


def test_rule_3_17_one_huge_request_is_without_limit() -> None:
    demand = Demand()
    demand.add(10**30)
    assert counts(demand) == (UNBOUNDED, 0, UNBOUNDED)


def test_rule_3_17_a_demand_without_limit_stays_so_whatever_is_delivered() -> None:
    demand = Demand()
    demand.add(UNBOUNDED)
    demand.consume(1_000_000)
    assert counts(demand) == (UNBOUNDED, 1_000_000, UNBOUNDED)
    demand.add(1)
    demand.consume(1)
    assert counts(demand) == (UNBOUNDED, 1_000_001, UNBOUNDED)


def test_one_below_the_limit_is_still_counted() -> None:
    demand = Demand()
    demand.add(UNBOUNDED - 1)
    demand.consume(10)
    assert demand.outstanding == UNBOUNDED - 11
    demand.add(10)
    assert demand.outstanding == UNBOUNDED - 1


def test_what_was_requested_since_the_start_stops_at_the_limit_as_well() -> None:
    demand = Demand()
    demand.add(UNBOUNDED - 1)
    demand.consume(100)
    demand.add(50)
    assert demand.outstanding == UNBOUNDED - 51
    assert demand.requested == UNBOUNDED


def test_no_request_and_no_delivery_of_many_threads_is_lost() -> None:
    demand = Demand()
    demand.add(3_000)

    def add() -> None:
        for _ in range(3_000):
            demand.add(2)

    def consume() -> None:
        for _ in range(3_000):
            demand.consume(1)

    with frequent_switches():
        run_together(add, consume, add)
    assert counts(demand) == (15_000, 3_000, 12_000)


def test_the_requested_sum_never_shrinks_while_elements_are_delivered() -> None:
    """It is the sum of two counters, one of which falls as the other one grows."""
    demand = Demand()
    demand.add(5_000)
    seen: list[int] = []

    def consume() -> None:
        for _ in range(5_000):
            demand.consume(1)

    with frequent_switches():
        run_together(consume, lambda: seen.extend(demand.requested for _ in range(5_000)))
    assert set(seen) == {5_000}


def test_its_lock_can_be_handed_in() -> None:
    watch = LockWatch()
    demand = Demand(watch())
    demand.add(2)
    demand.consume(1)
    assert watch.entered == 2
    assert watch.held_here == 0


def test_it_shows_what_it_counts() -> None:
    demand = Demand()
    demand.add(5)
    demand.consume(2)
    assert repr(demand) == "Demand(outstanding=3, delivered=2)"
