"""Locks and conditions behave as those of `threading`, in all schedules and in virtual time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.tck import Environment
from tests.tck.explorer.judging import breaks, holds


def test_a_lock_lets_one_thread_in_at_a_time() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        inside: list[int] = []

        def enter() -> None:
            with lock:
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

        env.par(enter, enter)

    holds(scenario, bound=2)


def test_every_thread_that_waits_for_a_lock_may_get_it_next() -> None:
    orders: set[str] = set()

    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        order: list[str] = []

        def enter(name: str) -> None:
            with lock:
                order.append(name)

        env.par(lambda: enter("a"), lambda: enter("b"), lambda: enter("c"))
        orders.add("".join(order))

    holds(scenario, level="sync")
    assert orders == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_a_lock_that_is_held_is_not_acquired_without_blocking() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        assert lock.acquire()
        assert lock.locked()
        assert not lock.acquire(blocking=False)
        lock.release()
        assert not lock.locked()
        assert lock.acquire(blocking=False)

    holds(scenario)


def test_a_try_that_fails_while_another_thread_holds_the_lock_is_explored() -> None:
    outcomes: set[bool] = set()

    def scenario(env: Environment) -> None:
        lock = threading.Lock()

        def hold() -> None:
            lock.acquire()
            lock.release()

        def attempt() -> None:
            acquired = lock.acquire(blocking=False)
            outcomes.add(acquired)
            if acquired:
                lock.release()

        env.par(hold, attempt)

    for level in ("gil", "visible", "sync"):
        outcomes.clear()
        holds(scenario, level=level)
        assert outcomes == {True, False}


def test_a_lock_is_awaited_no_longer_than_its_timeout() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        lock.acquire()

        def wait() -> None:
            assert not lock.acquire(timeout=5)
            assert env.now == 5

        env.par(wait)
        assert env.now == 5

    holds(scenario)


def test_a_lock_released_before_the_timeout_is_acquired() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        lock.acquire()
        threading.Timer(3, lock.release).start()
        assert lock.acquire(timeout=5)
        assert env.now == 3

    holds(scenario)


def test_any_thread_may_release_a_lock() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        lock.acquire()
        env.par(lock.release)
        assert lock.acquire(blocking=False)

    holds(scenario)


def test_a_reentrant_lock_is_free_when_its_holder_left_as_often_as_it_entered() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.RLock()
        depth = []

        def enter_twice() -> None:
            with lock:
                depth.append(1)
                with lock:
                    assert len(depth) == 1
                assert not env.par(lambda: lock.acquire(blocking=False))[0]
                depth.pop()

        env.par(enter_twice, enter_twice)
        assert lock.acquire(blocking=False)

    holds(scenario)


def test_a_waiting_thread_gives_a_reentrant_lock_up_at_any_depth() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()
        ready: list[int] = []

        def wait() -> None:
            with condition, condition:
                while not ready:
                    condition.wait()
                condition.release()
                condition.acquire()

        def wake() -> None:
            with condition:
                ready.append(1)
                condition.notify()

        env.par(wait, wake)

    holds(scenario, bound=2)


def test_waiting_threads_are_notified_in_the_order_in_which_they_came() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()
        woken: list[str] = []

        def wait(name: str) -> None:
            with condition:
                condition.wait()
                woken.append(name)

        for name in "abc":
            threading.Thread(target=wait, args=(name,)).start()
            env.settle()
        for count in (1, 2, 3):
            with condition:
                condition.notify()
            env.settle()
            assert "".join(woken) == "abc"[:count]

    holds(scenario)


def test_notifying_all_wakes_every_waiting_thread() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition(threading.Lock())
        woken: list[int] = []

        def wait() -> None:
            with condition:
                condition.wait()
                woken.append(1)

        for _ in range(3):
            threading.Thread(target=wait).start()
        env.settle()
        with condition:
            condition.notify_all()
            assert woken == []
        env.settle()
        assert len(woken) == 3

    holds(scenario, level="sync")


def test_a_wait_on_a_condition_ends_at_its_timeout_with_the_lock_held() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()
        with condition:
            assert not condition.wait(timeout=7)
            assert env.now == 7
            assert not env.par(lambda: condition.acquire(blocking=False))[0]

    holds(scenario)


def test_a_notification_before_the_timeout_counts_even_if_the_lock_comes_late() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()

        def wait() -> None:
            with condition:
                assert condition.wait(timeout=5)
                assert env.now == 10

        thread = threading.Thread(target=wait)
        thread.start()
        env.settle()
        with condition:
            condition.notify()
            env.advance(10)
        thread.join()

    holds(scenario)


def test_waiting_for_a_predicate_returns_its_value_or_times_out() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()
        values: list[str] = []

        def put() -> None:
            with condition:
                values.append("value")
                condition.notify_all()

        threading.Timer(2, put).start()
        with condition:
            assert condition.wait_for(lambda: values, timeout=1) == []
            assert env.now == 1
            assert condition.wait_for(lambda: values, timeout=9) == ["value"]
            assert env.now == 2

    holds(scenario)


def test_polling_a_condition_lets_others_have_the_lock() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()
        done: list[int] = []

        def set_done() -> None:
            with condition:
                done.append(1)

        def poll() -> None:
            with condition:
                while not done:
                    assert not condition.wait(timeout=0)

        env.par(poll, set_done)

    holds(scenario, level="sync")


def test_a_wake_up_that_comes_before_the_wait_is_lost_and_found() -> None:
    def scenario(env: Environment) -> None:
        condition = threading.Condition()

        def wait() -> None:
            with condition:
                condition.wait()

        def wake() -> None:
            with condition:
                condition.notify()

        env.par(wait, wake)

    violation = breaks(scenario)
    assert "deadlock" in violation.message
    assert "waits for Condition 1" in violation.message


MISUSES: dict[str, Callable[[], object]] = {
    "release a free lock": lambda: threading.Lock().release(),
    "release a free reentrant lock": lambda: threading.RLock().release(),
    "a timeout without blocking": lambda: threading.Lock().acquire(blocking=False, timeout=1),
    "a negative timeout": lambda: threading.Lock().acquire(timeout=-2),
    "wait without the lock": lambda: threading.Condition().wait(),
    "notify without the lock": lambda: threading.Condition().notify(),
    "notify all without the lock": lambda: threading.Condition().notify_all(),
    "notify without a plain lock": lambda: threading.Condition(threading.Lock()).notify(),
    "a negative semaphore": lambda: threading.Semaphore(-1),
    "release a semaphore by nothing": lambda: threading.Semaphore().release(0),
    "a semaphore's timeout": lambda: threading.Semaphore().acquire(blocking=False, timeout=1),
    "release a full semaphore": lambda: threading.BoundedSemaphore(1).release(),
    "join a thread that did not start": lambda: threading.Thread().join(),
}


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES)
def test_misuse_raises_the_error_that_threading_raises(misuse: Callable[[], object]) -> None:
    with pytest.raises((RuntimeError, ValueError)) as real:
        misuse()

    def scenario(env: Environment) -> None:
        with pytest.raises(type(real.value)) as explored:
            misuse()
        assert str(explored.value) == str(real.value)

    holds(scenario, level="sync")


def test_a_condition_that_outlives_its_run_can_still_be_notified() -> None:
    kept: list[threading.Condition] = []
    holds(lambda env: kept.append(env.condition()), bound=0)
    with kept[0]:
        kept[0].notify()


@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_a_lock_that_was_held_when_its_run_was_given_up_is_free_afterwards(kind: str) -> None:
    kept: list[Any] = []

    def scenario(env: Environment) -> None:
        kept.append(getattr(threading, kind)())
        with kept[-1]:
            env.fail("1.1", "on purpose")

    breaks(scenario)
    with kept[-1]:
        pass
    assert kept[-1].acquire(blocking=False)
