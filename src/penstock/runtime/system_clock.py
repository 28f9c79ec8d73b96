"""Real time, for programs that have no event loop."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from functools import partial

from penstock.runtime.arguments import require_delay
from penstock.runtime.executor import Executor, Task, Timer, run_reporting_all

__all__ = ["SystemClock"]


class SystemClock:
    """``time.monotonic`` and one background thread that lives only while a task waits.

    The tasks run on that thread, so they must be short; given an ``executor``, they run there.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        new_condition: Callable[[], threading.Condition] = threading.Condition,
    ) -> None:
        self._executor = executor
        self._changed = new_condition()
        self._waiting: list[_Appointment] = []
        self._order = itertools.count()
        self._watched = False

    def now(self) -> float:
        """The system's monotonic time."""
        return time.monotonic()

    def unix_time(self) -> float:
        """The system's time of day, in seconds since 1970."""
        return time.time()

    def call_later(self, seconds: float, task: Task) -> Timer:
        """Run ``task`` once ``seconds`` have passed."""
        when = self.now() + require_delay(seconds)
        appointment = _Appointment(when, next(self._order), task, self)
        with self._changed:
            heapq.heappush(self._waiting, appointment)
            if self._watched:
                self._changed.notify()
            else:
                self._watched = True
                self._start_watching(appointment)
        return appointment

    def _start_watching(self, first: _Appointment) -> None:
        try:
            threading.Thread(target=self._watch, name="penstock-clock", daemon=True).start()
        except RuntimeError:  # the system has no thread to give
            self._watched = False
            self._waiting.remove(first)
            raise

    def forget(self, appointment: _Appointment) -> None:
        """Take an appointment out, so that its thread need not wait for it."""
        with self._changed:
            if appointment in self._waiting:
                self._waiting.remove(appointment)
                heapq.heapify(self._waiting)
                self._changed.notify()

    def _watch(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Wait for the next task and run it; no when none is left."""
        task = self._next_due()
        if task is None:
            return False
        run_reporting_all(task if self._executor is None else partial(self._executor.execute, task))
        return True

    def _next_due(self) -> Task | None:
        with self._changed:
            while self._waiting:
                remaining = self._waiting[0].when - self.now()
                if remaining <= 0:
                    return heapq.heappop(self._waiting).task
                self._changed.wait(remaining)
            self._watched = False
            return None


class _Appointment:
    """A task and its time, in the order of the clock's list."""

    __slots__ = ("_clock", "_number", "task", "when")

    def __init__(self, when: float, number: int, task: Task, clock: SystemClock) -> None:
        self.when = when
        self.task = task
        self._number = number
        self._clock = clock

    def __lt__(self, other: _Appointment) -> bool:
        return (self.when, self._number) < (other.when, other._number)

    def cancel(self) -> None:
        self._clock.forget(self)
