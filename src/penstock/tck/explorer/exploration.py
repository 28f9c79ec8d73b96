"""`explore` and `replay`: run schedules until there is something to say, and say it in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType

from penstock.tck.explorer.search import (
    OTHER_WAY,
    DepthFirst,
    Guided,
    RandomWalk,
    Schedule,
    SchedulePlan,
)
from penstock.tck.explorer.session import Result, Scenario, Session, checked_options, open_session
from penstock.tck.explorer.task import End
from penstock.tck.explorer.tracing import Level
from penstock.tck.explorer.trail import TrailRecorder

__all__ = [
    "Exploration",
    "Verdict",
    "Violation",
    "explore",
    "replay",
]

_SEARCH_SHARE = 0.8
"""The part of the budget after which the random walks get their turn."""
_RECORDINGS = 3


def explore(
    scenario: Scenario,
    subject: ModuleType | Iterable[ModuleType] = (),
    level: str | Level = Level.GIL,
    bound: int = 2,
    seeds: Iterable[int] = range(200),
    max_steps: int = 5000,
    budget: float = 5.0,
    race_timers: bool = False,
) -> Exploration:
    """Run ``scenario`` under one schedule after the other until one breaks it.

    ``scenario`` gets an `Environment`, builds a new subject and uses it from several threads.
    An exception in it or in any thread is a violation, and so are deadlock and livelock.
    ``subject`` names the modules whose code has switch points of its own, by default the module
    of the scenario. All schedules with up to ``bound`` preemptions come first, then one random
    schedule for each of ``seeds``. ``max_steps`` limits one schedule, ``budget`` all of them, in
    seconds that the process computes.

    Time is virtual: it jumps to the next deadline when all threads wait. A run ends when the
    scenario has returned and no thread can go on; threads that still wait then are ended.

    With ``race_timers`` the next deadline may also come while a thread can run, as if that thread
    were slow: a timeout races what it waits for. Each one counts like a preemption. There are many
    more schedules then, and calls that return at once may seem to take long. It does not happen
    while the scenario settles.
    """
    options = checked_options(
        scenario,
        subject=subject,
        level=level,
        bound=bound,
        seeds=seeds,
        max_steps=max_steps,
        budget=budget,
        race_timers=race_timers,
    )
    with open_session(scenario, options) as session:
        return _Search(session).judge()


def replay(
    scenario: Scenario,
    schedule: str,
    subject: ModuleType | Iterable[ModuleType] = (),
    max_steps: int = 5000,
    budget: float = 5.0,
) -> Exploration:
    """Run ``scenario`` under exactly the schedule that a violation reported."""
    parsed = Schedule.parse(schedule)
    options = checked_options(
        scenario,
        subject=subject,
        level=parsed.level,
        bound=len(parsed.deviations),
        seeds=(),
        max_steps=max_steps,
        budget=budget,
        race_timers=parsed.race_timers,
    )
    with open_session(scenario, options) as session:
        return _Search(session).judge_one(SchedulePlan(parsed.deviations))


class _Search:
    """One exploration: each step returns the result if the step was decisive, else None."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._depth_first = DepthFirst(session.options.bound)
        self._exhausted = False
        self._tried = 0

    def judge(self) -> Exploration:
        seeds = self._session.options.seeds
        return (
            self._warm_up()
            or self._search(share=_SEARCH_SHARE if seeds else 1.0)
            or self._walk_at_random()
            or self._search(share=1.0)
            or self._report(Verdict.HELD_EXHAUSTIVELY if self._exhausted else Verdict.HELD_SO_FAR)
        )

    def judge_one(self, plan: SchedulePlan) -> Exploration:
        return self._warm_up() or self._try(plan) or self._report(Verdict.HELD_SO_FAR)

    def _warm_up(self) -> Exploration | None:
        """Run the default schedule, first to fill caches and then to see that it repeats."""
        trails = []
        for _ in range(3):
            result = self._session.warm_up(Guided(SchedulePlan()))
            if result.outcome.end not in (End.FINISHED, End.VIOLATED) or result.leaked:
                return self._decide(result)
            trails.append(result.run.signature())
        if trails[1] == trails[2]:
            return None
        return self._report(Verdict.NONDETERMINISTIC, detail=OTHER_WAY)

    def _search(self, share: float) -> Exploration | None:
        while not self._exhausted and not self._session.budget.is_spent(share):
            plan = self._depth_first.next()
            if plan is None:
                self._exhausted = True
                continue
            self._tried += 1
            if (decisive := self._try(plan, learn=True)) is not None:
                return decisive
        return None

    def _walk_at_random(self) -> Exploration | None:
        if self._exhausted and self._tried == 1 and self._session.options.bound > 0:
            return None  # there was nothing to decide: one thread, one schedule
        for seed in self._session.options.seeds:
            if self._session.budget.is_spent():
                break
            decisive = self._decide(self._session.run(RandomWalk(seed)))
            if decisive is not None:
                return decisive
        return None

    def _try(self, plan: SchedulePlan, learn: bool = False) -> Exploration | None:
        strategy = Guided(plan)
        result = self._session.run(strategy)
        judged = result.outcome.end in (End.FINISHED, End.VIOLATED)
        if judged and not strategy.was_followed(result.run):
            detail = f"a run ended before the decisions of its schedule: {OTHER_WAY}"
            return self._report(Verdict.NONDETERMINISTIC, detail=detail)
        if learn:
            self._depth_first.learn(plan, strategy.decisions)
        return self._decide(result)

    def _decide(self, result: Result) -> Exploration | None:
        outcome = result.outcome
        if outcome.end is End.VIOLATED:
            return self._confirm(result)
        if outcome.end is End.MISFIT:
            return self._report(Verdict.NONDETERMINISTIC, result.leaked, outcome.message)
        if outcome.end is End.UNCONTROLLED:
            return self._report(Verdict.UNCONTROLLED, result.leaked, outcome.message)
        if result.leaked:
            return self._report(
                Verdict.LEAKED, result.leaked, "a thread kept going when its run was over"
            )
        return None

    def _confirm(self, found: Result) -> Exploration:
        """Run the schedule of a violation again: to see that it repeats, and for its trail."""
        deviations = tuple(found.run.deviations)
        message = found.outcome.message
        leaked = found.leaked
        # A busy machine can make a thread wait in real time by accident, but hardly every time.
        for _ in range(_RECORDINGS):
            recorder = TrailRecorder()
            again = self._session.record(Guided(SchedulePlan(deviations)), recorder)
            leaked += again.leaked
            if again.outcome.end is not End.CUT and not _is_same(found, again):
                detail = f"a violation did not repeat under its own schedule: {message}"
                return self._report(Verdict.NONDETERMINISTIC, leaked, detail)
            if not recorder.real_wait:
                options = self._session.options
                schedule = str(Schedule(options.level, deviations, options.race_timers))
                violation = Violation(message, found.outcome.rule, schedule, recorder.lines())
                return self._report(Verdict.VIOLATED, leaked, violation=violation)
        detail = f"{recorder.real_wait}: what followed proves nothing ({message})"
        return self._report(Verdict.UNCONTROLLED, leaked, detail)

    def _report(
        self,
        verdict: Verdict,
        leaked: int = 0,
        detail: str = "",
        violation: Violation | None = None,
    ) -> Exploration:
        return Exploration(
            verdict=verdict,
            schedules=self._session.schedules,
            level=self._session.options.level,
            bound=self._session.options.bound,
            violation=violation,
            detail=detail,
            leaked=leaked,
        )


