"""The official kit from code: judges subjects in a process of its own, and writes the reports."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from multiprocessing.connection import Connection, Pipe
from multiprocessing.context import ForkProcess, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

from penstock.java import Java, JavaUnavailable, classes, find_java
from penstock.tck.jvm.official_kit import KIT, Subject, rule_of, subject_of
from penstock.tck.jvm.worker import (
    AllFinished,
    Began,
    Ended,
    Finished,
    Message,
    Refused,
    Started,
    WorkerTask,
)
from penstock.tck.outcome import FACTORY, PREFLIGHT, Failure, Outcome, RuleStatus
from penstock.tck.report import Report

__all__ = [
    "SILENCE",
    "judge",
    "prepare",
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
    "verify_subscriber_whitebox",
]

SOURCE: Final = Path(__file__).with_name("OutsideJudge.java")
LIMIT: Final = 60.0
"""Seconds for one test of the kit."""
STARTING: Final = 300.0
"""Seconds for the start of the JVM, or more if a test may take more."""
PATIENCE: Final = 2.0
"""Seconds for a signal that has to come; more cost nothing as long as all signals come."""
SILENCE: Final = 0.1
"""Seconds after which a signal that must not come has not come."""


def verify_publisher(
    factory: Callable[[int], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit judge publishers: ``factory(n)`` returns one of ``n`` elements.

    Of the claims of ``PublisherClaims`` it uses ``failed``, which here has to fail without
    being asked for elements, ``multicast``, ``explains_illegal_requests``, ``max_elements`` and
    ``completes``. Each test of the kit may take ``limit`` seconds.
    """
    return _verify(subject_of("publisher", factory, claims, rules=rules), limit)


