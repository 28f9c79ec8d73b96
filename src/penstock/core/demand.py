"""The demand counter."""

from __future__ import annotations

from penstock.api import UNBOUNDED
from penstock.runtime import Lock
from penstock.runtime.executor import ReentrantLock

__all__ = ["Demand"]


class Demand:
    """Counts what was requested and what was delivered; the two sides may be different threads.

    Once the outstanding sum reaches ``UNBOUNDED`` it stays there (rule 3.17).

    ``outstanding``  elements requested and not yet delivered
    ``delivered``    elements delivered since the start
    ``lock``         guards both; one of its own unless its owner shares one
    """

    __slots__ = ("_lock", "delivered", "outstanding")

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = ReentrantLock() if lock is None else lock
        self.outstanding = 0
        self.delivered = 0

    def add(self, n: int) -> None:
        """``n`` more elements are wanted; ``n`` is at least 1."""
        with self._lock:
            self.outstanding += n
            if self.outstanding > UNBOUNDED:
                self.outstanding = UNBOUNDED  # 3.17: saturates, where a long would turn negative

    def consume(self, n: int) -> None:
        """``n`` elements were delivered, no more than are outstanding."""
        if self.outstanding == UNBOUNDED:  # which nobody changes any more: no lock is needed
            self.delivered += n
            return
        with self._lock:
            self.delivered += n
            if self.outstanding != UNBOUNDED:
                self.outstanding -= n

    @property
    def requested(self) -> int:
        """Elements requested since the start, at most ``UNBOUNDED``."""
        with self._lock:
            return min(self.outstanding + self.delivered, UNBOUNDED)

    def __repr__(self) -> str:
        return f"Demand(outstanding={self.outstanding}, delivered={self.delivered})"
