"""Whose turn it is to signal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turn", "calling_upstream", "is_calling_upstream"]


class _Calls(threading.local):
    """The calls to publishers and subscriptions that one thread is inside of, outermost first."""

    def __init__(self) -> None:
        self.callers: list[object] = []


_calls = _Calls()


@contextmanager
def calling_upstream(caller: object) -> Iterator[None]:
    """The time of a call to a publisher or a subscription, in which it may signal (3.10, 3.11)."""
    callers = _calls.callers
    callers.append(caller)
    try:
        yield
    finally:
        callers.pop()


def is_calling_upstream(caller: object) -> bool:
    """Whether this thread is inside a call of ``caller``."""
    return any(each is caller for each in _calls.callers)


class Turn:
    """Which thread is inside a signal to one subscriber: one, perhaps several levels deep.

    A signal within a signal is in order when the subscriber made a call upstream in between; the
    calls of all streams count, since ``request`` may signal other subscribers, too (rule 3.10).

    Not thread-safe: the owner locks.
    """

    __slots__ = ("_levels", "_signals", "_thread")

    def __init__(self) -> None:
        self._thread = 0
        self._signals: list[str] = []
        self._levels: list[int] = []

    @property
    def taken(self) -> bool:
        """Whether anybody is inside."""
        return bool(self._signals)

    @property
    def depth(self) -> int:
        """How many signals are nested."""
        return len(self._signals)

    @property
    def running(self) -> str:
        """The innermost signal."""
        return self._signals[-1]

    def is_taken_by_another_thread(self) -> bool:
        """Whether a signal from this thread would overlap with one that is running."""
        return self.taken and self._thread != threading.get_ident()

    def is_unasked(self) -> bool:
        """Whether a signal from this thread would nest without a call upstream in between."""
        return self.taken and self._levels[-1] == len(_calls.callers)

    def enter(self, signal: str) -> None:
        """A signal of this thread begins."""
        self._thread = threading.get_ident()
        self._signals.append(signal)
        self._levels.append(len(_calls.callers))

    def leave(self) -> None:
        """The innermost signal returned."""
        self._signals.pop()
        self._levels.pop()
