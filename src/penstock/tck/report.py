"""What a verification found: 43 rows, and all of it as text of 80 columns, nothing but ASCII."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from penstock.rules import RULES, Party
from penstock.tck.outcome import (
    FACTORY,
    PREFLIGHT,
    WIDTH,
    Failure,
    Outcome,
    RuleResult,
    RuleStatus,
    explain,
)

__all__ = [
    "FACTORY",
    "Failure",
    "Outcome",
    "Report",
    "RuleResult",
    "RuleStatus",
    "render",
]

_OTHER_PARTIES: Final = {
    "publisher": (Party.SUBSCRIBER, Party.PROCESSOR, Party.CALLER),
    "subscriber": (Party.PUBLISHER, Party.SUBSCRIPTION, Party.PROCESSOR, Party.CALLER),
}

Paint: TypeAlias = Callable[[RuleStatus, str], str]
"""Colours a text by the status that it speaks of."""
_GAP: Final = "  "
_HEADER: Final = ("Rule", "Status", "Schedules", "Detail")
_NOT_CONTROLLED: Final = (
    "The order of the subject's steps cannot be controlled: its threads were there\n"
    "before, or wait for something that the kit does not own. What says real time\n"
    "ran once, as it happened to run."
)
_TROUBLE: Final = (RuleStatus.FAILED, RuleStatus.UNDECIDED)
_NUMBER: Final = re.compile(r"\d+")


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


def _plain(_: RuleStatus, text: str) -> str:
    return text


def render(
    report: Report, *, width: int = WIDTH, paint: Paint = _plain, trail: bool = False
) -> str:
    """The whole report: the rows, what was left out, each failure in full, the counts."""
    blocks = [f"Conformance of the {report.kind} {report.subject}"]
    if _ran(report):
        blocks.append("\n".join(_table(report.rows, width, paint)))
        blocks += [] if report.controlled else [_NOT_CONTROLLED]
        blocks += _left_out(
            "Not claimed, so not verified:", RuleStatus.NOT_CLAIMED, report.outcomes
        )
        blocks += _left_out("Undecided:", RuleStatus.UNDECIDED, report.outcomes)
    blocks += explain_failures(report, width=width, paint=paint, trail=trail)
    verdict = RuleStatus.VERIFIED if report.passed else RuleStatus.FAILED
    blocks.append(paint(verdict, closing_line(report)))
    return "\n\n".join(blocks)


def closing_line(report: Report) -> str:
    """The verdict, the counts and the time, in one line."""
    counts = [f"{count} {status.value}" for status, count in report.counts.items()]
    found = ", ".join(counts) if _ran(report) else "nothing could be verified"
    return f"{_verdict(report)}: {found}, in {report.seconds:.1f} s"


def _verdict(report: Report) -> str:
    if report.passed:
        return "passed"
    troubled = any(outcome.status in _TROUBLE for outcome in report.outcomes)
    return "FAILED" if troubled else "NOTHING VERIFIED"


def _ran(report: Report) -> bool:
    """Whether the subject was good enough for the checks to begin."""
    return not any(outcome.check == PREFLIGHT for outcome in report.outcomes)


def explain_failures(
    report: Report, *, width: int = WIDTH, paint: Paint = _plain, trail: bool = False
) -> list[str]:
    """Each failure once, in the order of the rules."""
    blocks = []
    told: set[str] = set()
    for failure, others in _grouped(report.failures):
        text = explain(
            failure,
            width=width,
            rule=failure.rule not in told,
            also_seen_by=others,
            replay=report.replay_command(failure),
            trail=trail,
        )
        told.add(failure.rule)
        title, newline, rest = text.partition("\n")
        blocks.append(paint(RuleStatus.FAILED, title) + newline + rest)
    return blocks


def _table(rows: Sequence[RuleResult], width: int, paint: Paint) -> Iterator[str]:
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(_HEADER, *cells, strict=True)]
    yield _line(_HEADER, widths, width)
    chapter = ""
    for row, line in zip(rows, cells, strict=True):
        if chapter not in ("", row.rule[0]):
            yield ""
        chapter = row.rule[0]
        yield _line(line, widths, width).replace(line[1], paint(row.status, line[1]), 1)


def _cells(row: RuleResult) -> tuple[str, str, str, str]:
    status = row.status.value.upper() if row.status is RuleStatus.FAILED else row.status.value
    grounds = row.how.removesuffix(" schedules").removesuffix(" schedule")
    detail = " ".join(row.detail.split())
    return row.rule, status, grounds, detail or RULES[row.rule].summary


def _line(cells: Sequence[str], widths: Sequence[int], width: int) -> str:
    padded = (cell.ljust(column) for cell, column in zip(cells, widths, strict=True))
    line = _GAP.join(padded).rstrip()
    return line if len(line) <= width else line[: width - 3].rstrip() + "..."


def _left_out(title: str, status: RuleStatus, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The checks without a verdict, by the reason, where no failure tells it."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.status is status and outcome.failure is None:
            reasons.setdefault(outcome.detail, []).append(f"{outcome.rule} {outcome.check}")
    if reasons:
        lines = [title]
        for reason, checks in reasons.items():
            lines += [f"{_GAP}{reason}", *(f"{_GAP * 2}{check}" for check in checks)]
        yield "\n".join(lines)


def _grouped(failures: Sequence[Failure]) -> Iterator[tuple[Failure, list[str]]]:
    """The failures to explain, each with the other checks that ended by it."""
    by_rule: dict[str, list[Failure]] = {}
    for failure in sorted(failures, key=_position):
        by_rule.setdefault(failure.rule, []).append(failure)
    for same_rule in by_rule.values():
        # A check of the broken rule itself tells more than one that merely ran into it.
        own = [failure for failure in same_rule if failure.verifies] or same_rule[:1]
        shown: dict[str, Failure] = {}
        for failure in own:
            shown.setdefault(_fault(failure), failure)
        others: dict[str, list[str]] = {fault: [] for fault in shown}
        for failure in same_rule:
            if failure not in shown.values():
                others.get(_fault(failure), others[_fault(own[0])]).append(failure.check)
        yield from ((failure, others[fault]) for fault, failure in shown.items())


def _fault(failure: Failure) -> str:
    """The same for messages that differ in their numbers only."""
    return _NUMBER.sub("0", failure.message)


def _position(failure: Failure) -> int:
    return list(RULES).index(failure.rule) if failure.rule in RULES else -1
