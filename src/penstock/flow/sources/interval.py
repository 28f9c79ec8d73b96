"""Flows that tick."""

from __future__ import annotations

from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.operators.alarm import Alarm
from penstock.flow.stage import Origin
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

    def open(self, host: Host, each: int) -> Elements:
        """Time counts from here on, whether or not anything is wanted."""
        alarm = Alarm(self._clock, host)
        return self._ticks(alarm, alarm.now + self._delay)

    def _ticks(self, alarm: Alarm, start: float) -> Elements:
        number = 0
        try:
            while True:
                alarm.set_to(start + number * self._every)
                while not alarm.rings():
                    yield PENDING
                yield number
                number += 1
        finally:
            alarm.close()
