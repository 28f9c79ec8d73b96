"""Time for those who wait for other threads."""

from __future__ import annotations

import time
from typing import Final

__all__ = ["LOOK", "Stopwatch"]

LOOK: Final = 0.05
"""The most seconds that count between two looks."""

_monotonic = time.monotonic  # taken before any exploration replaces it


class Stopwatch:
    """Counts seconds as long as somebody looks at it.

    While the machine stands still nobody looks, and the threads that are waited for stand still,
    too: that time does not count against them.
    """

    def __init__(self) -> None:
        self._last = _monotonic()
        self._passed = 0.0

    def look(self) -> float:
        """The seconds that have passed."""
        last, self._last = self._last, _monotonic()
        self._passed += min(self._last - last, LOOK)
        return self._passed