def _is_same(found: Result, again: Result) -> bool:
    same_way = again.run.signature() == found.run.signature()
    return same_way and again.outcome.end is found.outcome.end


class Verdict(Enum):
    """What can be said after an exploration."""

    VIOLATED = "violated"
    """A schedule breaks the scenario; the violation holds it."""
    HELD_EXHAUSTIVELY = "held exhaustively"
    """No schedule within the bound breaks it, and all of them were run.

    That speaks of this scenario, level, bound and version of Python; it is no proof for others."""
    HELD_SO_FAR = "held so far"
    """No schedule that was run breaks it, but not all of them were run."""
    NONDETERMINISTIC = "nondeterministic"
    """The same schedule took different ways, so nothing can be said."""
    UNCONTROLLED = "uncontrolled"
    """A thread blocked in something that the explorer does not own; nothing can be said."""
    LEAKED = "leaked"
    """A thread could not be ended; the exploration stopped there."""


@dataclass(frozen=True)
class Violation:
    """A broken scenario: what happened, the schedule that replays it, and the way to it."""

    message: str
    rule: str | None
    schedule: str
    trail: tuple[str, ...]

    def __str__(self) -> str:
        rule = f"rule {self.rule}: " if self.rule else ""
        lines = [f"{rule}{self.message}", f"schedule: {self.schedule}"]
        if self.trail:
            lines += ["trail:", *self.trail]
        return "\n".join(lines)


@dataclass(frozen=True)
class Exploration:
    """The result of `explore` or `replay`."""

    verdict: Verdict
    schedules: int
    level: Level
    bound: int
    violation: Violation | None = None
    detail: str = ""
    leaked: int = 0

    def explain(self) -> str:
        """Say in words what was found and what that means."""
        lines = [f"{self.verdict.value}: {self._meaning()}"]
        if self.violation is not None:
            lines.append(str(self.violation))
        if self.detail:
            lines.append(self.detail)
        if self.leaked:
            lines.append(f"{self.leaked} thread(s) could not be ended and stay parked")
        return "\n".join(lines)

    def _meaning(self) -> str:
        runs = f"{self.schedules} schedule(s) at level {self.level.value}"
        match self.verdict:
            case Verdict.VIOLATED:
                return f"found after {runs}"
            case Verdict.HELD_EXHAUSTIVELY:
                return f"{runs}, all with up to {self.bound} preemption(s) among them"
            case Verdict.HELD_SO_FAR:
                return f"{runs}; there are more"
            case _:
                return f"no judgement, after {runs}"
