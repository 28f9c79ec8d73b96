"""Notices when the holder of the baton waits in real time, for something outside the run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

if sys.platform == "linux":
    import resource

    def _times_blocked() -> int:
        """How often the calling thread gave its core up because it had to wait."""
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    def _time_queued() -> float:
        """The seconds for which the calling thread could run, and others had all the cores."""
        try:
            return int(_STATISTICS.read_bytes().split()[1]) / 1e9
        except OSError:
            return 0.0  # not every kernel counts

else:

    def _times_blocked() -> int:
        """The system does not say: only the clocks do."""
        return time.monotonic_ns()

    def _time_queued() -> float:
        """The system does not say."""
        return 0.0


__all__ = ["RealWaits"]

_LONG = 0.01
_STATISTICS = Path("/proc/thread-self/schedstat")

# Taken before any exploration replaces them.
_wall_time = time.perf_counter
_thread_time = time.thread_time


class _Reading(NamedTuple):
    wall: float
    used: float
    queued: float
    blocked: int


def _read() -> _Reading:
    return _Reading(_wall_time(), _thread_time(), _time_queued(), _times_blocked())


class RealWaits:
    """Watches the calling thread between `resume` and `seconds_waited`."""

    def __init__(self) -> None:
        self._last: _Reading | None = None

    def resume(self) -> None:
        """Begin to watch the calling thread, which just got the baton."""
        self._last = _read()

    def seconds_waited(self) -> float:
        """Return the seconds that the calling thread waited since the last call, if it did."""
        now = _read()
        last, self._last = self._last or now, now
        idle = (now.wall - last.wall) - (now.used - last.used) - (now.queued - last.queued)
        return idle if idle > _LONG and now.blocked > last.blocked else 0.0
