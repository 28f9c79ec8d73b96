"""What all guarded parties tell."""

from __future__ import annotations

from penstock.guard.reports import PartyReports
from penstock.rules import RuleViolation

__all__ = ["Guarded"]


class Guarded:
    """A party with a guard around it, and the rules that the guard saw it break."""

    _reports: PartyReports

    @property
    def violations(self) -> tuple[RuleViolation, ...]:
        """The violations, oldest first: one per rule and stream, and no more than the last 100."""
        return self._reports.violations

    @property
    def counts(self) -> dict[str, int]:
        """How often each rule was broken, by its number, over all streams."""
        return self._reports.counts

    def __repr__(self) -> str:
        return f"guard({self._reports.party})"
