"""Runs checks: under the schedule explorer, and where it cannot hold the subject, in real time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from penstock.core.timeline import Timeline
from penstock.runtime import collect_undelivered, shorten
from penstock.tck.check_environment import CheckEnvironment, ControlledEnvironment
from penstock.tck.checks.suites import Check
from penstock.tck.claims import NotClaimed
from penstock.tck.explorer import Environment, Exploration, Verdict, explore, replay
from penstock.tck.explorer.search import Schedule
from penstock.tck.explorer.tracing import imported, with_submodules
from penstock.tck.outcome import PREFLIGHT, Failure, Outcome, RuleStatus
from penstock.tck.preflight import Preflight, fly
from penstock.tck.real_environment import DisposableThread, Halted, Hung, RealEnvironment

__all__ = ["Experience", "Judge", "modules_of"]

EXPLORED_BUDGET = 0.4
BUDGET = 0.1
LONG_BUDGET = 2.0
FEW_SCHEDULES = 20
REPLAY_BUDGET = 5.0
REAL_LIMIT = 3.0
GRACE = 5.0
ANSWERS = 10
"""How many answers one check may wait for."""
ENOUGH_HANGS = 3
MAX_STEPS = 200_000
OURS = (
    "penstock.tck",
    "penstock.testing",
    "penstock.core.protocol_monitor",
    "penstock.core.timeline",
)
"""What the kit consists of. A thread that is switched off in it may hold a lock of the kit."""
OURS_IN_PART = ("penstock", "penstock.core")
DECIDED = (Verdict.VIOLATED, Verdict.HELD_EXHAUSTIVELY, Verdict.HELD_SO_FAR)


class JudgedFixture(Protocol):
    """What the judge needs of a fixture, which calls the subject on the threads of a check."""

    timeline: Timeline


@dataclass
class Experience:
    """What the checks so far have shown of a subject."""

    preflight: Preflight | None = None
    parties: set[type[Any]] = field(default_factory=set)
    """The classes of what the factory makes."""
    controlled: bool = True
    hangs: int = 0


@dataclass
class Judge:
    """Brings checks to their verdict, one after the other.

    ``new_fixture`` makes what a check works with, in an environment, for a rule. ``subject`` holds
    the modules in whose code threads may be switched. Once the explorer has lost control of the
    subject, the rest runs in real time.
    """

    new_fixture: Callable[[CheckEnvironment, str], JudgedFixture]
    subject: tuple[ModuleType, ...]
    claims: Any
    exercise: Callable[[CheckEnvironment], set[int]]
    experience: Experience = field(default_factory=Experience)

    def judge(self, checks: Iterable[Check]) -> tuple[Outcome, ...]:
        """The outcome of each check."""
        return self._after_preflight(checks, self.outcome)

    def replay(self, check: Check, schedule: str) -> tuple[Outcome, ...]:
        """The outcome of one check under exactly this schedule."""
        return self._after_preflight([check], lambda check: self._replayed(check, schedule))

    def _after_preflight(
        self, checks: Iterable[Check], outcome: Callable[[Check], Outcome]
    ) -> tuple[Outcome, ...]:
        with collect_undelivered():
            preflight = self.experience.preflight
            if preflight is None:
                preflight = fly(self.exercise, self._answers_within)
                self.experience.preflight = preflight
                self.experience.controlled = preflight.controllable and not self._answers_within
            if preflight.fault is not None:
                return _nothing_works(checks, preflight.fault)
            return tuple(outcome(check) for check in checks)

    def outcome(self, check: Check) -> Outcome:
        """Run one check, if it is about something that was claimed."""
        if check.needs is not None and not getattr(self.claims, check.needs):
            reason = f"needs the claim {check.needs}"
            return Outcome(check.name, check.rule, RuleStatus.NOT_CLAIMED, reason)
        if self.experience.hangs >= ENOUGH_HANGS:
            reason = "not run, since the subject hung in the checks before"
            return Outcome(check.name, check.rule, RuleStatus.UNDECIDED, reason)
        started = time.perf_counter()
        run = CheckRun(check, self.new_fixture, self._answers_within)
        explores = self.experience.controlled and not check.real_time
        finding = self._explored(check, run) if explores else None
        if finding is None:
            self.experience.controlled &= check.real_time
            finding = run.in_real_time(REAL_LIMIT)
        self.experience.hangs += finding.hung
        return finding.outcome(check, run, time.perf_counter() - started)

    @property
    def _answers_within(self) -> float:
        seconds: float = getattr(self.claims, "answers_within", 0.0)
        return seconds

    def _explored(self, check: Check, run: CheckRun) -> CheckObservation | None:
        """What the explorer finds; nothing when it cannot hold the subject."""
        exploration = self._explore(check, run, bound=2)
        if check.explored and _is_little(exploration):
            exploration = self._explore(check, run, bound=2, budget=LONG_BUDGET)
        if exploration.verdict is Verdict.NONDETERMINISTIC:
            # Schedules cannot be compared, but each one still counts.
            exploration = self._explore(check, run, bound=0)
        if _was_too_short(exploration):
            schedule = str(Schedule(exploration.level, ()))
            exploration = replay(run, schedule, self.subject, MAX_STEPS, REPLAY_BUDGET)
        if exploration.verdict is Verdict.HELD_SO_FAR and not run.finished:
            return run.in_real_time(REAL_LIMIT)  # it was cut off each time
        return _finding(check, exploration) if exploration.verdict in DECIDED else None

    def _replayed(self, check: Check, schedule: str) -> Outcome:
        if not self.experience.controlled:
            reason = "no schedule can be replayed: the subject's threads were there before"
            return Outcome(check.name, check.rule, RuleStatus.UNDECIDED, reason)
        started = time.perf_counter()
        run = CheckRun(check, self.new_fixture)
        exploration = replay(run, schedule, self.subject, MAX_STEPS, REPLAY_BUDGET)
        if exploration.verdict not in DECIDED:
            reason = f"this schedule cannot be replayed: {exploration.detail}"
            return Outcome(check.name, check.rule, RuleStatus.UNDECIDED, reason, schedules=1)
        seconds = time.perf_counter() - started
        return _finding(check, exploration).outcome(check, run, seconds)

    def _explore(
        self, check: Check, run: CheckRun, bound: int, budget: float | None = None
    ) -> Exploration:
        return explore(
            run,
            subject=self.subject,
            level="gil" if check.explored else "sync",
            bound=bound,
            seeds=range(50 if check.explored else 5),
            max_steps=MAX_STEPS,
            budget=budget or (EXPLORED_BUDGET if check.explored else BUDGET),
        )


@dataclass(frozen=True)
class CheckObservation:
    """What was found, and the fault with its rule if there is one."""

    detail: str
    fault: tuple[str, str] | None = None
    schedule: str | None = None
    trail: tuple[str, ...] = ()
    schedules: int = 0
    exhaustive: bool = False
    hung: bool = False

    def outcome(self, check: Check, run: CheckRun, seconds: float) -> Outcome:
        """The same, as an outcome of ``check``."""
        if run.not_claimed is not None and self.fault is None:
            status, detail = RuleStatus.NOT_CLAIMED, run.not_claimed
            return Outcome(check.name, check.rule, status, detail, seconds)
        status, detail, failure = RuleStatus.VERIFIED, self.detail, None
        if self.fault is not None:
            rule, message = self.fault
            own = rule == check.rule
            status = RuleStatus.FAILED if own else RuleStatus.UNDECIDED
            detail = self.detail if own else f"stopped, since this is broken: {rule}"
            failure = Failure(
                rule=rule,
                check=check.name,
                message=message,
                remedy=check.remedy if own else "",
                timeline=run.timeline,
                schedule=self.schedule,
                verifies=check.verifies if own else "",
                trail=self.trail,
            )
        return Outcome(
            check=check.name,
            rule=check.rule,
            status=status,
            detail=detail,
            seconds=seconds,
            failure=failure,
            schedules=self.schedules,
            exhaustive=self.exhaustive,
        )


def _is_little(exploration: Exploration) -> bool:
    """Whether this says less than it would on a machine with nothing else to do."""
    return exploration.verdict is Verdict.HELD_SO_FAR and exploration.schedules < FEW_SCHEDULES


def _was_too_short(exploration: Exploration) -> bool:
    """Whether perhaps not even one schedule came to its end, on a slow machine or a busy one."""
    return exploration.verdict is Verdict.UNCONTROLLED or (
        exploration.verdict is Verdict.HELD_SO_FAR and exploration.schedules < 2
    )


def _finding(check: Check, exploration: Exploration) -> CheckObservation:
    violation = exploration.violation
    return CheckObservation(
        detail=f"{exploration.verdict.value}, {exploration.schedules} schedules",
        fault=(violation.rule or check.rule, violation.message) if violation else None,
        schedule=violation.schedule if violation else None,
        trail=violation.trail if violation else (),
        schedules=exploration.schedules,
        exhaustive=exploration.verdict is Verdict.HELD_EXHAUSTIVELY,
    )


class CheckRun:
    """A check as a scenario of the explorer; remembers what the last run has to tell.

    The factory and the functions of the claims run on the thread of the check: one of the explorer,
    or in real time a disposable one.
    """

    def __init__(
        self,
        check: Check,
        new_fixture: Callable[[CheckEnvironment, str], JudgedFixture],
        answers_within: float = 0.0,
    ) -> None:
        self._check = check
        self._new_fixture = new_fixture
        self._answers_within = answers_within
        self._fixture: JudgedFixture | None = None
        self.not_claimed: str | None = None
        self.finished = False

    def __call__(self, environment: Environment) -> None:
        self._run_in(ControlledEnvironment(environment))

    def in_real_time(self, limit: float) -> CheckObservation:
        """Run once on real threads, and give up after ``limit`` seconds."""
        limit += ANSWERS * self._answers_within
        environment = RealEnvironment(limit, self._answers_within)
        raised: list[BaseException] = []

        def body() -> None:
            try:
                self._run_in(environment)
            except Halted:
                pass
            except BaseException as error:
                raised.append(error)

        thread = DisposableThread(body, name="check")
        with environment:
            thread.start()
            if not thread.returns_within(limit + GRACE):
                raised.append(Hung(thread.place))
        finding = self._real_finding(environment.verdict, raised)
        environment.given_up = thread.ident
        environment.end_threads()  # first, since the check may be waiting for them
        thread.end()
        return finding

    def _real_finding(
        self, verdict: tuple[str, str] | None, raised: list[BaseException]
    ) -> CheckObservation:
        if verdict is not None:
            return CheckObservation("in real time", verdict)
        if not raised:
            return CheckObservation("held in real time, once")
        error, rule = raised[0], self._check.rule
        if isinstance(error, Hung):
            return CheckObservation(
                "in real time", (rule, f"did not return from {error}"), hung=True
            )
        return CheckObservation("in real time", (rule, f"raised {shorten(error)}"))

    def _run_in(self, environment: CheckEnvironment) -> None:
        self._fixture = self._new_fixture(environment, self._check.rule)
        try:
            self._check.run(self._fixture)
        except NotClaimed as reason:
            self.not_claimed = str(reason)
        self.finished = True

    @property
    def timeline(self) -> tuple[str, ...]:
        """The signals of the last run."""
        return self._fixture.timeline.lines() if self._fixture is not None else ()


def _nothing_works(checks: Iterable[Check], fault: tuple[str, str]) -> tuple[Outcome, ...]:
    """One failure that says what is wrong, and no check that pretends to have run."""
    rule, message = fault
    verifies = "Uses what the factory makes for a moment, before all checks."
    failure = Failure(rule, PREFLIGHT, message, verifies=verifies)
    first = Outcome(PREFLIGHT, rule, RuleStatus.FAILED, failure=failure)
    rest = (Outcome(check.name, check.rule, RuleStatus.UNDECIDED, message) for check in checks)
    return first, *rest


def modules_of(*parties: object) -> tuple[ModuleType, ...]:
    """The modules of the subject: those of the packages that the parties come from."""
    names = {_top(getattr(party, "__module__", None) or "") for party in parties}
    names -= sys.stdlib_module_names  # a partial, say, comes from functools
    return tuple(
        module
        for package in filter(None, map(imported, sorted(names)))
        for module in with_submodules(package)
        if not _is_ours(module.__name__)
    )


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_ours(name: str) -> bool:
    """Whether a module belongs to the kit, or stands for a package with a part of the kit in it."""
    return name in OURS_IN_PART or name.startswith(OURS)
