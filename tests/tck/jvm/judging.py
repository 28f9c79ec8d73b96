"""Lets the kits judge many subjects: the official one all at once, since it mostly waits."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields

from penstock.tck.jvm.official_kit import Subject, is_placeholder
from penstock.tck.jvm.runner import SILENCE, judge
from penstock.tck.outcome import Outcome, RuleStatus
from penstock.tck.report import Report
from penstock.tck.verifying import KINDS

LIMIT = 300.0
PATIENCE = 60.0
"""Seconds for a signal: all signals of what is sound come, and the machine may be busy."""

Load = Callable[[], dict[str, Subject]]


class Values:
    """Loads what is in a dictionary, in the process of the kit."""

    def __init__(self, load: Load) -> None:
        self._load = load

    def __call__(self) -> list[Subject]:
        return list(self._load().values())


def judge_all(
    *loads: Load, patience: float = PATIENCE, silence: float = SILENCE
) -> dict[str, Report]:
    """The reports on all subjects by name, each list of them in a process of its own."""

    def reports(load: Load) -> dict[str, Report]:
        found = judge(Values(load), fresh=True, limit=LIMIT, patience=patience, silence=silence)
        return dict(zip(load(), found, strict=True))

    with ThreadPoolExecutor(len(loads)) as threads:
        found = list(threads.map(reports, loads))
    return {name: report for part in found for name, report in part.items()}


def judge_all_by_the_own_kit(*loads: Load) -> dict[str, Report]:
    """The reports of the own kit on all subjects by name."""
    spawn = multiprocessing.get_context("spawn")
    # A process for each: what one leaves behind would disturb the rest that the kit waits for.
    with ProcessPoolExecutor(2, spawn, max_tasks_per_child=1) as processes:
        due = {
            name: processes.submit(_judge_by_the_own_kit, load, name)
            for load in loads
            for name in load()
        }
        return {name: report.result() for name, report in due.items()}


def _judge_by_the_own_kit(load: Load, name: str) -> Report:
    subject = load()[name]
    assert not subject.fault_of_factory()  # and a JVM that it needs starts before the clock does
    claims = {field.name: getattr(subject.claims, field.name) for field in fields(subject.claims)}
    return KINDS[subject.kind].verify(subject.factory, claims)


def tally(report: Report) -> str:
    """The verdicts, counted as the official kit counts them."""
    found = Counter(map(_verdict, report.outcomes))
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


VERDICTS = ("passed", "failed", "undecided", "untested", "not claimed")


def _verdict(outcome: Outcome) -> str:
    if outcome.status is RuleStatus.NOT_CLAIMED:
        return "untested" if is_placeholder(outcome.check) else "not claimed"
    return "passed" if outcome.status is RuleStatus.VERIFIED else outcome.status.value
