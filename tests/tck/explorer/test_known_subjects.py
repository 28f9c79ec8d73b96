"""The verdicts on subjects whose faults are known, level by level."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.tck import Environment, Verdict, explore
from tests.tck.explorer import scenarios, subjects

Scenario = Callable[[Environment], None]

WRONG_UNDER_THE_GIL = [
    scenarios.racy_demand,
    scenarios.capped_demand,
    scenarios.missed_signal,
    scenarios.opposite_locks,
    scenarios.lost_wake_up,
    scenarios.overlapping_on_next,
    scenarios.pool_of_two,
    scenarios.spinning_waiter,
]
RIGHT_BY_THE_LANGUAGE = [
    scenarios.counting_drain,
    scenarios.condition_publisher,
    scenarios.request_against_cancel,
    scenarios.pool_of_one,
    scenarios.queue_bridge,
]
RIGHT_UNDER_THE_GIL_ONLY = [scenarios.augmented_demand, scenarios.flag_drain]
WRONG_IN_THE_ORDER_OF_OPERATIONS = [
    scenarios.missed_signal,
    scenarios.opposite_locks,
    scenarios.lost_wake_up,
    scenarios.pool_of_two,
]


@pytest.mark.parametrize("scenario", WRONG_UNDER_THE_GIL)
def test_level_gil_finds_what_can_go_wrong_under_the_gil(scenario: Scenario) -> None:
    found = explore(scenario, subject=subjects, budget=20)
    assert found.verdict is Verdict.VIOLATED, found.explain()


@pytest.mark.parametrize("scenario", RIGHT_BY_THE_LANGUAGE + RIGHT_UNDER_THE_GIL_ONLY)
def test_level_gil_raises_no_false_alarm(scenario: Scenario) -> None:
    found = explore(scenario, subject=subjects, budget=20)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("scenario", WRONG_UNDER_THE_GIL + RIGHT_UNDER_THE_GIL_ONLY)
def test_level_visible_finds_what_the_language_allows_to_go_wrong(scenario: Scenario) -> None:
    found = explore(scenario, subject=subjects, level="visible", budget=20)
    assert found.verdict is Verdict.VIOLATED, found.explain()


@pytest.mark.parametrize("scenario", RIGHT_BY_THE_LANGUAGE)
def test_level_visible_raises_no_false_alarm(scenario: Scenario) -> None:
    found = explore(scenario, subject=subjects, level="visible", bound=1, budget=20)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("scenario", WRONG_IN_THE_ORDER_OF_OPERATIONS)
def test_level_sync_finds_what_goes_wrong_between_operations(scenario: Scenario) -> None:
    found = explore(scenario, subject=subjects, level="sync", budget=20)
    assert found.verdict is Verdict.VIOLATED, found.explain()


@pytest.mark.parametrize("scenario", RIGHT_BY_THE_LANGUAGE + RIGHT_UNDER_THE_GIL_ONLY)
def test_level_sync_raises_no_false_alarm(scenario: Scenario) -> None:
    found = explore(scenario, subject=subjects, level="sync", budget=20)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_level_sync_is_blind_to_data_that_no_lock_guards() -> None:
    found = explore(scenarios.racy_demand, subject=subjects, level="sync")
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_one_preemption_is_enough_for_most_faults_but_none_is_not() -> None:
    without = explore(scenarios.racy_demand, subject=subjects, bound=0, seeds=())
    with_one = explore(scenarios.racy_demand, subject=subjects, bound=1, seeds=())
    assert without.verdict is Verdict.HELD_EXHAUSTIVELY, without.explain()
    assert with_one.verdict is Verdict.VIOLATED, with_one.explain()


def test_random_schedules_go_beyond_the_bound() -> None:
    found = explore(scenarios.racy_demand, subject=subjects, bound=0, seeds=range(200))
    assert found.verdict is Verdict.VIOLATED, found.explain()
