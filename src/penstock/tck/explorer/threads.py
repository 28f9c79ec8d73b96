"""Stand-ins for methods of the `threading` classes, which keep subclasses of them working.

A subclass that was defined before keeps its base, whose code makes locks by names that are
replaced. That is enough for most of `threading`, and these are the exceptions. Each serves objects
that were made in a run; for all others the real method answers.

Each asks first whether a run controls the calling thread; if none does, the real method answers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.tck.explorer.locks import Condition, Lock, RLock
from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.task import TracedThread, current_task

__all__ = [
    "bound",
    "hash_by_number",
    "numbered",
    "order_by_number",
    "release_all",
    "spawn_thread",
    "stand_ins_for_bases",
    "stand_ins_for_thread",
]

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


_active: dict[int | None, threading.Thread] = vars(threading)["_active"]
_DEFAULT_NAME = re.compile(r"Thread-\d+(?: \((?P<target>.*)\))?")


class _Started:
    """Takes the place of the event by which a thread knows that it was started."""

    def __init__(self) -> None:
        self._flag = False

    def is_set(self) -> bool:
        return self._flag

    def set(self) -> None:
        self._flag = True


def bound(task: TracedThread, thread: threading.Thread, body: Callable[[], object]) -> None:
    """Run ``body`` with ``thread`` as the object that stands for ``task`` in `threading`."""
    identity = task.number + 1
    vars(thread).update(_ident=identity, _native_id=identity, _explored=task)
    _active[identity] = thread
    try:
        task.run.traced(body)
    finally:
        release(thread)


def release(thread: threading.Thread) -> None:
    """Take ``thread`` out of `threading`, where the real methods shall find it ended."""
    if _active.get(thread.ident) is thread:
        del _active[thread.ident]
    vars(thread).update(_is_stopped=True, _started=_Started())


def release_all(run: ScheduledRun) -> None:
    """Take out the threads of a run that could not be ended."""
    for thread in list(_active.values()):
        task = vars(thread).get("_explored")
        if task is not None and task.run is run:
            release(thread)


def spawn_thread(me: TracedThread, thread: threading.Thread, label: str) -> TracedThread:
    """Let ``thread`` run from now on, without giving it the baton."""
    if "_explored" in vars(thread) or vars(thread)["_started"].is_set():
        raise RuntimeError("threads can only be started once")
    vars(thread)["_started"].set()
    child = me.run.start(me, lambda: bound(child, thread, thread.run), label)
    vars(thread)["_explored"] = child
    return child


# Sets of threads or futures are iterated in the order of their hashes, which are addresses unless
# told otherwise; a schedule must not depend on them.


def numbered(real_init: Callable[..., None]) -> Callable[..., None]:
    """Return an ``__init__`` that gives each new object a number of its run."""

    def init(self: object, *arguments: Any, **options: Any) -> None:
        task = current_task()
        if task is not None:
            vars(self)["_explorer_number"] = task.run.number("object")
        real_init(self, *arguments, **options)

    return init


def hash_by_number(self: object) -> int:
    """Hash an object by the number that `numbered` gave it, if it did."""
    number = vars(self).get("_explorer_number")
    return object.__hash__(self) if number is None else hash(number)


def order_by_number(thing: object) -> int:
    """Take the place of ``id`` where it serves to sort objects that `numbered` counts."""
    number = getattr(thing, "_explorer_number", None)
    return id(thing) if number is None else int(number)


def stand_ins_for_thread() -> Mapping[str, Any]:
    """Return the methods to replace in `threading.Thread`."""
    return {
        "__init__": _init,
        "__hash__": hash_by_number,
        "start": _start,
        "join": _join,
        "is_alive": _is_alive,
    }


_real_init = numbered(threading.Thread.__init__)
_real_start = threading.Thread.start
_real_join = threading.Thread.join
_real_is_alive = threading.Thread.is_alive


def _init(self: threading.Thread, *arguments: Any, **options: Any) -> None:
    _real_init(self, *arguments, **options)
    if current_task() is not None:
        vars(self)["_started"] = _Started()


def _start(self: threading.Thread) -> None:
    me = current_task()
    if me is None or not vars(self).get("_initialized"):
        _real_start(self)
    else:
        spawn_thread(me, self, _label(self.name))
        me.run.point("started")


def _join(self: threading.Thread, timeout: float | None = None) -> None:
    target: TracedThread | None = vars(self).get("_explored")
    if target is None:
        _real_join(self, timeout)
    elif target is current_task():
        raise RuntimeError("cannot join current thread")
    elif target.run.operator(target) is not target.run.outsider:
        _join_task(target, timeout)


def _join_task(target: TracedThread, timeout: float | None) -> None:
    run = target.run
    run.point("joins")
    if not target.finished and (timeout is None or timeout > 0):
        deadline = None if timeout is None else run.now + timeout
        run.block(target, target.joiners, deadline)


def _is_alive(self: threading.Thread) -> bool:
    target: TracedThread | None = vars(self).get("_explored")
    return _real_is_alive(self) if target is None else not target.finished


def _label(name: str) -> str:
    match = _DEFAULT_NAME.fullmatch(name)
    return name if match is None else match["target"] or ""
