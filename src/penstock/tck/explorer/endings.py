"""How a run ends on its own: all threads wait, or they run on and on."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.tck.explorer.task import End, RunEnd, TracedThread
from penstock.tck.explorer.trail import who_is_where

__all__ = ["idle_outcome", "livelock"]


def idle_outcome(tasks: Sequence[TracedThread], timer_pending: bool) -> RunEnd:
    """Judge a run in which no thread can go on."""
    stuck = any(
        task.awaits is not None and task.awaits.exclusive for task in tasks if not task.finished
    )
    if tasks[0].finished and (timer_pending or not stuck):
        return RunEnd(End.FINISHED)
    return RunEnd(
        End.VIOLATED, f"deadlock: no thread can run, no timer is pending\n{who_is_where(tasks)}"
    )


def livelock(tasks: Sequence[TracedThread], max_steps: int) -> RunEnd:
    """Judge a run that took too many steps."""
    return RunEnd(
        End.VIOLATED,
        f"livelock: no end after {max_steps} steps (max_steps); virtual time stands still "
        f"while a thread can run\n{who_is_where(tasks)}",
    )
