"""Short ways to explore a scenario and to require a verdict."""

from __future__ import annotations

from collections.abc import Callable

from penstock.tck import Environment, Exploration, Verdict, Violation, explore

Scenario = Callable[[Environment], object]


def holds(scenario: Scenario, level: str = "gil", bound: int = 1) -> Exploration:
    """Require that a scenario of the calling test holds under all schedules."""
    found = explore(scenario, level=level, bound=bound, seeds=(), budget=30)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()
    return found


def breaks(scenario: Scenario, level: str = "gil", bound: int = 1) -> Violation:
    """Require that some schedule breaks a scenario, and return how."""
    found = explore(scenario, level=level, bound=bound, seeds=(), budget=30)
    assert found.verdict is Verdict.VIOLATED, found.explain()
    assert found.violation is not None
    return found.violation
