"""The demand counter."""

from __future__ import annotations

import threading

from penstock.api import UNBOUNDED
from penstock.runtime import NewLock

__all__ = ["Demand"]


class Demand:
    """Counts what was requested and what was delivered; the two sides may be different threads.

    Once the outstanding sum reaches ``UNBOUNDED`` it stays there (rule 3.17).
    """

    __slots__ = ("_delivered", "_lock", "_outstanding")

    def __init__(self, new_lock: NewLock = threading.RLock) -> None:
        self._lock = new_lock()
        self._outstanding = 0
        self._delivered = 0

    def add(self, n: int) -> None:
        """``n`` more elements are wanted; ``n`` is at least 1."""
        with self._lock:
            self._outstanding += n
            if self._outstanding > UNBOUNDED:
                self._outstanding = UNBOUNDED  # 3.17: saturates, where a long would turn negative

    def consume(self, n: int) -> None:
        """``n`` elements were delivered, no more than are outstanding."""
        with self._lock:
            self._delivered += n
            if self._outstanding != UNBOUNDED:
                self._outstanding -= n

    @property
    def outstanding(self) -> int:
        """Elements requested and not yet delivered."""
        return self._outstanding

    @property
    def delivered(self) -> int:
        """Elements delivered since the start."""
        return self._delivered

    @property
    def requested(self) -> int:
        """Elements requested since the start, at most ``UNBOUNDED``."""
        with self._lock:
            return min(self._outstanding + self._delivered, UNBOUNDED)

    def __repr__(self) -> str:
        return f"Demand(outstanding={self._outstanding}, delivered={self._delivered})"
