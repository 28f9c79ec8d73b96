"""How long a shared run goes on without a subscriber."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from penstock.flow.engine.default_clock import system_clock
from penstock.runtime import Clock, Timer
from penstock.runtime.arguments import require_clock, require_seconds

__all__ = ["GracePeriod", "require_grace"]


class GracePeriod:
    """Calls ``stop`` some time after the last subscriber has left, unless another one comes.

    That is on the clock's thread; without a grace, on the thread on which the subscriber left.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._timer: Timer | None = None

    def begin(self, stop: Callable[[], object]) -> None:
        """The last subscriber has left."""
        self.end()
        if self._seconds:
            self._timer = self._clock.call_later(self._seconds, partial(self._over, stop))
        else:
            stop()

    def end(self) -> None:
        """A subscriber has come, or the run is over."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _over(self, stop: Callable[[], object]) -> None:
        self._timer = None
        stop()


def require_grace(
    operator: str, grace: float | timedelta, clock: Clock | None
) -> Callable[[], GracePeriod]:
    """What makes a grace period of ``grace`` seconds for each run."""
    seconds = require_seconds(operator, "grace", grace, or_zero=True)
    time = require_clock(operator, clock) or system_clock()
    return lambda: GracePeriod(seconds, time)
