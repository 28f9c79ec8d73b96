"""The pool: where tasks run, how it closes, what happens to errors."""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Any

import pytest

from penstock.runtime import (
    Executor,
    ThreadPool,
    Undelivered,
    collect_undelivered,
    thread_pool,
)
from tests.runtime.unit.threads import LIMIT, run_together, running


def test_a_task_runs_on_a_thread_with_the_name_of_the_pool() -> None:
    ran_on: list[threading.Thread] = []
    with ThreadPool(name="turbine") as pool:
        pool.execute(lambda: ran_on.append(threading.current_thread()))
    assert ran_on[0] is not threading.current_thread()
    assert ran_on[0].name.startswith("turbine")


def test_the_threads_are_named_after_penstock_unless_told_otherwise() -> None:
    names: list[str] = []
    with ThreadPool() as pool:
        pool.execute(lambda: names.append(threading.current_thread().name))
    assert names[0].startswith("penstock")


def test_one_worker_runs_the_tasks_in_the_order_in_which_they_came() -> None:
    ran: list[int] = []
    with ThreadPool(1) as pool:
        for number in range(200):
            pool.execute(partial(ran.append, number))
    assert ran == list(range(200))


def test_three_workers_run_three_tasks_at_the_same_time() -> None:
    meeting = threading.Barrier(3)
    with ThreadPool(3) as pool, collect_undelivered() as lost:
        for _ in range(3):
            pool.execute(lambda: meeting.wait(LIMIT))
        pool.close()
    assert lost == []
    assert not meeting.broken


def test_closing_waits_for_the_tasks_that_were_accepted() -> None:
    pool = ThreadPool(1)
    started, go_on = threading.Event(), threading.Event()
    finished: list[str] = []

    def slow() -> None:
        started.set()
        assert go_on.wait(LIMIT)
        finished.append("slow")

    pool.execute(slow)
    pool.execute(lambda: finished.append("waiting"))
    assert started.wait(LIMIT)
    with running(pool.close):
        go_on.set()
    assert finished == ["slow", "waiting"]


def test_closing_without_waiting_returns_while_a_task_still_runs() -> None:
    pool = ThreadPool(1)
    go_on, finished = threading.Event(), threading.Event()

    def slow() -> None:
        assert go_on.wait(LIMIT)
        finished.set()

    pool.execute(slow)
    pool.close(wait=False)
    assert not finished.is_set()
    go_on.set()
    assert finished.wait(LIMIT)


def test_a_closed_pool_rejects_tasks_and_says_which_pool_it_is() -> None:
    pool = ThreadPool(name="turbine")
    pool.close()
    with pytest.raises(RuntimeError, match=r"ThreadPool\('turbine'\) takes no more tasks: .+"):
        pool.execute(lambda: None)


def test_a_pool_can_be_closed_again() -> None:
    pool = ThreadPool()
    pool.close()
    pool.close()
    with pytest.raises(RuntimeError):
        pool.execute(lambda: None)


def test_leaving_the_block_closes_the_pool_even_when_the_block_fails() -> None:
    with pytest.raises(LookupError, match="of the block"), ThreadPool() as pool:
        raise LookupError("of the block")
    with pytest.raises(RuntimeError, match="takes no more tasks"):
        pool.execute(lambda: None)


def test_a_task_can_hand_in_another_one() -> None:
    done = threading.Event()
    with ThreadPool(1) as pool:
        pool.execute(lambda: pool.execute(done.set))
        assert done.wait(LIMIT)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt("stop")])
def test_whatever_a_task_raises_is_reported_and_the_pool_goes_on(error: BaseException) -> None:
    def failing() -> None:
        raise error

    ran = threading.Event()
    with collect_undelivered() as lost, ThreadPool(1) as pool:
        pool.execute(failing)
        pool.execute(ran.set)
        assert ran.wait(LIMIT)
    assert lost == [Undelivered(error, "a task on a thread of its own raised")]


def test_sys_exit_in_a_task_does_not_end_the_process() -> None:
    with collect_undelivered() as lost, ThreadPool() as pool:
        pool.execute(sys.exit)
    assert [type(each.error) for each in lost] == [SystemExit]


def test_tasks_from_many_threads_all_run() -> None:
    ran: list[int] = []

    def hand_in() -> None:
        for number in range(100):
            pool.execute(partial(ran.append, number))

    with ThreadPool(2) as pool:
        run_together(hand_in, hand_in, hand_in)
    assert sorted(ran) == sorted(list(range(100)) * 3)


@pytest.mark.parametrize(
    ("workers", "kind", "message"),
    [
        (0, ValueError, "workers must be at least 1, not 0"),
        (-2, ValueError, "workers must be at least 1, not -2"),
        (True, TypeError, "workers must be an int of at least 1, not True"),
        (1.5, TypeError, r"workers must be an int of at least 1, not 1\.5"),
        ("2", TypeError, "workers must be an int of at least 1, not '2'"),
        (None, TypeError, "workers must be an int of at least 1, not None"),
    ],
)
def test_a_bad_number_of_workers_is_an_error_at_once(
    workers: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ThreadPool(workers)


def test_a_pool_shows_its_name() -> None:
    with ThreadPool(name="turbine") as pool:
        assert repr(pool) == "ThreadPool('turbine')"


def test_a_pool_is_an_executor() -> None:
    with ThreadPool() as pool:
        assert isinstance(pool, Executor)


@pytest.mark.parametrize("stuck", [0, 1])
def test_at_the_end_of_the_program_a_pool_that_cannot_be_closed_keeps_no_other_open(
    stuck: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = [ThreadPool(), ThreadPool()]
    monkeypatch.setattr(thread_pool, "POOLS", pools)
    with monkeypatch.context() as patched, collect_undelivered() as lost:
        patched.setattr(pools[stuck], "_lock", None)
        thread_pool.close_all()
    assert [type(each.error) for each in lost] == [TypeError]
    with pytest.raises(RuntimeError, match="closed"):
        pools[1 - stuck].execute(print)


def test_a_pool_starts_no_thread_before_it_has_a_task() -> None:
    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("lazy")]

    with ThreadPool(4, name="lazy") as pool:
        assert threads() == []
        pool.execute(lambda: None)
        assert threads() == ["lazy_0"]
    assert threads() == []
