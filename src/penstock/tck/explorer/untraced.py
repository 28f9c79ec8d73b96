"""Switches tracing off on Python 3.11 while a thread is inside the explorer's own operations.

With a trace function set, CPython 3.11 reports every function that is entered and takes a slower
way through every instruction, also in code that nobody wants to trace. Most of that is the code of
the explorer. `sys.monitoring`, which later versions have, does not need this.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.tck.explorer import threads
from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.locks import Condition, Lock, RLock
from penstock.tck.explorer.primitives import Event, Semaphore, SimpleQueue

__all__ = ["untraced_operations"]

# None of these may call code of the subject, such as a predicate or a method that it overrides.
_OPERATIONS: Mapping[Any, tuple[str, ...]] = {
    Lock: ("__enter__", "acquire", "release", "locked"),
    RLock: ("__enter__", "acquire", "release"),
    Condition: ("wait", "notify"),
    Event: ("is_set", "set", "clear", "wait"),
    Semaphore: ("__enter__", "acquire", "release"),
    SimpleQueue: ("put", "get", "empty", "qsize"),
    threads: ("_init", "_start", "_join"),
    Environment: ("par", "settle", "advance"),
}


@contextmanager
def untraced_operations() -> Iterator[None]:
    """Within the block, no trace function sees what happens inside the explorer's operations."""
    traced = [
        (owner, name, vars(owner)[name]) for owner, names in _OPERATIONS.items() for name in names
    ]
    for owner, name, operation in traced:
        setattr(owner, name, _untraced(operation))
    try:
        yield
    finally:
        for owner, name, operation in traced:
            setattr(owner, name, operation)


def _untraced(operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        trace = sys.gettrace()
        if trace is None or getattr(self, "calls_subject", False):
            return operation(self, *arguments, **options)
        sys.settrace(None)
        try:
            return operation(self, *arguments, **options)
        finally:
            sys.settrace(trace)

    return call
