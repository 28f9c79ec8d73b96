"""Lets the official kit judge many subjects at once: it mostly waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from penstock.tck.jvm.court import judge
from penstock.tck.jvm.official_tests import is_placeholder
from penstock.tck.jvm.subject import Subject
from penstock.tck.outcome import Outcome, Status
from penstock.tck.report import Report

Load = Callable[[], dict[str, Subject]]


class Values:
    """Loads what is in a dictionary, in the process of the kit."""

    def __init__(self, load: Load) -> None:
        self._load = load

    def __call__(self) -> list[Subject]:
        return list(self._load().values())


def judge_all(*loads: Load, patience: float) -> dict[str, Report]:
    """The reports on all subjects by name, each list of them in a process of its own."""

    def reports(load: Load) -> dict[str, Report]:
        found = judge(Values(load), fresh=True, patience=patience)
        return dict(zip(load(), found, strict=True))

    with ThreadPoolExecutor(len(loads)) as threads:
        found = list(threads.map(reports, loads))
    return {name: report for part in found for name, report in part.items()}


def tally(report: Report) -> str:
    """The verdicts, counted as the official kit counts them."""
    found = Counter(map(_verdict, report.outcomes))
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


VERDICTS = ("passed", "failed", "undecided", "untested", "not claimed")


def _verdict(outcome: Outcome) -> str:
    if outcome.status is Status.NOT_CLAIMED:
        return "untested" if is_placeholder(outcome.check) else "not claimed"
    return "passed" if outcome.status is Status.VERIFIED else outcome.status.value
