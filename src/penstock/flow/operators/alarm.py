"""How a stage waits for a moment."""

from __future__ import annotations

from penstock.flow.elements import Host
from penstock.flow.sources.clock import system_clock
from penstock.runtime import Clock, Timer

__all__ = ["Alarm"]


class Alarm:
    """Has a host pull again at a moment, which its stage may move as often as it likes.

    The timer is started only when a stage looks and it is too early, and is not replaced when the
    moment is put off: it rings, and the stage looks again. So an element that comes in time costs
    no timer. All is called by the thread that runs the stages, but for the ring itself.
    """

    __slots__ = ("_clock", "_host", "_moment", "_ring")

    def __init__(self, clock: Clock | None, host: Host) -> None:
        self._clock = system_clock() if clock is None else clock
        self._host = host
        self._moment: float | None = None
        self._ring: Ring | None = None

    @property
    def now(self) -> float:
        """The time of its clock."""
        return self._clock.now()

    @property
    def is_set(self) -> bool:
        """Whether there is a moment to wait for."""
        return self._moment is not None

    def set(self, seconds: float) -> None:
        """Wait for so long from now on."""
        self._moment = self._clock.now() + seconds

    def set_to(self, moment: float) -> None:
        """Wait for ``moment``."""
        self._moment = moment

    def unset(self) -> None:
        """Wait for nothing."""
        self._moment = None

    def rings(self) -> bool:
        """Whether the moment has come. If it is still to come, the host will pull again then."""
        moment = self._moment
        if moment is None:
            return False
        if self._clock.now() >= moment:
            return True
        ring = self._ring
        if ring is not None and ring.moment <= moment:
            if not ring.rung:
                return False
            if ring.moment == moment:
                return True  # a clock may run its timers a little early
        self._stop()
        self._ring = Ring(self._clock, moment, self._host)
        return False

    def close(self) -> None:
        """Leave no timer behind."""
        self._moment = None
        self._stop()

    def _stop(self) -> None:
        if self._ring is not None:
            self._ring.cancel()
            self._ring = None


class Ring:
    """One timer of an alarm."""

    __slots__ = ("_host", "_timer", "moment", "rung")

    def __init__(self, clock: Clock, moment: float, host: Host) -> None:
        self.moment = moment
        self.rung = False
        self._host = host
        self._timer: Timer | None = clock.call_later(moment - clock.now(), self._call)

    def _call(self) -> None:
        self.rung = True
        self._host.wake()

    def cancel(self) -> None:
        """Stop the timer, and let go of it: it refers to this."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
