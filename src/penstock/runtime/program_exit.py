"""What has to come to its end before Python does.

A thread that comes back from C++, such as that of a database, into a Python that is ending aborts
the process. So a run that has failed, and whose sinks are still being closed, is waited for.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

__all__ = ["StepsUnderWay", "before_exit", "join_at_exit"]

PATIENCE: Final = 10.0
"""Seconds for all of it: what hangs must not keep the program from its end."""


class StepsUnderWay:
    """Steps that have begun and have not come to their end, on any threads."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: Final[set[threading.Event]] = set()

    def __bool__(self) -> bool:
        return bool(self._ends)

    @contextmanager
    def step(self) -> Iterator[None]:
        """For as long as one of them takes, on its thread."""
        end = threading.Event()
        self._ends.add(end)
        try:
            yield
        finally:
            self._ends.discard(end)
            end.set()

    def await_all(self, seconds: float) -> bool:
        """Whether those that are under way come to their end within these seconds, all together."""
        until = monotonic() + seconds
        return all(end.wait(max(until - monotonic(), 0)) for end in self._ends.copy())


_steps: Final = StepsUnderWay()
_threads: Final[set[threading.Thread]] = set()

before_exit: Final = _steps.step
"""For a step that Python does not end within. On any thread."""


def join_at_exit(thread: threading.Thread) -> None:
    """Have Python wait for a thread that was told to end. On any thread."""
    for other in [each for each in _threads.copy() if not each.is_alive()]:
        _threads.discard(other)
    _threads.add(thread)


@atexit.register
def await_all() -> None:
    """Wait for the steps first: one of them may tell a thread to end."""
    until = monotonic() + PATIENCE
    _steps.await_all(PATIENCE)
    for thread in _threads.copy():
        if thread.is_alive():
            thread.join(max(until - monotonic(), 0))
