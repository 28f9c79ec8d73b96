"""The exception for a rule that somebody broke."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.rules.catalogue import cite, rule
from penstock.rules.model import Rule

__all__ = ["RuleViolation"]


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
