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
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.tck.explorer.clocks import stand_ins_for_functions
from penstock.tck.explorer.locks import Condition, Lock, RLock
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

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["Patches", "places_in"]


_MISSING = object()
_Copies = dict[int, Any]

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
            place.put(_copy_primitive(place.value, copies))
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
        for place in places_in([queue, pool, *self._subject], stand_ins.keys()):
            self._consider(place, stand_ins)

    def _consider(self, place: PatchedPlace, stand_ins: Mapping[int, Any]) -> None:
        self._undo.append(lambda: place.put(place.value))
        if id(place.value) in stand_ins:
            place.put(stand_ins[id(place.value)])
        else:
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

        self._set(BaseEventLoop, "__init__", _quiet_after_its_run(BaseEventLoop.__init__))

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


def _quiet_after_its_run(real_init: Callable[..., None]) -> Callable[..., None]:
    """Return an ``__init__`` of loops that report nothing once their run is over.

    A run that is over unwinds its threads. So tasks are left where they stand, or have failed with
    what unwound them; asyncio would write a message about each of them, at any time later.
    """

    def init(self: AbstractEventLoop, *arguments: Any, **options: Any) -> None:
        real_init(self, *arguments, **options)
        task = current_task()
        if task is not None:
            self.set_exception_handler(_reporting_during(task.run))

    return init


def _reporting_during(run: ScheduledRun) -> Callable[[AbstractEventLoop, dict[str, Any]], object]:
    """Return a handler that does as usual until ``run`` is over."""

    def report(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        if not run.aborting:
            loop.default_exception_handler(context)

    return report


@dataclass(frozen=True)
class PatchedPlace:
    """One place in the subject: what it held when it was found, and how to put something else."""

    value: Any
    put: Callable[[Any], None]


def places_in(modules: Sequence[ModuleType], replaced: Container[int]) -> list[PatchedPlace]:
    """All places in ``modules`` that hold a primitive, or an object of one of these identities.

    They are looked for in the classes, functions and objects that the modules define, as well.
    """
    walk = _Walk({module.__name__ for module in modules}, replaced)
    for module in modules:
        walk.through_namespace(module)
    return walk.places


_PLAIN: Final = frozenset((type(None), bool, int, float, str, bytes, tuple, list, dict, ModuleType))
"""Nothing of these kinds is replaced, nor looked into; most values of a module are of them."""


class _Walk:
    """Goes through all of the subject for each exploration, so it does little for each value.

    All of it happens on the thread that explores.
    """

    def __init__(self, module_names: set[str], replaced: Container[int]) -> None:
        self.places: list[PatchedPlace] = []
        self._module_names = module_names
        self._replaced = replaced
        self._seen: set[int] = set()

    def through_namespace(self, owner: Any) -> None:
        """The attributes of a module, a class or an object, and what is inside them."""
        for name, value in _attributes(owner).items():
            if type(value) in _PLAIN:
                continue
            if isinstance(value, staticmethod):
                self._note(value.__func__, _static_setter, owner, name)
            else:
                self._note(value, _setter, owner, name)
            self._inside(value)

    def _note(self, value: Any, setter: Callable[..., Callable[[Any], None]], *place: Any) -> None:
        if id(value) in self._replaced or _is_primitive(value):
            self.places.append(PatchedPlace(value, setter(*place)))

    def _inside(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, FunctionType):
            self._through_function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            self._inside(value.__func__)
        elif isinstance(value, property):
            for function in (value.fget, value.fset, value.fdel):
                self._inside(function)
        elif self._is_ours(value):
            self.through_namespace(value)

    def _is_ours(self, value: Any) -> bool:
        kind = value if isinstance(value, type) else type(value)
        return kind.__module__ in self._module_names

    def _through_function(self, function: FunctionType) -> None:
        if function.__module__ not in self._module_names:
            return
        for index, value in enumerate(function.__defaults__ or ()):
            self._note(value, _default_setter, function, index)
            self._inside(value)
        for name, value in (function.__kwdefaults__ or {}).items():
            self._note(value, _keyword_default_setter, function, name)
            self._inside(value)
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # a name that is not bound yet
                continue
            self._note(value, _cell_setter, cell)
            self._inside(value)


def _attributes(owner: Any) -> dict[str, Any]:
    attributes = dict(getattr(owner, "__dict__", {}))
    if not isinstance(owner, (type, ModuleType)):
        for kind in type(owner).__mro__:
            slots = vars(kind).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name in vars(kind) and hasattr(owner, name):
                    attributes[name] = getattr(owner, name)
    return attributes


def _setter(owner: Any, name: str) -> Callable[[Any], None]:
    if isinstance(owner, (type, ModuleType)):
        return lambda value: setattr(owner, name, value)
    # An object may refuse assignment, as frozen dataclasses do.
    return lambda value: object.__setattr__(owner, name, value)


def _static_setter(owner: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, staticmethod(value))


def _default_setter(function: FunctionType, index: int) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        defaults = list(function.__defaults__ or ())
        defaults[index] = value
        function.__defaults__ = tuple(defaults)

    return put


def _keyword_default_setter(function: FunctionType, name: str) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), name: value}

    return put


def _cell_setter(cell: Any) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        cell.cell_contents = value

    return put


def _is_primitive(thing: object) -> bool:
    """Say whether ``thing`` is a real primitive that can be copied."""
    return type(thing) in _COPIERS


def _copy_primitive(thing: Any, copies: _Copies) -> Any:
    """Return the copy of ``thing``: the same one for all places that share it."""
    if id(thing) not in copies:
        copies[id(thing)] = _COPIERS[type(thing)](thing, copies)
    return copies[id(thing)]


def _copy_condition(thing: Any, copies: _Copies) -> Any:
    return Condition(_copy_primitive(thing._lock, copies))


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
