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

__all__ = ["before_exit", "join_at_exit"]

PATIENCE: Final = 10.0
"""Seconds for all of it: what hangs must not keep the program from its end."""

_steps: Final[set[threading.Event]] = set()
_threads: Final[set[threading.Thread]] = set()


@contextmanager
def before_exit() -> Iterator[None]:
    """For a step that Python does not end within. On any thread."""
    step = threading.Event()
    _steps.add(step)
    try:
        yield
    finally:
        _steps.discard(step)
        step.set()


def join_at_exit(thread: threading.Thread) -> None:
    """Have Python wait for a thread that was told to end. On any thread."""
    for other in [each for each in _threads.copy() if not each.is_alive()]:
        _threads.discard(other)
    _threads.add(thread)


@atexit.register
def await_all() -> None:
    """Wait for the steps first: one of them may tell a thread to end."""
    until = monotonic() + PATIENCE
    for step in _steps.copy():
        step.wait(max(until - monotonic(), 0))
    for thread in _threads.copy():
        if thread.is_alive():
            thread.join(max(until - monotonic(), 0))
