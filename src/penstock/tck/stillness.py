"""Whether the other threads of this process are at rest, for subjects that nobody controls."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = [
    "POLL",
    "Stillness",
    "Stopwatch",
]

POLL: Final = 0.05
"""The most seconds that count between two polls."""

_monotonic = time.monotonic  # taken before any exploration replaces it


class Stopwatch:
    """Counts seconds as long as it is polled.

    While the machine stands still nobody polls it, and the threads that are waited for stand still,
    too: that time does not count against them.
    """

    def __init__(self) -> None:
        self._last = _monotonic()
        self._passed = 0.0

    def elapsed(self) -> float:
        """The seconds that have passed, without those in which the machine stood still."""
        last, self._last = self._last, _monotonic()
        self._passed += min(self._last - last, POLL)
        return self._passed


TASKS = Path("/proc/self/task")
SLICE = 0.002
BUSY = ("R", "D")
"""A thread that runs, or waits for a processor; and one that waits for a disk."""

_sleep = time.sleep  # taken before any exploration replaces it


class Stillness:
    """Watches the other threads of the process.

    A thread that sleeps and has used no processor time since the last sample is at rest, however
    loaded the machine is: one that waits for a processor does not sleep.
    """

    def __init__(self) -> None:
        self._last: object = None

    def lasts(
        self, seconds: float, limit: float, unless: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until all other threads have been at rest for so long.

        The answer is no when ``limit`` seconds have passed before, or when ``unless`` holds.
        """
        stopwatch = Stopwatch()
        now = since = 0.0
        self._is_unchanged()
        while not unless() and now < limit:
            _sleep(SLICE)
            now = stopwatch.elapsed()
            if not self._is_unchanged():
                since = now
            elif now - since >= seconds:
                return True
        return False

    def _is_unchanged(self) -> bool:
        asleep, now = _threads_by_system() if TASKS.is_dir() else _threads_by_frame()
        last, self._last = self._last, now
        return asleep and now == last


def _threads_by_system() -> tuple[bool, object]:
    """Whether all other threads sleep, and the processor time that each has used."""
    me = str(threading.get_native_id())
    asleep, used = True, {}
    for task in TASKS.iterdir():
        if task.name == me:
            continue
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        asleep = asleep and fields[0] not in BUSY
        used[task.name] = fields[11:13]
    return asleep, used


def _threads_by_frame() -> tuple[bool, object]:
    """Where each other thread stands; elsewhere the system does not say more."""
    me = threading.get_ident()
    frames = sys._current_frames()
    return True, {
        ident: (id(frame), frame.f_lasti) for ident, frame in frames.items() if ident != me
    }
