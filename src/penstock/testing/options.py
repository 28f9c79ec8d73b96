"""How long the waits of a test take, and the time that it may own."""

from __future__ import annotations

import os
from typing import Final

from penstock.runtime import VirtualTime, shorten
from penstock.runtime.arguments import require_seconds

__all__ = ["TIMEOUT", "require_timeout", "require_virtual_time"]

TIMEOUT: Final = "PENSTOCK_TEST_TIMEOUT"
"""The environment variable for the seconds of all waits that name none."""

USUAL_TIMEOUT: Final = "5"


def require_timeout(where: str, name: str, value: float | None) -> float:
    """``value``, when it is a number of seconds; for ``None`` the time for all tests."""
    if value is not None:
        return require_seconds(where, name, value, or_zero=True)
    given = os.environ.get(TIMEOUT, USUAL_TIMEOUT)
    try:
        return require_seconds(where, TIMEOUT, float(given), or_zero=True)
    except ValueError:
        raise ValueError(
            f"{TIMEOUT} must be a number of seconds of at least 0, not {shorten(given)}"
        ) from None


def require_virtual_time(where: str, time: object) -> VirtualTime:
    """``time``, when it is virtual."""
    if not isinstance(time, VirtualTime):
        raise TypeError(f"{where}: time must be a VirtualTime, not {shorten(time)}")
    return time
