"""How a subscriber is turned away."""

from __future__ import annotations

import threading
from typing import TypeVar

from penstock.api import Subscriber
from penstock.demand.endings import COMPLETED
from penstock.demand.outlet import Outlet
from penstock.runtime import Executor, NewLock

__all__ = ["Rejection"]

T = TypeVar("T")


class Rejection(Outlet[T]):
    """A stream that is over at once: ``on_subscribe``, then how it ended (rule 1.9).

    ``ending`` is an error, or ``COMPLETED``.
    """

    __slots__ = ("_ending",)

    def __init__(
        self,
        subscriber: Subscriber[T],
        ending: Exception,
        executor: Executor | None = None,
        new_lock: NewLock = threading.RLock,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._ending = ending

    def _serve(self) -> None:
        if self._ending is COMPLETED:
            self._complete()
        else:
            self._fail(self._ending)
