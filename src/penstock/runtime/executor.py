"""What executors, clocks and locks are, so that a test can bring its own; and `CallingThread`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol, TypeAlias, runtime_checkable

from penstock.runtime.undelivered import report_undelivered

__all__ = [
    "CallingThread",
    "Clock",
    "Executor",
    "Lock",
    "NewLock",
    "ReentrantLock",
    "Task",
    "Timer",
    "WallClock",
    "run_reporting",
    "run_reporting_all",
    "unix_time_of",
]

Task: TypeAlias = Callable[[], object]
"""Something to run: no arguments, and what it returns is ignored."""


@runtime_checkable
class Executor(Protocol):
    """Runs tasks, somewhere and soon. Tasks may run at the same time as each other."""

    def execute(self, task: Task) -> None:
        """Take ``task`` and return. Raises ``RuntimeError`` when it takes no more tasks."""


@runtime_checkable
class Timer(Protocol):
    """A task that waits for its time."""

    def cancel(self) -> None:
        """Do not run the task. Too late is no error."""


@runtime_checkable
class Clock(Protocol):
    """Tells the time and wakes tasks, so that a test can replace both."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def call_later(self, seconds: float, task: Task) -> Timer:
        """Run ``task`` once ``seconds`` have passed; below zero counts as zero."""


@runtime_checkable
class WallClock(Clock, Protocol):
    """A clock that also knows the time of day, as one of real time does."""

    def unix_time(self) -> float:
        """Seconds since 1970; goes back if somebody sets the time back."""


def unix_time_of(clock: Clock) -> Callable[[], float]:
    """What reads the time of day by ``clock``; one that knows none says its own time instead."""
    return clock.unix_time if isinstance(clock, WallClock) else clock.now


class Lock(Protocol):
    """What we use of ``threading.RLock``: it is entered, left, and never held across a call out.

    The same thread must be able to enter it twice: a signal handler, or a ``__del__``, may cancel a
    stream at a moment when the thread that it interrupts is about to do the same.
    """

    def __enter__(self) -> bool:
        """Wait until nobody holds the lock, then hold it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lock."""


NewLock: TypeAlias = Callable[[], Lock]
"""Makes a lock; ``ReentrantLock`` unless a test brings its own."""

ReentrantLock: Final[NewLock] = type(threading.RLock())
"""The class of these locks; ``threading.RLock`` is a function around it, and each costs a call."""


class CallingThread:
    """A trampoline: tasks run on the thread that hands them in, one after the other.

    A task handed in by a running task waits until that one has returned, so that the stack
    does not grow. Each thread has a line of its own.
    """

    def __init__(self) -> None:
        self._line = _Line()

    def execute(self, task: Task) -> None:
        """Run ``task`` before returning, or, within a task, after that one."""
        line = self._line
        line.tasks.append(task)
        if line.moving:
            return
        line.moving = True
        try:
            while line.tasks:
                run_reporting(line.tasks.popleft())
        finally:
            # After a KeyboardInterrupt the rest stays in line for the next call.
            line.moving = False


class _Line(threading.local):
    """The tasks that wait on one thread."""

    def __init__(self) -> None:
        self.tasks: deque[Task] = deque()
        self.moving = False


def run_reporting(task: Task) -> None:
    """Run a task that has no caller to raise to: an ``Exception`` goes to the hook."""
    try:
        task()
    except Exception as error:
        report_undelivered(error, "a task on an executor raised")


def run_reporting_all(task: Task) -> None:
    """The same on a thread of ours, where even ``SystemExit`` has nobody to go to."""
    try:
        task()
    except BaseException as error:
        report_undelivered(error, "a task on a thread of its own raised")
