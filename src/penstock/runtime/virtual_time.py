"""Time that a test owns: nothing runs but what it lets run, and waiting costs nothing."""

from __future__ import annotations

import heapq
import itertools
from collections import deque

from penstock.runtime.arguments import require_delay
from penstock.runtime.executor import Task, Timer

__all__ = ["VirtualTime"]


class VirtualTime:
    """An executor and a clock for one thread, with no thread and no waiting of their own.

    Tasks wait in line until the test runs them. Time stands still while a task can run; once
    all are idle it jumps to the next timer. What a task raises goes to the test that runs it.

        time = VirtualTime()
        time.call_later(3600, lambda: print("an hour later"))
        time.run()
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._ready: deque[Task] = deque()
        self._timers: list[_VirtualTimer] = []
        self._order = itertools.count()

    def execute(self, task: Task) -> None:
        """Put ``task`` in line."""
        self._ready.append(task)

    def now(self) -> float:
        """The virtual time in seconds."""
        return self._now

    def call_later(self, seconds: float, task: Task) -> Timer:
        """Put ``task`` in line once ``seconds`` of virtual time have passed."""
        timer = _VirtualTimer(self._now + require_delay(seconds), next(self._order), task)
        heapq.heappush(self._timers, timer)
        return timer

    @property
    def idle(self) -> bool:
        """Whether no task can run at this moment of virtual time."""
        return not self._ready

    def step(self) -> bool:
        """Run the task that is first in line; whether there was one."""
        if not self._ready:
            return False
        self._ready.popleft()()
        return True

    def settle(self) -> None:
        """Run tasks until none can run, without moving time."""
        while self.step():
            pass

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass: each timer that falls due runs at its own moment."""
        if not seconds >= 0:
            raise ValueError(f"time passes by 0 seconds or more, not by {seconds!r}")
        self._advance_to(self._now + seconds)

    def run(self, until: float | None = None) -> None:
        """Run until nothing is left to run, jumping from timer to timer.

        A stream that ticks for ever needs ``until``, the virtual time to stop at.
        """
        if until is None:
            self.settle()
            while self._jump(float("inf")):
                self.settle()
        elif until >= self._now:
            self._advance_to(until)
        else:
            raise ValueError(f"it is {self._now!r} already, time cannot go back to {until!r}")

    def _advance_to(self, end: float) -> None:
        self.settle()
        while self._jump(end):
            self.settle()
        self._now = max(self._now, end)  # a task may have advanced it further

    def _jump(self, end: float) -> bool:
        """Move to the next timer that is due by ``end``; whether there is one."""
        timers = self._timers
        while timers and timers[0].task is None:
            heapq.heappop(timers)
        if not timers or timers[0].when > end:
            return False
        timer = heapq.heappop(timers)
        self._now = timer.when
        self.execute(timer.fire)
        return True


class _VirtualTimer:
    """A task and its moment; it runs on the thread that lets time pass, unless it is cancelled."""

    __slots__ = ("_number", "task", "when")

    def __init__(self, when: float, number: int, task: Task) -> None:
        self.when = when
        self.task: Task | None = task
        self._number = number

    def __lt__(self, other: _VirtualTimer) -> bool:
        return (self.when, self._number) < (other.when, other._number)

    def cancel(self) -> None:
        self.task = None

    def fire(self) -> None:
        # Cancelled by a task that ran at the same moment, before this one.
        if self.task is not None:
            self.task()
