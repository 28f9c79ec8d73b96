"""What is asked of explored scenarios: that they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, TypeAlias

from penstock.tck import Environment, Verdict, explore

__all__ = ["BRIEFLY", "HELD", "Scenario", "assert_holds"]

Scenario: TypeAlias = Callable[[Environment], None]
BRIEFLY: Final = 0.35
"""The seconds in which a scenario is tried every time: some dozens of schedules, in many cases all
with one preemption. With ``--full``, it is tried for as long as it takes."""
HELD: Final = (Verdict.HELD_EXHAUSTIVELY, Verdict.HELD_SO_FAR)


def assert_holds(scenario: Scenario, subject: Sequence[ModuleType], **options: Any) -> None:
    """No schedule that was tried breaks the scenario."""
    found = explore(scenario, subject=subject, **options)
    assert found.verdict in HELD, found.explain()
