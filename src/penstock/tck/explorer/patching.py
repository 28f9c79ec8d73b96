"""Puts the explorer's primitives where a subject looks for the real ones, and takes them back.

Names are replaced for a whole exploration, since each stand-in asks which run it serves. A lock or
the like that exists before, such as a module's own lock, is replaced for each run.
"""

from __future__ import annotations

import _thread
import concurrent.futures._base as futures
import concurrent.futures.thread as pool
import itertools
import logging
import queue
import sys
import threading
import time
import weakref
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Self

from penstock.tck.explorer.clocks import stand_ins_for_functions
from penstock.tck.explorer.copies import copy_primitive, is_primitive
from penstock.tck.explorer.locks import Condition, Lock, RLock
from penstock.tck.explorer.places import PatchedPlace, places_in
from penstock.tck.explorer.primitives import BoundedSemaphore, Event, Semaphore, SimpleQueue
from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.task import Abort, current_task
from penstock.tck.explorer.threads import (
    hash_by_number,
    numbered,
    order_by_number,
    stand_ins_for_bases,
    stand_ins_for_thread,
)

__all__ = [
    "Patches",
    "quiet_after_its_run",
]


def quiet_after_its_run(real_init: Callable[..., None]) -> Callable[..., None]:
    """Return an ``__init__`` of loops that report nothing once their run is over.

    A run that is over unwinds its threads. So tasks are left where they stand, or have failed with
    what unwound them; asyncio would write a message about each of them, at any time later.
    """

    def init(self: AbstractEventLoop, *arguments: Any, **options: Any) -> None:
        real_init(self, *arguments, **options)
        task = current_task()
        if task is not None:
            self.set_exception_handler(reporting_during(task.run))

    return init


def reporting_during(run: ScheduledRun) -> Callable[[AbstractEventLoop, dict[str, Any]], object]:
    """Return a handler that does as usual until ``run`` is over."""

    def report(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        if not run.aborting:
            loop.default_exception_handler(context)

    return report


_MISSING = object()

_PATCHED_NAMES: Mapping[ModuleType, tuple[str, ...]] = {
    threading: (
        "Lock",
        "RLock",
        "Condition",
        "Event",
        "Semaphore",
        "BoundedSemaphore",
        "get_ident",
        "_time",
    ),
    time: (
        "sleep",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "time",
        "time_ns",
    ),
    # The import system takes its locks from _thread.allocate_lock, which must stay real.
    _thread: ("start_new_thread",),
}


class Patches:
    """All that one exploration replaces, as a context manager."""

    def __init__(self, subject: Sequence[ModuleType]) -> None:
        self._subject = subject
        self._undo: list[Callable[[], None]] = []
        self._existing: list[PatchedPlace] = []

    def __enter__(self) -> Self:
        try:
            self._replace()
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def renew(self) -> None:
        """Give the subject fresh primitives; the new run must control the calling thread."""
        copies: dict[int, Any] = {}
        for place in self._existing:
            place.put(copy_primitive(place.value, copies))
        # Names of threads count from one in every run.
        _put(threading, "_counter", itertools.count(1).__next__)
        _put(pool, "_threads_queues", weakref.WeakKeyDictionary())
        _put(pool.ThreadPoolExecutor, "_counter", itertools.count().__next__)

    def _replace(self) -> None:
        stand_ins = _stand_ins()
        for module, names in _PATCHED_NAMES.items():
            for name in names:
                self._set(module, name, stand_ins[id(getattr(module, name))])
        methods_by_class = {**stand_ins_for_bases(), threading.Thread: stand_ins_for_thread()}
        for kind, methods in methods_by_class.items():
            for name, method in methods.items():
                self._set(kind, name, method)
        self._set(futures.Future, "__init__", numbered(futures.Future.__init__))
        self._set(futures.Future, "__hash__", hash_by_number)
        self._set(futures, "id", order_by_number)
        for owner, name in (
            (threading, "_counter"),
            (pool, "_threads_queues"),
            (pool.ThreadPoolExecutor, "_counter"),
        ):
            self._set(owner, name, getattr(owner, name))
        self._silence_log()
        self._silence_loops()
        self._silence_unraisable()
        for place in places_in([queue, pool, *self._subject]):
            self._consider(place, stand_ins)

    def _consider(self, place: PatchedPlace, stand_ins: Mapping[int, Any]) -> None:
        if id(place.value) in stand_ins:
            self._undo.append(lambda: place.put(place.value))
            place.put(stand_ins[id(place.value)])
        elif is_primitive(place.value):
            self._undo.append(lambda: place.put(place.value))
            self._existing.append(place)

    def _set(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner).get(name, _MISSING)
        if before is _MISSING:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: _put(owner, name, before))
        _put(owner, name, value)

    def _silence_loops(self) -> None:
        # Imported here: those that do not explore need not wait for asyncio.
        from asyncio import BaseEventLoop

        from penstock.tck.explorer.patching import quiet_after_its_run

        self._set(BaseEventLoop, "__init__", quiet_after_its_run(BaseEventLoop.__init__))

    def _silence_unraisable(self) -> None:
        # The same for finalizers and callbacks of weak references.
        real = sys.unraisablehook

        def hook(unraisable: Any, /) -> None:
            if not issubclass(unraisable.exc_type, Abort):
                real(unraisable)

        self._set(sys, "unraisablehook", hook)

    def _silence_log(self) -> None:
        # A pool's worker logs whatever unwinds it, and a run that is over unwinds all threads.
        def unrelated(record: logging.LogRecord) -> bool:
            return not (record.exc_info and isinstance(record.exc_info[1], Abort))

        futures.LOGGER.addFilter(unrelated)
        self._undo.append(lambda: futures.LOGGER.removeFilter(unrelated))

    def _restore(self) -> None:
        while self._undo:
            self._undo.pop()()


def _put(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


def _stand_ins() -> Mapping[int, Any]:
    """Return the stand-in of each replaced object, by its identity."""
    by_object: dict[Any, Any] = {
        _thread.allocate_lock: Lock,
        threading.Lock: Lock,
        threading.RLock: RLock,
        _thread.RLock: RLock,
        threading.Condition: Condition,
        threading.Event: Event,
        threading.Semaphore: Semaphore,
        threading.BoundedSemaphore: BoundedSemaphore,
        queue.SimpleQueue: SimpleQueue,
        **stand_ins_for_functions(),
    }
    return {id(real): stand_in for real, stand_in in by_object.items()}
