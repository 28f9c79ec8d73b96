"""Fewer elements, by the time that passes between them."""

from __future__ import annotations

from collections import deque
from typing import Any

from penstock.flow.elements import PENDING, Elements, Host, discard
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.holding import Holding
from penstock.flow.stage import Rerun, Woven
from penstock.flow.weaving import Loop
from penstock.runtime import Clock, SystemClock

__all__ = ["FirstOfPeriod", "Latest"]


class FirstOfPeriod(Woven):
    """An element begins a period, in which others go no further."""

    rerun = Rerun(repeats=False, severable=True, holds=False, keeps=False)

    def __init__(self, name: str, seconds: float, clock: Clock | None) -> None:
        # A clock of its own is enough to look at; nothing waits for it.
        now = (SystemClock() if clock is None else clock).now
        super().__init__(name, values=(seconds, now))

    def weave(self, loop: Loop, *values: str) -> None:
        """One look at the clock, and one variable."""
        seconds, now = values
        end = loop.local("end_of_period", "float('-inf')")
        moment = loop.local("moment", "0.0")
        loop.line(f"{moment} = {now}()")
        loop.line(f"if {moment} < {end}:")
        loop.line("discard(host, (x,))", deeper=1)
        loop.drop(deeper=1)
        loop.line(f"{end} = {moment} + {seconds}")


class Latest(Holding):
    """The latest element, so long after the first one, or after itself if each ``restarts``."""

    rerun = Rerun(repeats=False, severable=True)

    def __init__(self, name: str, seconds: float, clock: Clock | None, *, restarts: bool) -> None:
        super().__init__(name, clock)
        self._seconds = seconds
        self._restarts = restarts

    def _work_through(
        self, elements: Elements, host: Host, held: deque[Any], alarm: Alarm
    ) -> Elements:
        for x in elements:
            due = alarm.rings()
            if x is not PENDING:
                if due or self._restarts or not held:
                    alarm.set(self._seconds)
                held.append(x)
            if due:
                if x is PENDING:
                    alarm.unset()
                yield held.popleft()
            elif x is PENDING:
                yield x
            elif len(held) > 1:
                discard(host, (held.popleft(),))
            if host.over:
                return

    def _give_rest(self, held: deque[Any], alarm: Alarm) -> Elements:
        while held:
            yield held.popleft()
