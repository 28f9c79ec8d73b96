"""A clock for tests in which all that waits is due at the next reading."""

from __future__ import annotations

from penstock.runtime import Task, Timer

__all__ = ["Hurrying"]


class Hurrying:
    """Each reading is some seconds later than the one before, so that nobody needs a timer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now = 0.0

    def now(self) -> float:
        self._now += self._seconds
        return self._now

    def call_later(self, seconds: float, task: Task) -> Timer:
        raise AssertionError(f"a timer of {seconds} s was started, and its time was up")
