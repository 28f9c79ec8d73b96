"""The first contact with a subject: what hangs is reported with its place, and ended."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from penstock.tck import preflight
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.preflight import fly
from penstock.tck.report import FACTORY

Call = Callable[[], object]

nap = time.sleep
"""What a subject may do; no test waits for it."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.tck.preflight.LIMIT", 0.1)
    monkeypatch.setattr("penstock.tck.preflight.GRACE", 0.0)


def fault_of(call: Call) -> tuple[str, str] | None:
    def exercise(environment: CheckEnvironment) -> set[int]:
        environment.call("factory(3)", FACTORY, call)
        return set()

    return fly(exercise).fault


def preflight_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "preflight"]


def spins() -> None:
    while True:
        pass


def computes() -> None:
    number = 0
    while number >= 0:
        number = max(number + 1, 0)


def waits_for_an_event() -> None:
    threading.Event().wait()


def waits_for_an_event_again_and_again() -> None:
    event = threading.Event()
    while not event.wait(timeout=0.001):
        pass


def waits_for_a_condition() -> None:
    changed = threading.Condition()
    with changed:
        changed.wait_for(lambda: False)


def waits_for_a_semaphore() -> None:
    threading.Semaphore(0).acquire()


def waits_for_a_barrier() -> None:
    threading.Barrier(2).wait()


def waits_for_a_queue() -> None:
    queue.Queue[int]().get()


def waits_for_a_future() -> None:
    Future[int]().result()


def polls_with_naps() -> None:
    while True:
        nap(0.001)


def swallows_its_end_once() -> None:
    try:
        threading.Event().wait()
    except BaseException:
        spins()


CAN_BE_ENDED = [
    spins,
    computes,
    waits_for_an_event,
    waits_for_an_event_again_and_again,
    waits_for_a_condition,
    waits_for_a_semaphore,
    waits_for_a_barrier,
    waits_for_a_queue,
    waits_for_a_future,
    polls_with_naps,
    swallows_its_end_once,
]


@pytest.mark.parametrize("call", CAN_BE_ENDED)
def test_a_factory_that_hangs_leaves_no_thread_behind(call: Call) -> None:
    fault = fault_of(call)
    assert fault is not None
    rule, message = fault
    assert rule == FACTORY
    assert "factory(3) did not return within 0.1 s, it is at test_preflight.py:" in message
    assert "cannot be ended" not in message
    assert preflight_threads() == []


def test_what_a_call_holds_is_released_when_it_is_ended() -> None:
    lock = threading.Lock()

    def hold() -> None:
        with lock:
            threading.Event().wait()

    fault_of(hold)
    assert lock.acquire(blocking=False)


def test_the_end_of_a_hanging_call_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    fault_of(spins)
    assert capfd.readouterr() == ("", "")


def test_a_thread_that_waits_in_c_is_left_behind_and_the_report_says_so() -> None:
    lock = threading.Lock()
    lock.acquire()
    fault = fault_of(lock.acquire)
    assert fault is not None
    assert fault[1].endswith(", and its thread cannot be ended")
    (thread,) = preflight_threads()
    lock.release()
    thread.join()


def test_a_thread_that_was_left_behind_goes_no_further_when_its_call_returns() -> None:
    lock = threading.Lock()
    lock.acquire()
    went_on: list[bool] = []

    def exercise(environment: CheckEnvironment) -> set[int]:
        environment.call("factory(3)", FACTORY, lock.acquire)
        went_on.append(True)
        return set()

    fly(exercise)
    (thread,) = preflight_threads()
    lock.release()
    thread.join()
    assert went_on == []


def test_a_thread_that_swallows_its_end_for_ever_does_not_run_on() -> None:
    def stay() -> None:
        while True:
            try:
                spins()
            except BaseException:
                pass

    fault = fault_of(stay)
    assert fault is not None
    assert fault[1].endswith(", and its thread cannot be ended")
    (thread,) = preflight_threads()
    thread.name = "parked"
    assert thread.ident is not None
    frame = sys._current_frames()[thread.ident]
    assert frame.f_code.co_name == "_park"


def test_a_hanging_call_does_not_hang_a_caller_that_is_traced() -> None:
    def trace(*_: object) -> None:
        return None

    before = sys.gettrace()
    lock = threading.Lock()
    lock.acquire()
    sys.settrace(trace)
    try:
        fault_of(spins)
        fault_of(waits_for_a_queue)
        fault_of(lock.acquire)
    finally:
        sys.settrace(before)
    (thread,) = preflight_threads()
    lock.release()
    thread.join()


def test_a_call_that_returns_is_no_fault() -> None:
    assert fault_of(lambda: None) is None


def test_a_call_that_raises_is_a_fault_of_the_factory() -> None:
    def fail() -> None:
        raise ArithmeticError("no luck")

    assert fault_of(fail) == (FACTORY, "factory(3) raised ArithmeticError('no luck')")


@pytest.mark.parametrize("ticks_by_itself", [True, False])
def test_a_thread_that_only_wakes_up_with_the_subject_belongs_to_it(
    ticks_by_itself: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches = 0

    def sleep(seconds: float) -> None:
        nonlocal switches
        switches += ticks_by_itself and seconds != preflight.REST

    def exercise(_: CheckEnvironment) -> set[int]:
        nonlocal switches
        switches += 1
        return set()

    monkeypatch.setattr(preflight, "_switches_of_threads", lambda: {0: str(switches)})
    monkeypatch.setattr(preflight, "_sleep", sleep)
    assert fly(exercise).controllable is ticks_by_itself
