"""Which schedules to run, and schedules as text, such as ``v1:py3.11:gil:12>2,15>1``.

The level is followed by ``+timers`` if a deadline may come while a thread can run.

A schedule is given by its deviations from the default: stay with the running thread, and when it
cannot go on, take the lowest number. Every run shows the decisions that it met; each other answer
to one of them, after the last deviation, is a new schedule. Answers that preempt a thread which
could go on are put off to the next bound, so all schedules with one preemption come before any
with two, and none comes twice.
"""

from __future__ import annotations

import random
import re
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.tracing import Level

__all__ = [
    "OTHER_WAY",
    "DepthFirst",
    "Guided",
    "RandomWalk",
    "Schedule",
    "SchedulePlan",
    "Strategy",
]

_FORMAT = "v1"
_EXAMPLE = "v1:py3.11:gil:12>2,15>1"
_DEVIATION = re.compile(r"(\d+)>(\d+)", re.ASCII)
_NONE = "-"
_TIMERS = "+timers"


@dataclass(frozen=True)
class Schedule:
    """Where a run left the default, which is: stay, and when that is impossible, the lowest."""

    level: Level
    deviations: tuple[tuple[int, int], ...]
    race_timers: bool = False

    def __str__(self) -> str:
        steps = ",".join(f"{decision}>{thread}" for decision, thread in self.deviations)
        timers = _TIMERS if self.race_timers else ""
        return f"{_FORMAT}:{_this_python()}:{self.level.value}{timers}:{steps or _NONE}"

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule; raises `ValueError` that names what is wrong and what is allowed."""
        if not isinstance(text, str):
            raise TypeError(f"a schedule is a text like {_EXAMPLE!r}, not {text!r}")
        parts = text.strip().split(":")
        if len(parts) != 4:
            raise ValueError(f"schedule {text!r} does not have four parts as {_EXAMPLE!r} has")
        version, python, level, steps = parts
        if version != _FORMAT:
            raise ValueError(f"schedule {text!r} has format {version!r}; known is {_FORMAT!r}")
        if python != _this_python():
            raise ValueError(
                f"schedule {text!r} was recorded on {python!r} and fits only there; "
                f"this is {_this_python()!r}"
            )
        race_timers = level.endswith(_TIMERS)
        level = level.removesuffix(_TIMERS)
        levels = [known.value for known in Level]
        if level not in levels:
            raise ValueError(f"schedule {text!r} has level {level!r}; allowed are {levels}")
        return cls(Level(level), _parse_deviations(text, steps), race_timers)


def _parse_deviations(text: str, steps: str) -> tuple[tuple[int, int], ...]:
    if steps == _NONE:
        return ()
    deviations: list[tuple[int, int]] = []
    for step in steps.split(","):
        match = _DEVIATION.fullmatch(step)
        if match is None:
            raise ValueError(
                f"schedule {text!r} holds {step!r}; a step is 'decision>thread' like '12>2'"
            )
        decision, thread = int(match[1]), int(match[2])
        if deviations and decision <= deviations[-1][0]:
            raise ValueError(f"schedule {text!r} has decision {decision} out of order")
        deviations.append((decision, thread))
    return tuple(deviations)


def _this_python() -> str:
    return f"py{sys.version_info.major}.{sys.version_info.minor}"


Deviations = tuple[tuple[int, int], ...]
"""Pairs of a decision's index and the number of the thread that went on."""

_PREEMPTION_CHANCE = 0.2

OTHER_WAY = (
    "the same schedule took another way: the subject depends on more than the order of its "
    "threads, such as chance, addresses, real time, or state that earlier runs left"
)


class Strategy(Protocol):
    """Answers every question of a run: which thread goes on?"""

    def choose(self, run: ScheduledRun, default: int, preempts: bool) -> int:
        """Return the number of the next task, of ``run.runnable.numbers`` or ``run.racing``.

        ``preempts`` says that any other answer than ``default`` interrupts a thread that could go
        on. Raises `LookupError` where a prescribed answer does not fit the run.
        """


