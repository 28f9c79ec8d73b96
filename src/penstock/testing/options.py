"""The checks of options: an error at once that names the value and what is allowed."""

from __future__ import annotations

import math
import os
from typing import Final

from penstock.runtime import Clock, SystemClock, VirtualTime

__all__ = [
    "TIMEOUT",
    "require_clock",
    "require_first_request",
    "require_frame",
    "require_seconds",
    "require_timeout",
    "require_virtual_time",
]

TIMEOUT: Final = "PENSTOCK_TEST_TIMEOUT"
"""The environment variable for the seconds of all waits that name none."""

USUAL_TIMEOUT: Final = 5.0


def require_first_request(request: object) -> int:
    """``request``, when it is an ``int`` of at least 0."""
    if not isinstance(request, int) or isinstance(request, bool):
        raise TypeError(f"request must be an int of at least 0, not {request!r}")
    if request < 0:
        raise ValueError(f"request must be at least 0, which asks for nothing, not {request}")
    return request


def require_seconds(name: str, value: object) -> float:
    """``value``, when it is a number of seconds that one can wait."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of seconds of at least 0, not {value!r}")
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of seconds of at least 0, not {value}")
    return float(value)


def require_timeout(name: str, value: object) -> float:
    """``value``, when it is a number of seconds; for ``None`` the time for all tests."""
    if value is not None:
        return require_seconds(name, value)
    given = os.environ.get(TIMEOUT, USUAL_TIMEOUT)
    try:
        return require_seconds(TIMEOUT, float(given))
    except ValueError:
        raise ValueError(
            f"{TIMEOUT} must be a number of seconds of at least 0, not {given!r}"
        ) from None


def require_frame(value: object) -> float:
    """``value``, when it is a number of seconds above 0."""
    seconds = require_seconds("frame", value)
    if not seconds:
        raise ValueError("frame must be a number of seconds above 0, not 0")
    return seconds


def require_virtual_time(time: object) -> VirtualTime:
    """``time``, when it is virtual."""
    if not isinstance(time, VirtualTime):
        raise TypeError(f"time must be a VirtualTime, not {time!r}")
    return time


def require_clock(time: object) -> Clock:
    """``time``, when it is a clock; the system's for ``None``."""
    if time is None:
        return SystemClock()
    if not isinstance(time, Clock):
        raise TypeError(f"time must be a clock, such as VirtualTime(), not {time!r}")
    return time
