"""Which elements a newcomer gets besides those to come."""

from __future__ import annotations

from collections import deque

from penstock.runtime import Clock

__all__ = ["ReplayHistory"]


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

    def forget_the_old(self) -> None:
        """Move the start past what came too long ago."""
        if self._clock is None or self._within is None:
            return
        oldest = self._clock.now() - self._within
        while self._came and self._came[0][0] < oldest:
            _, end = self._came.popleft()
            self.start = max(self.start, end)
