"""The process in which a JVM runs and the official kit judges subjects, one after the other.

It tells the process that started it of each step by a message, so that one knows where it was if
it comes to no end. This module loads nothing of the JVM before it runs.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias

from penstock.runtime import collect_undelivered
from penstock.tck.jvm.official_kit import VERSION, Subject, is_placeholder, lacking, rule_of
from penstock.tck.outcome import FACTORY, PREFLIGHT, Failure, Outcome, RuleStatus

__all__ = [
    "AllFinished",
    "Began",
    "Ended",
    "Finished",
    "Message",
    "Refused",
    "Started",
    "WorkerTask",
]

_JVM_OPTIONS: Final = (
    "-Xrs",  # signals are for Python
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # it does not run for long
)
_TRACE_LINES: Final = 12


@dataclass(frozen=True)
class Refused:
    """There is nothing to judge; the text says why."""

    reason: str


@dataclass(frozen=True)
class Began:
    """The judgement of the next subject begins, by these tests."""

    kind: str
    name: str
    tests: tuple[str, ...]
    asked: bool
    """Whether these are all that was asked for, and not all that there are."""


@dataclass(frozen=True)
class Started:
    """A test runs."""

    test: str


@dataclass(frozen=True)
class Ended:
    """A test has ended, or there is nothing to judge for it."""

    outcome: Outcome


@dataclass(frozen=True)
class Finished:
    """The current subject is judged."""

    seconds: float


@dataclass(frozen=True)
class AllFinished:
    """All subjects are judged."""


Message: TypeAlias = Refused | Began | Started | Ended | Finished | AllFinished


@dataclass(frozen=True)
class WorkerTask:
    """What the process has to do."""

    load: Callable[[], Sequence[Subject]]
    first: int
    """How many of the subjects are judged already."""
    java_home: Path
    classpath: Sequence[Path]
    patience: float
    silence: float

    def run(self, connection: Connection, log: str) -> None:
        """The whole life of the process. What is printed goes to the file ``log``."""
        with Path(log).open("ab", buffering=0) as paper:
            os.dup2(paper.fileno(), 1)
            os.dup2(paper.fileno(), 2)
        try:
            self._judge_all(connection.send)
            connection.send(AllFinished())
        except ValueError as error:
            connection.send(Refused(str(error)))
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            # Neither threads of the subjects nor those of Java are waited for.
            os._exit(0)

    def _judge_all(self, tell: Callable[[Message], None]) -> None:
        subjects = self.load()[self.first :]
        self._start_jvm()
        for subject in subjects:
            started = time.perf_counter()
            self._judge(subject, tell)
            tell(Finished(time.perf_counter() - started))

    def _start_jvm(self) -> None:
        import jpype
        import jpype.config

        os.environ["JAVA_HOME"] = str(self.java_home)  # where JPype looks first
        jpype.config.destroy_jvm = False  # threads that are left behind would keep it alive
        path = [str(part) for part in self.classpath]
        jpype.startJVM(*_JVM_OPTIONS, classpath=path, convertStrings=False)

    def _judge(self, subject: Subject, tell: Callable[[Message], None]) -> None:
        import jpype

        from penstock.tck.jvm.crossing import JUDGE

        java = jpype.JClass(JUDGE)
        judge = jpype.JClass(f"{JUDGE}${subject.judge}").class_
        tests = subject.select(map(str, java.testsOf(judge)))
        asked = subject.rules is not None or subject.tests is not None
        tell(Began(subject.kind, subject.name, tests, asked))
        if fault := subject.fault_of_factory():
            failure = Failure(FACTORY, PREFLIGHT, fault)
            tell(Ended(Outcome(PREFLIGHT, FACTORY, RuleStatus.FAILED, fault, failure=failure)))
            return
        for test in tests:
            if claim := lacking(test, subject.claims):
                tell(Ended(_not_claimed(test, f"the claim {claim} is not made")))
        due = [test for test in tests if not lacking(test, subject.claims)]
        if due:  # an empty list means all tests to TestNG
            self._run(subject, judge, due, tell)

    def _run(
        self, subject: Subject, judge: Any, tests: list[str], tell: Callable[[Message], None]
    ) -> None:
        import jpype

        from penstock.tck.jvm.answers import Answers
        from penstock.tck.jvm.crossing import JUDGE

        answers = Answers(subject)

        def started(test: Any) -> None:
            lost.clear()
            answers.errors.clear()
            tell(Started(str(test)))

        def ended(*how: Any) -> None:
            signalled = [f"on_error({error})" for error in answers.errors]
            tell(Ended(_outcome(subject, [*signalled, *map(str, lost)], *how)))

        with collect_undelivered() as lost:
            jpype.JClass(JUDGE).run(
                judge,
                jpype.java.util.ArrayList(tests),
                answers.to_java(),
                jpype.JProxy(f"{JUDGE}$Witness", dict={"started": started, "ended": ended}),
                round(self.patience * 1000),
                round(self.silence * 1000),
            )


def _outcome(
    subject: Subject,
    meanwhile: Sequence[str],
    test: Any,
    result: Any,
    fault: Any,
    milliseconds: int,
) -> Outcome:
    name, seconds = str(test), int(milliseconds) / 1000
    rule = rule_of(name)
    if str(result) == "passed":
        return Outcome(name, rule, RuleStatus.VERIFIED, seconds=seconds, schedules=0)
    message = str(fault.getMessage() or fault.toString()) if fault is not None else "no reason"
    if str(result) == "skipped":
        if is_placeholder(name):
            return _not_claimed(name, f"the official kit {VERSION} has no test for it")
        if subject.is_limited and message.startswith("Unable to run this test"):
            return _not_claimed(name, "needs more elements, or their end, than is claimed")
    failure = Failure(
        rule,
        name,
        " ".join(message.split()),
        timeline=(*_trace(fault), *(f"meanwhile: {each}" for each in meanwhile)),
        verifies=f"A test of the official kit {VERSION}.",
    )
    return Outcome(name, rule, RuleStatus.FAILED, message, seconds, failure, schedules=0)


def _not_claimed(test: str, reason: str) -> Outcome:
    return Outcome(test, rule_of(test), RuleStatus.NOT_CLAIMED, reason)


def _trace(fault: Any) -> Iterator[str]:
    """Where the kit was, and what it had run into."""
    while fault is not None:
        yield str(fault.toString()).partition("\n")[0]
        frames = [str(frame) for frame in fault.getStackTrace()]
        yield from (f"  at {frame}" for frame in frames[:_TRACE_LINES] if "tck" in frame)
        fault = fault.getCause()
