"""Keeps the threads of a run on one processor core, where passing the baton is cheapest.

Only one of them runs at any time, and waking a thread on another core takes several times as long.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

__all__ = ["stay_on_this_core"]


def _find_core_query() -> Callable[[], Any] | None:
    try:
        return ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return None


_this_core = _find_core_query()


def stay_on_this_core() -> None:
    """Bind the calling thread, and threads that it starts, to the core that it runs on."""
    if _this_core is not None:
        try:
            os.sched_setaffinity(0, {_this_core()})
        except (AttributeError, OSError):
            pass  # speed only; the system may not allow it