def verify_subscriber(
    factory: Callable[[], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit judge subscribers by what a publisher sees of them.

    Of the claims of ``SubscriberClaims`` it uses ``element`` and ``puppet``.
    """
    return _verify(subject_of("subscriber", factory, claims, rules=rules), limit)


def verify_subscriber_whitebox(
    factory: Callable[[], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit steer and inspect subscribers.

    That takes the claims ``puppet``, ``received``, ``completed`` and ``failed``.
    """
    return _verify(subject_of("subscriber", factory, claims, whitebox=True, rules=rules), limit)


def verify_processor(
    factory: Callable[[], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit judge processors, which pass on each element that they get.

    Of the claims of ``ProcessorClaims`` it uses those that it uses for publishers, and ``element``.
    Without ``failed``, the source upstream of a processor is made to fail.
    """
    return _verify(subject_of("processor", factory, claims, rules=rules), limit)


def _verify(subject: Subject, limit: float) -> Report:
    patience = max(PATIENCE, getattr(subject.claims, "answers_within", 0.0))
    (report,) = judge(lambda: [subject], limit=limit, patience=patience)
    return report


def judge(
    load: Callable[[], Sequence[Subject]],
    *,
    fresh: bool = False,
    limit: float = LIMIT,
    patience: float = PATIENCE,
    silence: float = SILENCE,
    command: str = "",
) -> tuple[Report, ...]:
    """Judge the subjects that ``load`` returns, and write a report on each.

    ``load`` is called in the other process. That is a fresh Python if ``fresh``, for which ``load``
    must be something that can be pickled; otherwise it is a copy of this one, without its threads.
    Other subjects are not judged again if one of them does not come to its end.
    """
    java, classpath = prepare(fresh=fresh)
    reports: list[Report] = []
    while True:
        task = WorkerTask(load, len(reports), java.home, classpath, patience, silence)
        session = _Session(limit, command)
        with tempfile.NamedTemporaryFile() as log:
            complete = session.run(task, fresh, log.name)
        reports += session.reports
        if complete:
            return tuple(reports)


def prepare(*, fresh: bool = False) -> tuple[Java, list[Path]]:
    """See to it that the kit can run: the Java for it, and where that finds the classes."""
    _require_a_jvm_can_run(fresh)
    java = find_java("the official kit")
    libraries = KIT.jars(java)
    return java, [classes(java, "outside-judge", [SOURCE], libraries), *libraries]


def _require_a_jvm_can_run(fresh: bool) -> None:
    if find_spec("jpype") is None:
        raise JavaUnavailable("the official kit needs JPype: pip install 'penstock[jvm]'")
    if not hasattr(os, "fork"):
        raise JavaUnavailable("the official kit runs on Linux, on macOS and in WSL: use one")
    if not fresh and _runs_a_jvm():
        raise JavaUnavailable(
            "this process runs a JVM already, so no copy of it can run another one: call the "
            "official kit before the JVM starts, or from the command line"
        )


def _runs_a_jvm() -> bool:
    import jpype  # the copy of this process needs it as well

    return bool(jpype.isJVMStarted())


def _start_fresh(target: Callable[..., None], arguments: tuple[object, ...]) -> BaseProcess:
    process = SpawnProcess(target=target, args=arguments)
    process.start()
    return process


def _start_copy(target: Callable[..., None], arguments: tuple[object, ...]) -> BaseProcess:
    process = ForkProcess(target=target, args=arguments)
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold; the copy uses those of the pipe only.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


class _Session:
    """One process, from its start to its end, and the reports that it has led to."""

    def __init__(self, limit: float, command: str) -> None:
        self.reports: list[Report] = []
        self._limit = limit
        self._command = command
        self._current: Began | None = None
        self._running = ""
        self._outcomes: list[Outcome] = []

    def run(self, task: WorkerTask, fresh: bool, log: str) -> bool:
        """Run the process and read its messages; whether it came to its end."""
        here, there = Pipe(duplex=False)
        start = _start_fresh if fresh else _start_copy
        process = start(task.run, (there, log))
        there.close()
        try:
            with here:
                return self._listen(here, Path(log))
        finally:
            process.kill()
            process.join()
            process.close()

    def _listen(self, here: Connection, log: Path) -> bool:
        while here.poll(self._seconds_for_news):
            try:
                message: Message = here.recv()
            except EOFError:
                lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
                last = next(filter(None, reversed(lines)), "without a word")
                self._break_off(f"ended its process: {last}")
                return False
            if isinstance(message, AllFinished):
                return True
            self._note(message)
        self._break_off(f"did not end within {self._seconds_for_news:g} s")
        return False

    @property
    def _seconds_for_news(self) -> float:
        return self._limit if self._current is not None else max(self._limit, STARTING)

    def _note(self, message: Message) -> None:
        match message:
            case Refused(reason):
                raise ValueError(reason)
            case Began():
                self._current, self._running, self._outcomes = message, "", []
            case Started(test):
                self._running = test
            case Ended(outcome):
                self._running = ""
                self._outcomes.append(outcome)
            case Finished(seconds):
                self._report(seconds)

    def _break_off(self, fault: str) -> None:
        """What ran has failed, and what was to follow it is undecided."""
        if self._current is None:
            raise JavaUnavailable(f"the process of the official kit {fault}")
        if self._running:
            name, number = self._running, rule_of(self._running)
        else:
            name, number = PREFLIGHT, FACTORY
        failure = Failure(number, name, f"{name} {fault}")
        self._outcomes.append(
            Outcome(name, number, RuleStatus.FAILED, failure.message, failure=failure)
        )
        known = {outcome.check for outcome in self._outcomes}
        self._outcomes += [
            Outcome(test, rule_of(test), RuleStatus.UNDECIDED, f"not run, since {failure.message}")
            for test in self._current.tests
            if test not in known
        ]
        self._report(self._limit)

    def _report(self, seconds: float) -> None:
        assert self._current is not None
        about = tuple(dict.fromkeys(rule_of(test) for test in self._current.tests))
        self.reports.append(
            Report(
                self._current.kind,
                self._current.name,
                tuple(sorted(self._outcomes, key=lambda outcome: outcome.check)),
                seconds,
                about if self._current.asked else None,
                self._command,
            )
        )
        self._current = None
