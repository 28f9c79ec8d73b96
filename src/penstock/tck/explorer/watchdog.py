"""Runs one schedule within a budget, and ends its threads whatever they do.

The caller's thread waits here while the threads of the run pass the baton among themselves. It
sees when the holder of the baton makes no step any more, and it unwinds the threads that are left
when a run is over. A thread that cannot be ended is counted as leaked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from penstock.tck.explorer.budget import Budget
from penstock.tck.explorer.interrupts import interrupt
from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.task import (
    Abort,
    End,
    RunEnd,
    TracedThread,
    current_task,
    park,
)
from penstock.tck.explorer.trail import locate_thread

__all__ = ["execute"]

_SLICE = 0.05
"""Seconds between two samples of a run. Samples are counted, not seconds, so that a machine that
stands still for a while does not make a run look blocked."""
_BLOCKED_SAMPLES = 12
_BUSY_SAMPLES = 100
_LATE_SAMPLES = 4

# Taken before any exploration replaces it.
_process_time = time.process_time


class _Parking(Abort):
    """Sent into a thread that swallows everything: it parks the thread as soon as it is raised."""

    def __init__(self) -> None:
        task = current_task()
        if task is not None:
            park(task)


_FORCES = (Abort, Abort, Abort, _Parking)


def execute(run: ScheduledRun, body: Callable[[], object], budget: Budget) -> list[TracedThread]:
    """Run ``body`` as the scenario of ``run`` until its end; return the threads that leaked."""
    run.launch(run.spawn(body))
    try:
        _watch(run, budget)
    except BaseException:
        run.stop(RunEnd(End.INTERRUPTED))
        _end_threads(run)
        raise
    return _end_threads(run)


def _watch(run: ScheduledRun, budget: Budget) -> None:
    steps, silent, busy, used = -1, 0, 0, _process_time()
    while not run.over.acquire(timeout=_SLICE):
        late = budget.is_spent()
        before, used = used, _process_time()
        if run.steps != steps:
            steps, silent, busy = run.steps, 0, 0
            if late:
                run.stop(RunEnd(End.CUT))
        elif used - before > _SLICE / 10:
            busy += 1
        else:
            silent += 1
        if (
            silent > _BLOCKED_SAMPLES
            or busy > _BUSY_SAMPLES
            or (late and silent + busy > _LATE_SAMPLES)
        ):
            run.stop(RunEnd(End.UNCONTROLLED, _lost(run.current)))


def _lost(holder: TracedThread) -> str:
    return (
        f"{holder.name} makes no step at {locate_thread(holder.ident)}: it waits for something "
        "that the explorer does not own, or computes without end"
    )


def _end_threads(run: ScheduledRun) -> list[TracedThread]:
    leaked = []
    holder = _await_holder(run)
    for task in [holder, *(task for task in run.tasks if task is not holder)]:
        if task is not holder and task.launched:
            task.baton.release()
        if task.launched and not _ends(task):
            leaked.append(task)
    # The end of the others may have freed what a thread was blocked in.
    leaked = [task for task in leaked if task.parked or not task.ended.acquire(timeout=_SLICE)]
    for task in run.tasks:
        if task.worker is not None and task not in leaked:
            run.workers.take_back(task.worker, intact=not task.interrupted)
    return leaked


def _await_holder(run: ScheduledRun) -> TracedThread:
    """Return the task that holds the baton now that nobody passes it on any more."""
    holder = run.current
    while holder.launched and not holder.ended.acquire(timeout=_SLICE):
        if run.current is holder:
            return holder
        holder = run.current
    holder.ended.release()
    return holder


def _ends(task: TracedThread) -> bool:
    """Wait for the end of a thread that is being unwound, with growing force."""
    if task.ended.acquire(timeout=_SLICE):
        return not task.parked
    task.interrupted = True
    has_ended = partial(task.ended.acquire, timeout=_SLICE)
    return any(interrupt(task.ident, error, has_ended) for error in _FORCES) and not task.parked
