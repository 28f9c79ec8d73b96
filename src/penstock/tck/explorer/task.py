"""The threads of a run, what they can wait for and until when, and how a run can end."""

from __future__ import annotations

import _thread
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from penstock.tck.explorer.scheduler import ScheduledRun
    from penstock.tck.explorer.workers import Worker

__all__ = [
    "QUIESCENCE",
    "Abort",
    "Awaited",
    "Deadline",
    "End",
    "Group",
    "RunEnd",
    "RunnableTasks",
    "Timers",
    "TracedThread",
    "controlled_threads",
    "current_task",
    "park",
]


class Timers:
    """Blocked tasks that go on when their moment of virtual time has come."""

    def __init__(self) -> None:
        self._tasks: list[TracedThread] = []

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, task: TracedThread, deadline: float | None) -> None:
        """Let ``task`` wait until ``deadline``, or for ever."""
        task.deadline = deadline
        if deadline is not None:
            self._tasks.append(task)

    def stop(self, task: TracedThread) -> None:
        """Let ``task`` have no deadline any more."""
        if task.deadline is not None:
            self._tasks.remove(task)
            task.deadline = None

    def next_moment(self) -> float:
        """Return the earliest deadline; there must be one."""
        return min(task.deadline for task in self._tasks if task.deadline is not None)

    def due(self, moment: float) -> Sequence[TracedThread]:
        """Return the tasks whose deadline is not after ``moment``."""
        return [
            task for task in self._tasks if task.deadline is not None and task.deadline <= moment
        ]

    def next_numbers(self) -> tuple[int, ...]:
        """Return the numbers of the tasks that wait for the earliest deadline and cannot run."""
        waiting = [task for task in self._tasks if not task.runnable]
        if not waiting:
            return ()
        moment = self.next_moment()
        return tuple(sorted(task.number for task in waiting if task.deadline == moment))


_number_of = attrgetter("number")


class Abort(BaseException):
    """Unwinds the threads of a run that is over."""


class End(Enum):
    """Why a run ended."""

    FINISHED = "finished"
    VIOLATED = "violated"
    MISFIT = "misfit"
    UNCONTROLLED = "uncontrolled"
    CUT = "cut"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RunEnd:
    """How a run ended: why, what was seen, and which rule that breaks if the scenario said so."""

    end: End
    message: str = ""
    rule: str | None = None


class Awaited(Protocol):
    """What a thread can wait for."""

    @property
    def exclusive(self) -> bool:
        """Whether the wait can never end on its own once all threads are idle, as for a lock."""

    def describe(self) -> str:
        """Name it for a report."""


class TracedThread:
    """One thread of a run."""

    __slots__ = (
        "aborts",
        "awaits",
        "baton",
        "body",
        "collecting",
        "deadline",
        "ended",
        "finished",
        "group",
        "ident",
        "interrupted",
        "joiners",
        "launched",
        "name",
        "number",
        "parked",
        "queue",
        "run",
        "runnable",
        "streak",
        "timed_out",
        "worker",
    )

    exclusive = False

    def __init__(
        self, run: ScheduledRun, number: int, name: str, body: Callable[[], object]
    ) -> None:
        self.run = run
        self.number = number
        self.name = name
        self.body = body
        self.baton = _locked()
        self.ended = _locked()
        self.ident = 0
        self.worker: Worker | None = None
        self.launched = self.finished = self.parked = self.interrupted = False
        self.runnable = False
        self.awaits: Awaited | None = None
        self.queue: list[TracedThread] = []
        self.deadline: float | None = None
        self.timed_out = False
        self.joiners: list[TracedThread] = []
        self.group: Group | None = None
        self.streak = self.aborts = 0
        self.collecting = False
        """Whether the garbage collector runs in this thread, and calls finalizers."""

    def describe(self) -> str:
        return f"the end of {self.name}"


class RunnableTasks:
    """The tasks that can go on, in the order of their numbers."""

    def __init__(self) -> None:
        self.numbers: tuple[int, ...] = ()
        self._tasks: list[TracedThread] = []

    def add(self, task: TracedThread) -> None:
        if not task.runnable:
            task.runnable = True
            insort(self._tasks, task, key=_number_of)
            self.numbers = tuple(map(_number_of, self._tasks))

    def discard(self, task: TracedThread) -> None:
        if task.runnable:
            task.runnable = False
            self._tasks.remove(task)
            self.numbers = tuple(map(_number_of, self._tasks))

    def first(self) -> TracedThread:
        return self._tasks[0]

    def after(self, task: TracedThread) -> TracedThread:
        """Return the one whose turn comes after ``task``, round and round."""
        return next((other for other in self._tasks if other.number > task.number), self.first())


class Group:
    """Several threads whose end one thread awaits."""

    exclusive = False

    def __init__(self, tasks: Sequence[TracedThread]) -> None:
        self.tasks = tasks
        self.unfinished = len(tasks)
        self.waiting: list[TracedThread] = []
        for task in tasks:
            task.group = self

    def describe(self) -> str:
        return "the end of " + ", ".join(task.name for task in self.tasks if not task.finished)


class Deadline:
    """A moment of virtual time that a thread sleeps towards."""

    exclusive = False

    def __init__(self, moment: float) -> None:
        self.moment = moment

    def describe(self) -> str:
        return f"the virtual time {self.moment:g}"


class _Quiescence:
    exclusive = False

    def describe(self) -> str:
        return "quiescence"


QUIESCENCE = _Quiescence()

controlled_threads: dict[int, TracedThread] = {}
"""The tasks of all live runs by the identity of their thread."""


def current_task() -> TracedThread | None:
    """Return the task of the calling thread, or None if no run controls this thread."""
    return controlled_threads.get(_thread.get_ident())


def park(task: TracedThread) -> NoReturn:
    """Hold the calling thread for ever: it cannot be ended, but must not go on."""
    task.parked = True
    task.ended.release()
    while True:
        _locked().acquire()


def _locked() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
