"""Virtual time that knows its timers."""

from __future__ import annotations

from typing import Any

from penstock import VirtualTime
from penstock.runtime import Task, Timer

__all__ = ["WatchedTime"]


class WatchedTime(VirtualTime):
    """Counts the timers that were started, and knows which of them still wait."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []

    def call_later(self, seconds: float, task: Task) -> Timer:
        timer = super().call_later(seconds, task)
        self.started.append(timer)
        return timer

    @property
    def waiting(self) -> int:
        """How many timers wait for their moment."""
        return sum(timer.task is not None and timer.when > self.now() for timer in self.started)
