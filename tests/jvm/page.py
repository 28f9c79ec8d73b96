"""The tables of the page on the outside judge, written from its verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.rules import RULES
from penstock.tck.kinds import KINDS
from penstock.tck.outcome import Status
from penstock.tck.report import Report
from tests.jvm.judging import tally

__all__ = ["verdicts_by_implementation", "verdicts_by_rule"]

JUDGED = {
    "publisher": "IterablePublisher",
    "subscriber": "SyncSubscriber, whitebox",
    "processor": "Broadcast",
}
"""Which implementation stands for its kind in the table of the rules."""


def verdicts_by_rule(reports: Mapping[str, Report]) -> str:
    """For each rule whom the own kit checks, and how many tests of the official one passed."""
    header = "| rule | in short | own kit | official: publisher | subscriber | processor |"
    rows = [
        f"| {number} | {RULES[number].summary} | {_checked(number)} | "
        + " | ".join(_official_tests(reports[name], number) for name in JUDGED.values())
        + " |"
        for number in RULES
    ]
    return "\n".join([header, "|---|---|---|---|---|---|", *rows])


def verdicts_by_implementation(reports: Mapping[str, Report]) -> str:
    """What the official kit says of each implementation."""
    rows = [f"| {name} | {tally(report)} |" for name, report in reports.items()]
    return "\n".join(["| implementation | official kit |", "|---|---|", *rows])


def _checked(number: str) -> str:
    """The kinds of party that the own kit checks for a rule."""
    return ", ".join(
        kind for kind in JUDGED if any(check.rule == number for check in KINDS[kind].suite)
    )


def _official_tests(report: Report, number: str) -> str:
    passed = sum(
        outcome.rule == number and outcome.status is Status.VERIFIED for outcome in report.outcomes
    )
    return str(passed) if passed else "-"
