"""The clock of operators that were given none."""

from __future__ import annotations

import os
import threading
from typing import Final
from weakref import WeakKeyDictionary

from penstock.runtime import Clock, Lock, SystemClock

__all__ = ["system_clock"]

_making: Final[Lock] = threading.RLock()

# By the lock, which the explorer of the kit replaces for each schedule: a clock of one schedule,
# whose thread is gone, must not be the clock of the next.
_clocks: Final[WeakKeyDictionary[Lock, SystemClock]] = WeakKeyDictionary()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_clocks.clear)  # the thread of the clock stayed behind


def system_clock() -> Clock:
    """Real time: one clock, and so at most one thread, for the whole process."""
    clock = _clocks.get(_making)
    if clock is None:
        with _making:
            clock = _clocks.setdefault(_making, SystemClock())
    return clock
