"""The time that an exploration may take."""

from __future__ import annotations

import time
from typing import Final

__all__ = ["Budget"]

WAITING: Final = 10.0
"""Seconds of the wall clock that count as one, for what waits instead of computing."""

# Taken before any exploration replaces them.
_monotonic = time.monotonic
_process_time = time.process_time


class Budget:
    """Seconds of work, as the process has computed them.

    So as many schedules are run on a busy machine as on an idle one, and the verdict is the same.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began, self._computed = _monotonic(), _process_time()

    @property
    def left(self) -> float:
        """How much of it there is."""
        computed = _process_time() - self._computed
        return self._seconds - max(computed, (_monotonic() - self._began) / WAITING)

    def is_spent(self, share: float = 1.0) -> bool:
        """Say whether more than ``share`` of it is used up."""
        return self.left < (1.0 - share) * self._seconds
