"""What a single check found, and the words to understand and fix it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.tck.explanation import explain

__all__ = ["FACTORY", "PREFLIGHT", "Failure", "Outcome", "RuleResult", "RuleStatus", "sortable"]

FACTORY = "factory"
"""Stands in the place of a rule when the factory itself does not work."""
PREFLIGHT = "preflight"
"""Stands in the place of a check for the first contact with the subject, before all checks."""


class RuleStatus(Enum):
    """What can be said of a rule."""

    VERIFIED = "verified"
    FAILED = "failed"
    UNDECIDED = "undecided"
    """A check of this rule could not be brought to its end, because another rule was broken."""
    NOT_CLAIMED = "not claimed"


@dataclass(frozen=True)
class Failure:
    """A rule that is broken, and how that was seen."""

    rule: str
    check: str
    message: str
    remedy: str = ""
    """What to change so that the check passes."""
    timeline: tuple[str, ...] = ()
    schedule: str | None = None
    verifies: str = ""
    """What the check that saw it does, where the rule is its own."""
    trail: tuple[str, ...] = ()
    """What each thread did under the schedule, turn by turn."""

    @property
    def title(self) -> str:
        """What is wrong, in one line."""
        broken = (
            "the factory does not work" if self.rule == FACTORY else f"rule {self.rule} is broken"
        )
        return f"{broken}: {self.message}"

    def __str__(self) -> str:
        return explain(self)


@dataclass(frozen=True)
class Outcome:
    """How one check ended."""

    check: str
    rule: str
    status: RuleStatus
    detail: str = ""
    seconds: float = 0.0
    failure: Failure | None = None
    schedules: int | None = None
    """How many schedules were run: 0 in real time, None when the check did not run."""
    exhaustive: bool = False
    """Whether these are all schedules within the bound."""


@dataclass(frozen=True)
class RuleResult:
    """One of the 43 rows."""

    rule: str
    status: RuleStatus
    checks: tuple[str, ...] = ()
    how: str = ""
    """What the verdict rests on, such as ``all 24 schedules``."""
    detail: str = ""


def sortable(rule: str) -> str:
    """The number of a rule for names that sort in the order of the rules: ``1.1`` is ``1_01``."""
    chapter, dot, number = rule.partition(".")
    return f"{chapter}_{number:0>2}" if dot else rule
