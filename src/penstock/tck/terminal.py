"""The report as text for a terminal or a pipe: 80 columns, nothing but ASCII."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from penstock.rules import RULES
from penstock.tck.outcome import PREFLIGHT, WIDTH, Failure, Outcome, RuleResult, RuleStatus, explain

if TYPE_CHECKING:
    from penstock.tck.report import Report

__all__ = ["Paint", "closing_line", "explain_failures", "render"]

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
