"""The explorer's primitives reach a subject wherever it holds the real ones, and leave it again."""

from __future__ import annotations

import _thread
import concurrent.futures.thread as pool
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from penstock.tck import Environment, Verdict, explore
from penstock.tck.explorer.locks import Condition, Lock, RLock
from penstock.tck.explorer.patching import places_in
from penstock.tck.explorer.primitives import Event, Primitive
from tests.tck.explorer import bindings

MADE = {
    bindings.imported_name: Lock,
    bindings.imported_reentrant_lock: RLock,
    bindings.attribute_of_a_module: Lock,
    bindings.default_argument: Lock,
    bindings.default_keyword: RLock,
    bindings.default_that_is_a_lock: Lock,
    bindings.default_that_is_an_object: Lock,
    bindings.closure: Lock,
    bindings.wrapped_function: Lock,
    bindings.static_method: Lock,
    bindings.class_attribute: Lock,
    bindings.lock_of_a_class: Lock,
    bindings.default_of_a_method: Condition,
    bindings.default_of_a_class_method: Event,
    bindings.default_of_a_property: Lock,
    bindings.nested_class: Lock,
    bindings.field_of_a_dataclass: Lock,
    bindings.factory_of_an_object: Lock,
    bindings.lock_of_an_object: Lock,
    bindings.lock_in_a_slot: Lock,
    bindings.lock_of_the_module: Lock,
    bindings.reentrant_lock_of_the_module: RLock,
    bindings.condition_of_the_module: Condition,
}


@pytest.mark.parametrize(("make", "kind"), MADE.items())
def test_the_subject_gets_a_primitive_of_the_explorer_from(
    make: Callable[[], object], kind: type[Primitive]
) -> None:
    before = type(make())

    def scenario(env: Environment) -> None:
        assert type(make()) is kind

    found = explore(scenario, subject=bindings, seeds=())
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()
    assert type(make()) is before
    assert not issubclass(before, Primitive)


def test_a_clock_in_a_class_does_not_turn_into_a_method() -> None:
    def scenario(env: Environment) -> None:
        assert bindings.Holder().clock() == 0

    found = explore(scenario, subject=bindings, seeds=())
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()
    assert bindings.Holder().clock() > 0


def test_what_a_module_made_before_keeps_its_state() -> None:
    def scenario(env: Environment) -> None:
        assert bindings.module_event.is_set()
        assert [bindings.module_semaphore.acquire(blocking=False) for _ in range(4)] == [
            True,
            True,
            True,
            False,
        ]
        with pytest.raises(ValueError, match="too many"):
            bindings.module_bounded_semaphore.release()
        assert sorted(env.par(bindings.module_barrier.wait, bindings.module_barrier.wait)) == [0, 1]
        assert bindings.module_queue.get() == 8
        assert bindings.module_queue.maxsize == 5
        assert bindings.module_simple_queue.empty()
        with bindings.module_condition:
            assert bindings.module_lock.locked()

    found = explore(scenario, subject=bindings, level="sync", bound=0)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()
    assert bindings.module_queue.qsize() == 1


def test_a_lock_that_a_run_left_held_is_free_in_the_next() -> None:
    def scenario(env: Environment) -> None:
        assert bindings.module_lock.acquire(blocking=False)
        assert bindings.Holder.shared.acquire(blocking=False)

    found = explore(scenario, subject=bindings)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()
    assert not bindings.module_lock.locked()


def test_a_lock_that_the_subject_keeps_from_run_to_run_begins_afresh() -> None:
    registry: list[Any] = []

    def scenario(env: Environment) -> None:
        if not registry:
            registry.extend([threading.Lock(), threading.Event(), threading.Condition()])
        lock, event, condition = registry
        assert lock.acquire(blocking=False)
        assert not event.is_set()
        event.set()
        with condition:
            condition.notify()

    found = explore(scenario)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_what_a_module_makes_while_it_is_imported_is_real() -> None:
    made: list[object] = []

    def scenario(env: Environment) -> None:
        code = compile("import threading; lock = threading.Lock()", "late.py", "exec")
        names: dict[str, object] = {}
        exec(code, names)
        made.append(names["lock"])

    explore(scenario, bound=0, seeds=())
    assert {type(lock) for lock in made} == {type(threading.Lock())}


def test_threads_outside_the_run_get_real_primitives_and_real_time() -> None:
    asked, answered = threading.Event(), threading.Event()
    answers: list[object] = []

    def outsider() -> None:
        asked.wait()
        answers.extend([threading.Lock(), threading.Event(), time.monotonic()])
        thread = threading.Thread(target=answers.append, args=("ran",))
        thread.start()
        thread.join()
        answered.set()

    def scenario(env: Environment) -> None:
        asked.set()
        answered.wait(timeout=60)

    thread = threading.Thread(target=outsider)
    thread.start()
    explore(scenario, bound=0, seeds=())
    thread.join()
    lock, event, moment, ran = answers
    assert type(lock) is type(threading.Lock())
    assert type(event) is threading.Event
    assert isinstance(moment, float)
    assert moment > 0
    assert ran == "ran"


class Everything:
    """Has every identity in it."""

    def __contains__(self, identity: object) -> bool:
        return True


def surroundings() -> list[object]:
    """All that an exploration may touch, to be compared before and after."""
    modules = [threading, time, _thread, queue, pool, bindings]
    names = [value for module in modules for value in vars(module).values()]
    places = [place.value for place in places_in([queue, pool, bindings], Everything())]
    classes = [threading.Thread, threading.Condition, threading.BoundedSemaphore]
    methods = [
        value for kind in (*classes, pool.ThreadPoolExecutor) for value in vars(kind).values()
    ]
    futures = [*vars(Future).values(), "id" in vars(sys.modules[Future.__module__])]
    hooks = [sys.gettrace(), sys.unraisablehook, threading.excepthook, threading.gettrace()]
    filters = list(logging.getLogger("concurrent.futures").filters)
    return [*names, *places, *methods, *futures, *hooks, *filters, *threading.enumerate()]


def quiet(env: Environment) -> None:
    with pool.ThreadPoolExecutor(2) as workers:
        workers.submit(bindings.default_argument)


def failing(env: Environment) -> None:
    quiet(env)
    raise LookupError


def idle(env: Environment) -> None:
    threading.Thread(target=bindings.module_event.wait).start()
    pool.ThreadPoolExecutor(1).submit(int)


def interrupted(env: Environment) -> None:
    quiet(env)
    raise KeyboardInterrupt


@pytest.mark.parametrize("level", ["gil", "visible", "sync"])
@pytest.mark.parametrize("scenario", [quiet, failing, idle])
def test_nothing_is_left_behind_after(scenario: Callable[[Environment], None], level: str) -> None:
    before = surroundings()
    threads = _thread._count()
    explore(scenario, subject=bindings, level=level, bound=1, seeds=range(5), budget=3)
    assert [id(thing) for thing in surroundings()] == [id(thing) for thing in before]
    assert _thread._count() == threads


@pytest.mark.parametrize("level", ["gil", "visible", "sync"])
def test_an_interrupt_reaches_the_caller_and_leaves_nothing_behind(level: str) -> None:
    before = surroundings()
    threads = _thread._count()
    with pytest.raises(KeyboardInterrupt):
        explore(interrupted, subject=bindings, level=level)
    assert [id(thing) for thing in surroundings()] == [id(thing) for thing in before]
    assert _thread._count() == threads


def test_a_trace_function_of_the_caller_stays_in_place() -> None:
    def trace(*_: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        explore(quiet, subject=bindings, bound=0, seeds=())
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
