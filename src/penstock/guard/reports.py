"""What all guarded parties tell."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from penstock.core.protocol_monitor import Fault
from penstock.core.timeline import Timeline
from penstock.rules import RuleViolation, cite
from penstock.runtime import NewLock, report_undelivered
from penstock.runtime.executor import ReentrantLock

__all__ = [
    "ExplainedViolation",
    "Guarded",
    "OnViolation",
    "PartyReports",
    "StreamReports",
]


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


class ExplainedViolation(RuleViolation):
    """What a party did, the rule that it broke, how to fix it, and the signals that led to it."""

    remedy: str

    def __init__(
        self, number: str, detail: str, timeline: Iterable[str] = (), remedy: str = ""
    ) -> None:
        super().__init__(number, detail, timeline)
        self.remedy = remedy

    def __str__(self) -> str:
        lines = [cite(self.rule.number, self.detail)]
        if self.remedy:
            lines.append(f"to fix it: {self.remedy}")
        if self.timeline:
            lines += ("the signals up to here:", *(f"  {line}" for line in self.timeline))
        return "\n  ".join(lines)


OnViolation: TypeAlias = Callable[[RuleViolation], object]
"""Called with each violation, on the thread where it was seen. What it returns is ignored."""

MOST_KEPT: Final = 100


class PartyReports:
    """What a guard has to say about one party, over all of its streams.

    ``on_violation`` is called on the thread that sees a rule broken.
    """

    def __init__(
        self, party: str, on_violation: OnViolation | None, new_lock: NewLock = ReentrantLock
    ) -> None:
        self.party = party
        self.new_lock = new_lock
        self._on_violation = on_violation
        self._lock = new_lock()
        self._violations: deque[RuleViolation] = deque(maxlen=MOST_KEPT)
        self._counts: Counter[str] = Counter()

    @property
    def violations(self) -> tuple[RuleViolation, ...]:
        """The latest violations, oldest first."""
        with self._lock:
            return tuple(self._violations)

    @property
    def counts(self) -> dict[str, int]:
        """How often each rule was broken, by its number."""
        with self._lock:
            return dict(self._counts)

    def count(self, rule: str) -> None:
        """A rule was broken, whether or not this is worth another report."""
        with self._lock:
            self._counts[rule] += 1

    def announce(self, violation: RuleViolation) -> None:
        """Keep the violation, and pass it to ``on_violation`` or the hook, on the calling thread.

        Never raises an ``Exception``.
        """
        with self._lock:
            self._violations.append(violation)
        if self._on_violation is None:
            report_undelivered(violation, f"the guard of {self.party} saw a broken rule")
            return
        try:
            self._on_violation(violation)
        except Exception as error:
            report_undelivered(error, f"on_violation of the guard of {self.party} raised")
            report_undelivered(violation, "on_violation did not take this violation")


class StreamReports:
    """The timeline of one stream, and the violations seen in it."""

    def __init__(self, party: PartyReports) -> None:
        self.timeline = Timeline(new_lock=party.new_lock)
        self._party = party
        self._lock = party.new_lock()
        self._known: dict[str, RuleViolation] = {}

    def report(self, fault: Fault) -> RuleViolation:
        """Announce the violation, unless one of the same rule was announced in this stream."""
        self._party.count(fault.rule)
        known = self._known.get(fault.rule)
        return known if known is not None else self._announce(self._violation(fault))

    def _announce(self, violation: RuleViolation) -> RuleViolation:
        with self._lock:
            known = self._known.setdefault(violation.rule.number, violation)
        if known is violation:
            self._party.announce(violation)
        return known

    def _violation(self, fault: Fault) -> RuleViolation:
        detail = f"{self._party.party} {fault.what}"
        violation = ExplainedViolation(fault.rule, detail, self.timeline.lines(), fault.remedy)
        if fault.cause:
            violation.add_note(fault.cause)
        return violation
