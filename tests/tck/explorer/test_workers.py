"""System threads serve many runs, and no run can tell."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import decimal
import os
import sys
import threading

import pytest

from penstock.tck import Environment, Verdict, explore
from penstock.tck.explorer.workers import OneCore, Worker, Workers
from tests.tck.explorer import hostile
from tests.tck.explorer.judging import holds

variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")


def served() -> tuple[Workers, Worker]:
    """Return a worker that has served once."""
    workers = Workers(OneCore())
    worker = workers.hire()
    ended = _thread.allocate_lock()
    ended.acquire()
    worker.start(lambda: None, ended)
    ended.acquire()
    return workers, worker


def test_a_thread_serves_again_where_its_local_data_can_be_forgotten() -> None:
    workers, worker = served()
    workers.take_back(worker, intact=True)
    # Since Python 3.13 nobody but the interpreter can drop what a thread keeps.
    can_forget = sys.version_info < (3, 13)
    assert worker.is_as_new is can_forget
    again = workers.hire()
    assert (again is worker) is can_forget
    workers.take_back(again, intact=True)
    workers.close()
    assert not {worker.ident, again.ident} & sys._current_frames().keys()


def test_a_thread_into_which_an_exception_was_sent_does_not_serve_again() -> None:
    workers, worker = served()
    workers.take_back(worker, intact=False)
    workers.close()
    assert worker.ident not in sys._current_frames()


class Counted(threading.local):
    """Thread-local data with a start value."""

    def __init__(self) -> None:
        self.number = 0


def test_thread_local_data_begins_afresh_in_every_run() -> None:
    plain = threading.local()
    counted = Counted()

    def use() -> None:
        assert vars(plain) == {}
        assert counted.number == 0
        plain.value = 1
        counted.number += 1

    def scenario(env: Environment) -> None:
        use()
        env.par(use, use)

    holds(scenario)


def test_thread_local_data_of_a_run_is_given_up_at_its_end() -> None:
    local = threading.local()
    dropped: list[int] = []

    class Value:
        def __del__(self) -> None:
            dropped.append(1)

    def scenario(env: Environment) -> None:
        local.value = Value()

    found = explore(scenario, level="sync", seeds=())
    assert len(dropped) == found.schedules + 3  # the first runs only warm up


def test_context_variables_begin_afresh_in_every_run() -> None:
    def use() -> None:
        assert variable.get(0) == 0
        assert decimal.getcontext().prec == decimal.DefaultContext.prec
        variable.set(1)
        decimal.getcontext().prec = 3

    def scenario(env: Environment) -> None:
        use()
        env.par(use, use)

    holds(scenario, level="sync")


def test_no_event_loop_is_left_from_an_earlier_run() -> None:
    async def nothing() -> None:
        pass

    def scenario(env: Environment) -> None:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        asyncio.run(nothing())

    holds(scenario, level="sync")


def test_hooks_that_the_subject_sets_do_not_reach_the_next_run() -> None:
    def trace(*_: object) -> None:
        return None

    def scenario(env: Environment) -> None:
        assert sys.gettrace() is not trace
        assert sys.getprofile() is None
        assert sys.get_asyncgen_hooks().firstiter is None
        sys.settrace(trace)
        sys.setprofile(trace)
        sys.set_asyncgen_hooks(firstiter=trace)

    holds(scenario, level="sync")


def test_a_scenario_that_must_be_interrupted_leaves_no_thread() -> None:
    before = set(sys._current_frames())
    found = explore(hostile.spins, level="sync", budget=0.2)
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()
    assert set(sys._current_frames()) == before


def cores_of_this_thread() -> set[int]:
    """Return nothing where the system has no say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def test_the_threads_of_a_run_share_a_core_and_the_caller_gets_its_own_back() -> None:
    before = cores_of_this_thread()
    seen: list[set[int]] = []

    def scenario(env: Environment) -> None:
        seen.append(cores_of_this_thread())
        seen.extend(env.par(cores_of_this_thread, cores_of_this_thread))

    explore(scenario, level="sync", bound=0)
    assert cores_of_this_thread() == before
    assert all(len(cores) <= 1 for cores in seen)


def test_a_core_is_left_and_chosen_again() -> None:
    before = cores_of_this_thread()
    with OneCore() as core:
        assert cores_of_this_thread() <= before
        core.leave()
        assert cores_of_this_thread() == before
        core.choose()
        assert cores_of_this_thread() <= {core.number}
    assert cores_of_this_thread() == before
