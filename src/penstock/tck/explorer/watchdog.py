"""Runs one schedule within a budget, and ends its threads whatever they do.

The caller's thread waits here while the threads of the run pass the baton among themselves. It
sees when the holder of the baton makes no step any more, and it unwinds the threads that are left
when a run is over. A thread that cannot be ended is counted as leaked.
"""

from __future__ import annotations

import ctypes
import time
from _thread import get_ident
from collections.abc import Callable
from functools import partial
from typing import Any, Final

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

__all__ = [
    "Budget",
    "execute",
    "interrupt",
]

WAITING: Final = 10.0
"""Seconds of the wall clock that count as one, for what waits instead of computing."""

# Taken before any exploration replaces them.
_monotonic = time.monotonic
_process_time = time.process_time

_SOME_INSTRUCTIONS = 1000

_set_exception: Any = ctypes.pythonapi.PyThreadState_SetAsyncExc


class Budget:
    """Seconds of work, as the process has computed them.

    So as many schedules are run on a busy machine as on an idle one, and the verdict is the same.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began, self._computed = _monotonic(), _process_time()

    @property
    def left(self) -> float:
        """How much of it there is."""
        computed = _process_time() - self._computed
        return self._seconds - max(computed, (_monotonic() - self._began) / WAITING)

    def is_spent(self, share: float = 1.0) -> bool:
        """Say whether more than ``share`` of it is used up."""
        return self.left < (1.0 - share) * self._seconds


class _Received(BaseException):
    """Sent by a thread to itself."""


def interrupt(
    ident: int,
    error: type[BaseException],
    has_ended: Callable[[], object],
    wake: Callable[[], object] | None = None,
) -> bool:
    """Raise ``error`` in a thread as soon as it executes Python code; say if that ended it.

    ``has_ended`` waits for a while; ``wake`` ends what the thread waits for. While an exception
    is on its way to some thread, CPython 3.11 checks for it whenever a traced function is entered,
    in any thread, and never gets on. So both must be functions of C, no Python function is called
    here until the exception is delivered or taken back, and the mark that it leaves is wiped
    out by receiving one.
    """
    target, me = ctypes.c_ulong(ident), ctypes.c_ulong(get_ident())
    try:
        _set_exception(target, ctypes.py_object(error))
        try:
            if wake is not None:
                wake()
        except RuntimeError:
            pass  # it was woken in the meantime
        if has_ended():
            return True
        _set_exception(target, ctypes.py_object())
        _set_exception(me, ctypes.py_object(_Received))
        for _ in range(_SOME_INSTRUCTIONS):
            pass
    except _Received:
        pass
    return False


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
