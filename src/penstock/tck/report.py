"""What a verification found: 43 rows, and for each fault the words to understand and fix it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from penstock.rules import RULES, Party
from penstock.tck.outcome import FACTORY, PREFLIGHT, Failure, Outcome, RuleResult, RuleStatus
from penstock.tck.terminal import closing_line, explain_failures, render

__all__ = ["FACTORY", "Failure", "Outcome", "Report", "RuleResult", "RuleStatus"]

_OTHER_PARTIES: Final = {
    "publisher": (Party.SUBSCRIBER, Party.PROCESSOR, Party.CALLER),
    "subscriber": (Party.PUBLISHER, Party.SUBSCRIPTION, Party.PROCESSOR, Party.CALLER),
}


@dataclass(frozen=True)
class Report:
    """The result of a verification."""

    kind: str
    subject: str
    outcomes: tuple[Outcome, ...]
    seconds: float = 0.0
    asked: tuple[str, ...] | None = None
    """The rules that were to be verified, where these are not all."""
    command: str = ""
    """What verifies this subject on the command line, where that is known."""
    controlled: bool = True
    """Whether the kit could order the steps of the subject's threads all the time."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Each rule that is broken, once for each check that saw it."""
        return tuple(outcome.failure for outcome in self.outcomes if outcome.failure is not None)

    @property
    def passed(self) -> bool:
        """Whether every rule that was claimed holds, and there is at least one."""
        found = {outcome.status for outcome in self.outcomes}
        return (
            not self.failures and RuleStatus.VERIFIED in found and RuleStatus.UNDECIDED not in found
        )

    @property
    def rules(self) -> tuple[RuleResult, ...]:
        """The 43 rows."""
        return tuple(self._row(number) for number in RULES)

    @property
    def rows(self) -> tuple[RuleResult, ...]:
        """Those of the 43 rows that were asked for, or that have something to tell."""
        if self.asked is None:
            return self.rules
        asked = self.asked
        return tuple(
            row for row in self.rules if row.rule in asked or row.status is RuleStatus.FAILED
        )

    @property
    def counts(self) -> dict[RuleStatus, int]:
        """How many of the rows have each status."""
        found = Counter(row.status for row in self.rows)
        return {status: found[status] for status in RuleStatus}

    def replay_command(self, failure: Failure) -> str:
        """What shows a failure again, and nothing else."""
        if not self.command or failure.check == PREFLIGHT:
            return ""
        schedule = f" --schedule {shlex.quote(failure.schedule)}" if failure.schedule else ""
        return f"{self.command} --check {failure.check}{schedule}"

    def raise_if_failed(self) -> None:
        """Raise an ``AssertionError`` that says what is broken, unless the subject passed."""
        if not self.passed:
            raise AssertionError("\n\n".join([closing_line(self), *explain_failures(self)]))

    def to_json(self) -> dict[str, Any]:
        """All of it, as ``json.dumps`` takes it."""
        return {
            "kind": self.kind,
            "subject": self.subject,
            "passed": self.passed,
            "seconds": round(self.seconds, 3),
            "controlled": self.controlled,
            "counts": {status.value: count for status, count in self.counts.items()},
            "rules": [
                {**asdict(row), "status": row.status.value, "summary": RULES[row.rule].summary}
                for row in self.rows
            ],
            "failures": [
                {**asdict(failure), "replay": self.replay_command(failure)}
                for failure in self.failures
            ],
            "checks": [_check_to_json(outcome) for outcome in self.outcomes],
        }

    def __str__(self) -> str:
        return render(self)

    def _row(self, number: str) -> RuleResult:
        broken = [failure for failure in self.failures if failure.rule == number]
        own = [outcome for outcome in self.outcomes if outcome.rule == number]
        if broken:
            status, detail = RuleStatus.FAILED, broken[0].message
        elif not own:
            status, detail = RuleStatus.NOT_CLAIMED, self._why_no_check(number)
        else:
            status = _worst(own)
            detail = _detail(status, own)
        checks = tuple(outcome.check for outcome in own)
        return RuleResult(number, status, checks, _how(own), detail)

    def _why_no_check(self, number: str) -> str:
        if self.asked is not None and number not in self.asked:
            return "not asked for"
        party = RULES[number].binds
        others = _OTHER_PARTIES.get(self.kind, ())
        return f"binds the {party}" if party in others else f"no check for a {self.kind}"


def _worst(outcomes: Sequence[Outcome]) -> RuleStatus:
    found = {outcome.status for outcome in outcomes}
    order = (RuleStatus.FAILED, RuleStatus.UNDECIDED, RuleStatus.VERIFIED, RuleStatus.NOT_CLAIMED)
    return next(status for status in order if status in found)


def _detail(status: RuleStatus, outcomes: Sequence[Outcome]) -> str:
    """Why a rule is not verified, or what of it is not."""
    if status is not RuleStatus.VERIFIED:
        reasons = (outcome.detail for outcome in outcomes if outcome.status is status)
        return "; ".join(dict.fromkeys(reasons))
    left_out = sum(outcome.status is RuleStatus.NOT_CLAIMED for outcome in outcomes)
    return f"{left_out} of {len(outcomes)} checks not claimed" if left_out else ""


def _how(outcomes: Sequence[Outcome]) -> str:
    """The weakest ground that the verdict rests on."""
    runs = [outcome.schedules for outcome in outcomes if outcome.schedules is not None]
    if not runs:
        return ""
    if 0 in runs:
        return "real time"
    schedules = f"{sum(runs):,} schedule{'s' if sum(runs) > 1 else ''}"
    return f"all {schedules}" if all(_is_exhaustive(each) for each in outcomes) else schedules


def _is_exhaustive(outcome: Outcome) -> bool:
    return outcome.exhaustive or outcome.schedules is None


def _check_to_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "check": outcome.check,
        "rule": outcome.rule,
        "status": outcome.status.value,
        "detail": outcome.detail,
        "seconds": round(outcome.seconds, 3),
        "schedules": outcome.schedules,
        "exhaustive": outcome.exhaustive,
    }
