"""A violation that says how to mend it."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.rules import RuleViolation, cite

__all__ = ["ExplainedViolation"]


class ExplainedViolation(RuleViolation):
    """What a party did, the rule that it broke, how to mend it, and the signals that led to it."""

    remedy: str

    def __init__(
        self, number: str, detail: str, timeline: Iterable[str] = (), remedy: str = ""
    ) -> None:
        super().__init__(number, detail, timeline)
        self.remedy = remedy

    def __str__(self) -> str:
        lines = [cite(self.rule.number, self.detail)]
        if self.remedy:
            lines.append(f"to mend it: {self.remedy}")
        if self.timeline:
            lines += ("the signals up to here:", *(f"  {line}" for line in self.timeline))
        return "\n  ".join(lines)
