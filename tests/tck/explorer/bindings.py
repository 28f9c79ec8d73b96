"""A subject that binds primitives before it is explored, in every way that a module can."""

from __future__ import annotations

import functools
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Lock, RLock
from typing import Any, ClassVar

module_lock = Lock()
module_reentrant_lock = RLock()
module_condition = Condition(module_lock)
module_event = threading.Event()
module_event.set()
module_semaphore = threading.Semaphore(3)
module_bounded_semaphore = threading.BoundedSemaphore(2)
module_barrier = threading.Barrier(2)
module_queue: queue.Queue[int] = queue.Queue(maxsize=5)
module_queue.put(8)
module_simple_queue: queue.SimpleQueue[int] = queue.SimpleQueue()


def default_argument(new_lock: Callable[[], Any] = threading.Lock) -> object:
    return new_lock()


def default_keyword(*, new_lock: Callable[[], Any] = threading.RLock) -> object:
    return new_lock()


def default_that_is_a_lock(lock: Any = module_lock) -> object:
    return lock


def closing_over(new_lock: Callable[[], Any]) -> Callable[[], object]:
    def make() -> object:
        return new_lock()

    return make


closure = closing_over(threading.Lock)


def wrapped(function: Callable[[], object]) -> Callable[[], object]:
    @functools.wraps(function)
    def call() -> object:
        return function()

    return call


@wrapped
def wrapped_function(new_lock: Callable[[], Any] = threading.Lock) -> object:
    return new_lock()


class Holder:
    new_lock = staticmethod(threading.Lock)
    lock_class: ClassVar[Any] = threading.Lock
    shared: ClassVar[Any] = threading.Lock()
    clock: ClassVar[Any] = time.monotonic

    def __init__(self, new_condition: Callable[[], Any] = threading.Condition) -> None:
        self.condition = new_condition()

    @classmethod
    def from_class_method(cls, new_event: Callable[[], Any] = threading.Event) -> object:
        return new_event()

    @property
    def from_property(self) -> object:
        return self._make()

    def _make(self, new_lock: Callable[[], Any] = threading.Lock) -> object:
        return new_lock()

    class Nested:
        new_lock = staticmethod(threading.Lock)


@dataclass
class Record:
    lock: Any = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Runtime:
    new_lock: Callable[[], Any] = threading.Lock
    lock: Any = field(default_factory=threading.Lock)


runtime = Runtime()


def default_that_is_an_object(used: Runtime = runtime) -> object:
    return used.new_lock()


class Slotted:
    __slots__ = ("lock", "other")

    def __init__(self) -> None:
        self.lock = threading.Lock()


slotted = Slotted()


def lock_in_a_slot() -> object:
    return slotted.lock


def imported_name() -> object:
    return Lock()


def imported_reentrant_lock() -> object:
    return RLock()


def attribute_of_a_module() -> object:
    return threading.Lock()


def static_method() -> object:
    return Holder.new_lock()


def class_attribute() -> object:
    return Holder().lock_class()


def lock_of_a_class() -> object:
    return Holder.shared


def default_of_a_method() -> object:
    return Holder().condition


def default_of_a_class_method() -> object:
    return Holder.from_class_method()


def default_of_a_property() -> object:
    return Holder().from_property


def nested_class() -> object:
    return Holder.Nested.new_lock()


def field_of_a_dataclass() -> object:
    return Record().lock


def factory_of_an_object() -> object:
    return runtime.new_lock()


def lock_of_an_object() -> object:
    return runtime.lock


def lock_of_the_module() -> object:
    return module_lock


def reentrant_lock_of_the_module() -> object:
    return module_reentrant_lock


def condition_of_the_module() -> object:
    return module_condition