@dataclass(frozen=True)
class SchedulePlan:
    """The deviations of a schedule, and the trail that must lead to the last of them."""

    deviations: Deviations = ()
    fingerprint: int | None = None


class Decisions:
    """The questions that a run met after its last deviation, in little memory."""

    def __init__(self, begin: int) -> None:
        self._begin = begin
        self._defaults = array("i")
        self._preempts = bytearray()
        self._fingerprints = array("q")
        self._numbers: list[tuple[int, ...]] = []
        self._racing: dict[int, tuple[int, ...]] = {}

    def add(self, run: ScheduledRun, default: int, preempts: bool) -> None:
        self._defaults.append(default)
        self._preempts.append(preempts)
        self._fingerprints.append(run.fingerprint)
        if run.racing:
            self._racing[len(self._numbers)] = run.racing
        self._numbers.append(run.runnable.numbers)

    def other_answers(self, deviations: Deviations, preempting: bool) -> Iterator[SchedulePlan]:
        """Yield the schedules that go another way once, after ``deviations``."""
        for offset in range(len(self._numbers)):
            for number in self._answers(offset, preempting):
                deviation = self._begin + offset, number
                yield SchedulePlan((*deviations, deviation), self._fingerprints[offset])

    def _answers(self, offset: int, preempting: bool) -> Iterator[int]:
        if bool(self._preempts[offset]) is preempting:
            for number in self._numbers[offset]:
                if number != self._defaults[offset]:
                    yield number
        if preempting:
            # A deadline that comes early costs as much as a preemption, wherever it is.
            yield from self._racing.get(offset, ())


class Guided:
    """Follows a plan and then the default; remembers the decisions after the last deviation."""

    def __init__(self, plan: SchedulePlan) -> None:
        self._plan = plan
        self._answers = dict(plan.deviations)
        self._last = plan.deviations[-1][0] if plan.deviations else -1
        self.decisions = Decisions(self._last + 1)

    def choose(self, run: ScheduledRun, default: int, preempts: bool) -> int:
        index = run.decisions
        if index > self._last:
            self.decisions.add(run, default, preempts)
            return default
        if index == self._last and self._plan.fingerprint not in (None, run.fingerprint):
            raise LookupError(OTHER_WAY)
        answer = self._answers.get(index, default)
        if answer not in run.runnable.numbers and answer not in run.racing:
            able = [*run.runnable.numbers, *run.racing]
            raise LookupError(f"decision {index} cannot go to thread {answer}: only {able} can run")
        return answer

    def was_followed(self, run: ScheduledRun) -> bool:
        """Say whether ``run`` came as far as the last deviation."""
        return run.decisions > self._last


class RandomWalk:
    """Stays with the running thread most of the time, else takes any."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, run: ScheduledRun, default: int, preempts: bool) -> int:
        if preempts and self._random.random() >= _PREEMPTION_CHANCE:
            return default
        if run.racing and self._random.random() < _PREEMPTION_CHANCE:
            return self._random.choice(run.racing)
        return self._random.choice(run.runnable.numbers)


class DepthFirst:
    """Yields every schedule with up to ``bound`` preemptions, those with fewer first."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._preemptions = 0
        self._pending: list[list[Iterator[SchedulePlan]]] = [[] for _ in range(bound + 1)]
        self._root: SchedulePlan | None = SchedulePlan()

    def next(self) -> SchedulePlan | None:
        """Return a schedule that was not run yet, or None when there is none left."""
        if self._root is not None:
            root, self._root = self._root, None
            return root
        while self._preemptions <= self._bound:
            stack = self._pending[self._preemptions]
            while stack:
                plan = next(stack[-1], None)
                if plan is not None:
                    return plan
                stack.pop()
            self._preemptions += 1
        return None

    def learn(self, plan: SchedulePlan, decisions: Decisions) -> None:
        """Note the decisions that a run of ``plan`` met."""
        free = decisions.other_answers(plan.deviations, preempting=False)
        self._pending[self._preemptions].append(free)
        if self._preemptions < self._bound:
            preempting = decisions.other_answers(plan.deviations, preempting=True)
            self._pending[self._preemptions + 1].append(preempting)
