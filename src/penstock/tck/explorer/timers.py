"""The threads of a run that wait with a deadline."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.tck.explorer.task import TracedThread

__all__ = ["Timers"]


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
