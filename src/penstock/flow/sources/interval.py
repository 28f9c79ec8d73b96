"""Flows that tick."""

from __future__ import annotations

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.timing import StageTimer
from penstock.runtime import Clock

__all__ = ["Interval"]


class Interval(Origin):
    """0, 1, 2 and so on, each at its moment or as soon as it is wanted after that."""

    checked = True

    def __init__(self, every: float, delay: float, clock: Clock | None) -> None:
        super().__init__("interval")
        self._every = every
        self._delay = delay
        self._clock = clock

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Time counts from here on, whether or not anything is wanted."""
        timer = StageTimer(self._clock, run, self.name)
        return started(self._ticks(timer, timer.now + self._delay))

    def _ticks(self, timer: StageTimer, start: float) -> Elements:
        number = 0
        try:
            yield None
            while True:
                timer.start_at(start + number * self._every)
                while not timer.is_due():
                    yield PENDING
                yield number
                number += 1
        finally:
            timer.close()
