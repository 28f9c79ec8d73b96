"""Keeps the threads of an exploration on one processor core, where passing the baton is cheapest.

Only one of them runs at any time, and waking a thread on another core takes several times as long.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, Self

__all__ = ["OneCore"]


def _find_core_query() -> Callable[[], Any] | None:
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        return ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return None


_this_core = _find_core_query()


class OneCore:
    """The core of an exploration: speed only, and nothing at all where the system has no say."""

    def __init__(self) -> None:
        self.number = -1
        self._allowed: set[int] = set()

    def __enter__(self) -> Self:
        if _this_core is not None:
            self._allowed = os.sched_getaffinity(0)
            self.choose()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let the system move the calling thread to a core that is idle."""
        _bind(self._allowed)

    def choose(self) -> None:
        """Stay on the core that the calling thread runs on."""
        if _this_core is not None:
            self.number = _this_core()
            _bind({self.number})

    def join(self) -> None:
        """Bring the calling thread to the chosen core."""
        _bind({self.number} & self._allowed)


def _bind(cores: set[int]) -> None:
    if cores:
        try:
            os.sched_setaffinity(0, cores)
        except OSError:
            pass  # the system may not allow it
