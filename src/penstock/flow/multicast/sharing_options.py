"""How a run is shared: what newcomers get, and when it stops, or reads on, without subscribers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Generic, TypeVar

from penstock.api import Publisher
from penstock.flow.operators.timing import system_clock
from penstock.runtime import Clock, Timer
from penstock.runtime.arguments import require_clock, require_seconds

__all__ = [
    "GracePeriod",
    "ReplayHistory",
    "SharingOptions",
    "require_grace",
]

T = TypeVar("T")


@dataclass(frozen=True)
class SharingOptions(Generic[T]):
    """How to share the runs of a publisher.

    ``name``        the operator, for error messages
    ``starts``      with how many subscribers a run starts; ``None`` for when ``connect`` is called
    ``grace``       makes what stops a run that has lost its last subscriber; ``None`` for nothing
    ``limit``       makes the error for a run that gives more than its history can hold
    ``idle_clock``  lets a run read on without subscribers; ``None`` for one that waits for them
    """

    name: str
    source: Publisher[T]
    history: Callable[[], ReplayHistory]
    starts: int | None = None
    grace: Callable[[], GracePeriod] | None = None
    limit: Callable[[], Exception] | None = None
    idle_clock: Clock | None = None


class ReplayHistory:
    """The position in a stream from which on elements are replayed.

    At most the last ``capacity`` elements, and none that came longer than ``within`` seconds ago.
    """

    def __init__(
        self, capacity: int, within: float | None = None, clock: Clock | None = None
    ) -> None:
        self.capacity = capacity
        self._within = within
        self._clock = clock
        self._came: deque[tuple[float, int]] = deque()
        self.start = 0

    def grow(self, end: int) -> None:
        """The stream now ends at ``end``."""
        if self._clock is not None:
            self._came.append((self._clock.now(), end))
        self.start = max(self.start, end - self.capacity)
        self.forget_the_old()
        while self._came and self._came[0][1] <= self.start:
            self._came.popleft()

    def forget_the_old(self) -> None:
        """Move the start past what came too long ago."""
        if self._clock is None or self._within is None:
            return
        oldest = self._clock.now() - self._within
        while self._came and self._came[0][0] < oldest:
            _, end = self._came.popleft()
            self.start = max(self.start, end)


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
