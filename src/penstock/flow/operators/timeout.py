"""An end to waiting."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.elements import PENDING, Elements, Host, close
from penstock.flow.fluent import opened
from penstock.flow.operators.alarm import Alarm
from penstock.flow.stage import BY_TIME, EACH_ALONE, Stage
from penstock.runtime import Clock

__all__ = ["Timeout"]


class Timeout(Stage):
    """Leaves a stream that keeps one waiting for too long."""

    waits = True

    def __init__(
        self, seconds: float, fallback: Publisher[Any] | None, clock: Clock | None
    ) -> None:
        super().__init__("timeout")
        self._seconds = seconds
        self._fallback = fallback
        self._clock = clock
        self.rerun = EACH_ALONE if fallback is None else BY_TIME

    def run(self, elements: Elements, host: Host) -> Elements:
        """Time counts while there is nothing although something is wanted."""
        alarm = Alarm(self._clock, host)
        try:
            for x in elements:
                if x is not PENDING or not host.wanted:
                    alarm.unset()
                elif not alarm.is_set:
                    alarm.set(self._seconds)
                if alarm.rings():
                    break
                yield x
            else:
                return
        finally:
            alarm.close()
        close(elements)
        if self._fallback is None:
            raise TimeoutError(f"timeout: no element came within {self._seconds:g} s")
        yield from opened(self._fallback, host)
