"""What a single check found, and the words to understand it, fix it and see it again."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from penstock.rules import RULES

__all__ = [
    "FACTORY",
    "PREFLIGHT",
    "WIDTH",
    "Failure",
    "Outcome",
    "RuleResult",
    "RuleStatus",
    "explain",
    "sortable",
]

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


WIDTH: Final = 80
_LABEL_WIDTH: Final = 16


def explain(
    failure: Failure,
    *,
    width: int = WIDTH,
    rule: bool = True,
    also_seen_by: Sequence[str] = (),
    replay: str = "",
    trail: bool = False,
) -> str:
    """Say all that is known of a failure.

    ``also_seen_by`` names further checks that ended by it, ``replay`` is the command that shows
    it again. ``rule`` and ``trail`` say whether to show the rule, and what each thread did.
    """
    return "\n".join(
        [
            failure.title,
            *_paragraph("The rule", _rule_of(failure) if rule else "", width),
            *_paragraph("The check", _check_of(failure), width),
            *_paragraph("Seen as well by", ", ".join(also_seen_by), width),
            *_listing("What happened", failure.timeline),
            *_listing("Thread by thread", failure.trail if trail else ()),
            *_paragraph("What to change", failure.remedy, width),
            *_listing("To replay it", [replay or _schedule_of(failure)]),
        ]
    )


def _rule_of(failure: Failure) -> str:
    return RULES[failure.rule].text if failure.rule in RULES else ""


def _check_of(failure: Failure) -> str:
    return f"{failure.check}. {failure.verifies}" if failure.verifies else failure.check


def _schedule_of(failure: Failure) -> str:
    return f"check {failure.check}, schedule {failure.schedule}" if failure.schedule else ""


def _paragraph(label: str, text: str, width: int) -> Iterator[str]:
    if text:
        lead = f"  {label:<{_LABEL_WIDTH}}"
        yield textwrap.fill(
            text.replace("``", ""),  # the mark of code in a docstring
            width,
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
            break_long_words=False,
            break_on_hyphens=False,
        )


def _listing(label: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that are not wrapped: they are columns, or to be copied."""
    shown = [line for line in lines if line]
    if shown:
        yield f"  {label}:"
        yield from (f"    {line}" for line in shown)
