"""The 43 rules by number: how to look one up, and how an error names the one that was broken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from penstock.rules.model import Rule
from penstock.rules.processor import PROCESSOR_RULES
from penstock.rules.publisher import PUBLISHER_RULES
from penstock.rules.subscriber import SUBSCRIBER_RULES
from penstock.rules.subscription import SUBSCRIPTION_RULES

__all__ = [
    "CHAPTERS",
    "RULES",
    "RuleViolation",
    "cite",
    "rule",
    "unknown",
]


def unknown(kind: str, name: object, *, allowed: str, names: Iterable[str]) -> ValueError:
    """An error that says what was asked for, what exists, and what may have been meant."""
    nearest = _nearest(str(name).lower(), list(names))
    hint = f"; did you mean {nearest!r}?" if nearest else ""
    return ValueError(f"there is no {kind} {name!r}, only {allowed}{hint}")


def _nearest(wanted: str, names: list[str]) -> str | None:
    # Only a mistake needs difflib, so only a mistake pays for its import.
    from difflib import get_close_matches

    beginnings = (name for name in names if name.startswith(wanted))
    return next(iter(get_close_matches(wanted, names, n=1)), None) or next(beginnings, None)


CHAPTERS: Final[Mapping[str, tuple[Rule, ...]]] = MappingProxyType(
    {
        "1": PUBLISHER_RULES,
        "2": SUBSCRIBER_RULES,
        "3": SUBSCRIPTION_RULES,
        "4": PROCESSOR_RULES,
    }
)
"""The rules by chapter: publisher, subscriber, subscription, processor."""

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {entry.number: entry for chapter in CHAPTERS.values() for entry in chapter}
)
"""The 43 rules of Reactive Streams 1.0.4 by number, in the order of the document."""


def rule(number: str) -> Rule:
    """The rule of that number, such as ``"3.9"``."""
    try:
        return RULES[number]
    except (KeyError, TypeError):
        ranges = (f"{chapter[0].number} to {chapter[-1].number}" for chapter in CHAPTERS.values())
        raise unknown("rule", number, allowed=", ".join(ranges), names=RULES) from None


def cite(number: str, detail: str) -> str:
    """One line for an error message: what happened, then the rule that it breaks.

    >>> cite("3.9", "request(0) asks for nothing")
    'request(0) asks for nothing (rule 3.9: request takes a positive number)'
    """
    return f"{detail} (rule {number}: {rule(number).summary})"


class RuleViolation(RuntimeError):
    """Somebody broke a rule: which one, what was seen, and the signals that led to it."""

    rule: Rule
    detail: str
    timeline: tuple[str, ...]

    def __init__(self, number: str, detail: str, timeline: Iterable[str] = ()) -> None:
        self.rule = rule(number)
        self.detail = detail
        self.timeline = tuple(timeline)
        # All three stay in args, so that the exception survives pickling.
        super().__init__(number, detail, self.timeline)

    def __str__(self) -> str:
        return "\n  ".join((cite(self.rule.number, self.detail), *self.timeline))
