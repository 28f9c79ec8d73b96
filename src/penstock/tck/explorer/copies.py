"""Fresh explorer primitives in the state of real ones that a subject made before the run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.tck.explorer.locks import Condition, Lock, RLock
from penstock.tck.explorer.primitives import BoundedSemaphore, Event, Semaphore, SimpleQueue

__all__ = ["copy_primitive", "is_primitive"]

_Copies = dict[int, Any]


def is_primitive(thing: object) -> bool:
    """Say whether ``thing`` is a real primitive that can be copied."""
    return type(thing) in _COPIERS


def copy_primitive(thing: Any, copies: _Copies) -> Any:
    """Return the copy of ``thing``: the same one for all places that share it."""
    if id(thing) not in copies:
        copies[id(thing)] = _COPIERS[type(thing)](thing, copies)
    return copies[id(thing)]


def _copy_condition(thing: Any, copies: _Copies) -> Any:
    return Condition(copy_primitive(thing._lock, copies))


def _copy_event(thing: Any, copies: _Copies) -> Any:
    event = Event()
    event._flag = thing._flag
    return event


def _copy_bounded_semaphore(thing: Any, copies: _Copies) -> Any:
    semaphore = BoundedSemaphore(thing._initial_value)
    semaphore._value = thing._value
    return semaphore


def _copy_queue(thing: Any, copies: _Copies) -> Any:
    copied = type(thing)(thing.maxsize)
    copied.queue.extend(thing.queue)
    copied.unfinished_tasks = thing.unfinished_tasks
    return copied


_COPIERS: Mapping[type, Callable[[Any, _Copies], Any]] = {
    type(threading.Lock()): lambda thing, copies: Lock(),
    type(threading.RLock()): lambda thing, copies: RLock(),
    threading.Condition: _copy_condition,
    threading.Event: _copy_event,
    threading.Semaphore: lambda thing, copies: Semaphore(thing._value),
    threading.BoundedSemaphore: _copy_bounded_semaphore,
    threading.Barrier: lambda thing, copies: threading.Barrier(
        thing._parties, thing._action, thing._timeout
    ),
    queue.SimpleQueue: lambda thing, copies: SimpleQueue(),
    queue.Queue: _copy_queue,
    queue.LifoQueue: _copy_queue,
    queue.PriorityQueue: _copy_queue,
}
