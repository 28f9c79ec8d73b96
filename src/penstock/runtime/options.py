"""The checks of options: an error at assembly that names the value and what is allowed."""

from __future__ import annotations

import threading

from penstock.runtime.executor import Executor

__all__ = ["require_count", "require_delay", "require_executor"]


def require_count(name: str, value: object) -> int:
    """``value``, when it is an ``int`` of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int of at least 1, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value


def require_executor(executor: object) -> Executor:
    """``executor``, when it is one."""
    if isinstance(executor, type) or not isinstance(executor, Executor):
        raise TypeError(f"an executor is an object with a method execute(task), not {executor!r}")
    return executor


def require_delay(seconds: float) -> float:
    """``seconds``, when it is a number that can be waited for; below zero counts as zero."""
    if not seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"{seconds!r} is no number of seconds that can be waited for")
    return max(seconds, 0.0)
