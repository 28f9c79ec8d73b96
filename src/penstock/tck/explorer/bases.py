"""Stand-ins for methods of the real `threading` classes, which subclasses of a subject inherit.

A subclass that was defined before keeps its base, whose code makes locks by names that are
replaced. That is enough for most of `threading`, and these are the exceptions. Each serves objects
that were made in a run; for all others the real method answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.tck.explorer.locks import Condition, Lock, RLock

__all__ = ["stand_ins_for_bases"]

_RealCondition = threading.Condition
_RealSemaphore = threading.Semaphore
_RealBoundedSemaphore = threading.BoundedSemaphore


def stand_ins_for_bases() -> Mapping[type, Mapping[str, Any]]:
    """Return the methods to replace, by class."""
    return {
        _RealCondition: {
            name: _delegated(name, getattr(_RealCondition, name))
            for name in ("wait", "notify", "notify_all", "notifyAll")
        },
        _RealBoundedSemaphore: {"__init__": _init_bounded_semaphore},
    }


def _delegated(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that lets a condition of the explorer, over the same lock, do the work."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(self._lock, (Lock, RLock)):
            return real(self, *arguments, **options)
        twin = vars(self).get("_twin")
        if twin is None:
            twin = vars(self)["_twin"] = Condition(self._lock)
        return getattr(twin, name)(*arguments, **options)

    return method


def _init_bounded_semaphore(self: Any, value: int = 1) -> None:
    # Python 3.11 looks the name Semaphore up, which is replaced.
    _RealSemaphore.__init__(self, value)
    self._initial_value = value
