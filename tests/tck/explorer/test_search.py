"""The search runs all schedules within its bound, and none of them twice."""

from __future__ import annotations

import gc
from itertools import combinations, pairwise
from math import comb

import pytest

from penstock.tck import Environment, explore
from penstock.tck.explorer.search import DepthFirst, Guided
from penstock.tck.explorer.session import checked_options, open_session
from tests.tck.explorer.judging import holds

STEPS = 3


def interleave(env: Environment, orders: set[str]) -> None:
    """Let two threads take turns in some way, and note in which."""
    order: list[str] = []
    event = env.event()

    def work(name: str) -> None:
        for _ in range(STEPS):
            event.is_set()
            order.append(name)

    env.par(lambda: work("a"), lambda: work("b"))
    orders.add("".join(order))


def switches(order: str) -> int:
    return sum(left != right for left, right in pairwise(order))


def all_orders() -> set[str]:
    places = range(2 * STEPS)
    return {
        "".join("a" if place in chosen else "b" for place in places)
        for chosen in combinations(places, STEPS)
    }


def test_a_bound_as_large_as_the_run_yields_every_order() -> None:
    orders: set[str] = set()
    holds(lambda env: interleave(env, orders), level="sync", bound=2 * STEPS)
    assert orders == all_orders()
    assert len(orders) == comb(2 * STEPS, STEPS)


@pytest.mark.parametrize("bound", [0, 1, 2, 3])
def test_a_bound_yields_the_orders_with_so_many_preemptions(bound: int) -> None:
    orders: set[str] = set()
    holds(lambda env: interleave(env, orders), level="sync", bound=bound)
    # The end of the first thread is a switch that is no preemption.
    assert orders == {order for order in all_orders() if switches(order) <= bound + 1}


@pytest.mark.parametrize("bound", [0, 1, 2, 3])
def test_no_schedule_is_run_twice_and_fewer_preemptions_come_first(bound: int) -> None:
    def scenario(env: Environment) -> None:
        interleave(env, set())

    options = checked_options(
        scenario, subject=(), level="sync", bound=bound, seeds=(), max_steps=5000, budget=60
    )
    search = DepthFirst(bound)
    seen = []
    with open_session(scenario, options) as session:
        while (plan := search.next()) is not None:
            strategy = Guided(plan)
            result = session.run(strategy)
            search.learn(plan, strategy.decisions)
            seen.append(tuple(result.run.deviations))
            assert seen[-1] == plan.deviations
    assert len(set(seen)) == len(seen)
    # The first deviation may choose which thread begins; each other one is a preemption.
    preemptions = [sum(position > 0 for position, _ in deviations) for deviations in seen]
    assert preemptions == sorted(preemptions)
    assert max(preemptions) == bound


def test_three_threads_begin_and_end_in_any_order() -> None:
    orders: set[str] = set()

    def scenario(env: Environment) -> None:
        order: list[str] = []
        env.par(*[lambda name=name: order.append(name) for name in "abc"])
        orders.add("".join(order))

    holds(scenario, level="sync", bound=0)
    assert orders == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_the_collector_rests_during_a_run_and_works_again_afterwards() -> None:
    states: set[bool] = set()
    assert gc.isenabled()
    explore(lambda env: states.add(gc.isenabled()), seeds=())
    assert states == {False}
    assert gc.isenabled()
