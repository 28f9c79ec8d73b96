"""The trampoline: order, threads, errors."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from penstock.runtime import CallingThread, Executor, collect_undelivered
from tests.runtime.unit.threads import LIMIT, run_together, running


def test_a_task_has_run_when_execute_returns() -> None:
    ran: list[threading.Thread] = []
    CallingThread().execute(lambda: ran.append(threading.current_thread()))
    assert ran == [threading.current_thread()]


def test_a_task_handed_in_by_a_task_waits_until_that_one_returned() -> None:
    executor = CallingThread()
    log: list[str] = []

    def outer() -> None:
        log.append("outer begins")
        executor.execute(lambda: log.append("inner"))
        log.append("outer ends")

    executor.execute(outer)
    assert log == ["outer begins", "outer ends", "inner"]


def test_tasks_run_in_the_order_in_which_they_came_not_depth_first() -> None:
    executor = CallingThread()
    log: list[str] = []

    def with_child(name: str) -> Callable[[], None]:
        def task() -> None:
            log.append(name)
            executor.execute(lambda: log.append(f"child of {name}"))

        return task

    def root() -> None:
        executor.execute(with_child("first"))
        executor.execute(with_child("second"))

    executor.execute(root)
    assert log == ["first", "second", "child of first", "child of second"]


def test_ten_thousand_tasks_that_follow_each_other_do_not_grow_the_stack() -> None:
    executor = CallingThread()
    depths: list[int] = []

    def task() -> None:
        depths.append(stack_depth())
        if len(depths) < 10_000:
            executor.execute(task)

    executor.execute(task)
    assert len(depths) == 10_000
    assert len(set(depths)) == 1


def test_a_task_on_one_thread_does_not_hold_up_another_thread() -> None:
    executor = CallingThread()
    busy, done = threading.Event(), threading.Event()
    ran_on: list[threading.Thread] = []

    def long_task() -> None:
        busy.set()
        assert done.wait(LIMIT)

    with running(lambda: executor.execute(long_task)):
        assert busy.wait(LIMIT)
        executor.execute(lambda: ran_on.append(threading.current_thread()))
        done.set()
    assert ran_on == [threading.current_thread()]


def test_every_thread_runs_all_of_its_own_tasks() -> None:
    executor = CallingThread()
    strangers: list[str] = []
    counts: list[int] = []

    def use() -> None:
        mine = threading.current_thread()
        ran = 0

        def task() -> None:
            nonlocal ran
            ran += 1
            if threading.current_thread() is not mine:
                strangers.append(mine.name)
            if ran < 500:
                executor.execute(task)

        executor.execute(task)
        counts.append(ran)

    run_together(use, use, use)
    assert counts == [500, 500, 500]
    assert strangers == []


def test_two_trampolines_on_one_thread_do_not_wait_for_each_other() -> None:
    one, other = CallingThread(), CallingThread()
    log: list[str] = []

    def outer() -> None:
        other.execute(lambda: log.append("inner"))
        log.append("outer")

    one.execute(outer)
    assert log == ["inner", "outer"]


def test_what_a_task_raises_goes_to_the_hook_and_the_next_task_runs() -> None:
    executor = CallingThread()
    error = ValueError("no")
    log: list[str] = []

    def failing() -> None:
        executor.execute(lambda: log.append("next"))
        raise error

    with collect_undelivered() as lost:
        executor.execute(failing)
    assert [each.error for each in lost] == [error]
    assert str(lost[0]) == "a task on an executor raised: ValueError: no"
    assert log == ["next"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_passes_through_and_the_rest_stays_in_line(kind: type[BaseException]) -> None:
    executor = CallingThread()
    log: list[str] = []

    def interrupted() -> None:
        executor.execute(lambda: log.append("first left over"))
        executor.execute(lambda: log.append("second left over"))
        raise kind

    with collect_undelivered() as lost, pytest.raises(kind):
        executor.execute(interrupted)
    assert log == []
    executor.execute(lambda: log.append("new"))
    assert log == ["first left over", "second left over", "new"]
    assert lost == []


def test_a_task_may_return_anything() -> None:
    with collect_undelivered() as lost:
        CallingThread().execute(lambda: "ignored")
    assert lost == []


def test_the_trampoline_is_an_executor() -> None:
    assert isinstance(CallingThread(), Executor)


def stack_depth() -> int:
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
