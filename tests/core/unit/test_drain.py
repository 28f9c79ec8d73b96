"""The drain on the thread that wakes it: serial, without recursion, nothing lost."""

from __future__ import annotations

import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from itertools import count

import pytest

from tests.core.unit.parties import GapWatch, LockWatch, Worker, interrupted
from tests.runtime.unit.threads import LIMIT, frequent_switches, run_together, running

INTERRUPTS = [KeyboardInterrupt, SystemExit, GeneratorExit]


def test_the_work_is_done_when_wake_returns_and_on_the_same_thread() -> None:
    threads: list[threading.Thread] = []
    Worker(lambda: threads.append(threading.current_thread())).wake()
    assert threads == [threading.current_thread()]


def test_nothing_runs_before_the_first_wake() -> None:
    assert Worker().rounds == 0


def test_each_wake_of_an_idle_drain_is_one_round() -> None:
    worker = Worker()
    for _ in range(3):
        worker.wake()
    assert worker.rounds == 3


def test_a_wake_from_within_the_work_leads_to_one_more_round_after_it() -> None:
    log: list[str] = []

    def work() -> None:
        log.append("begins")
        if worker.rounds == 1:
            worker.wake()
        log.append("ends")

    worker = Worker(work)
    worker.wake()
    assert log == ["begins", "ends", "begins", "ends"]


def test_many_wakes_from_within_one_round_are_one_more_round() -> None:
    def work() -> None:
        if worker.rounds == 1:
            for _ in range(10):
                worker.wake()

    worker = Worker(work)
    worker.wake()
    assert worker.rounds == 2


def test_rule_3_3_work_that_wakes_itself_ten_thousand_times_does_not_grow_the_stack() -> None:
    depths: set[int] = set()

    def work() -> None:
        depths.add(stack_depth())
        if worker.rounds < 10_000:
            worker.wake()

    worker = Worker(work)
    worker.wake()
    assert worker.rounds == 10_000
    # The first round is called from another line than the others, yet at the same depth.
    assert len(depths) == 1


def test_a_wake_while_another_thread_works_returns_at_once_and_is_not_lost() -> None:
    busy, go_on = threading.Event(), threading.Event()

    def work() -> None:
        if worker.rounds == 1:
            busy.set()
            assert go_on.wait(LIMIT)

    worker = Worker(work)
    with running(worker.wake):
        assert busy.wait(LIMIT)
        worker.wake()
        assert worker.rounds == 1
        go_on.set()
    assert worker.rounds == 2
    assert worker.overlaps == 0


def test_the_runner_does_the_rounds_of_the_others_on_its_own_thread() -> None:
    busy, go_on = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        busy.set()
        assert go_on.wait(LIMIT)

    worker = Worker(work)
    with running(worker.wake):
        assert busy.wait(LIMIT)
        worker.wake()
        go_on.set()
    first, second = threads
    assert first is second
    assert first is not threading.current_thread()


def test_wakes_from_many_threads_never_overlap_and_none_is_lost() -> None:
    todo: deque[int] = deque()
    done: list[int] = []

    def work() -> None:
        while todo:
            done.append(todo.popleft())

    worker = Worker(work)

    def bring() -> None:
        for each in range(2_000):
            todo.append(each)
            worker.wake()

    with frequent_switches():
        run_together(bring, bring, bring)
    # A thread that brought something has woken the drain after it: nothing may be left.
    assert not todo
    assert sorted(done) == sorted(list(range(2_000)) * 3)
    assert worker.overlaps == 0


@pytest.mark.parametrize("kind", INTERRUPTS)
def test_an_interrupt_passes_through_and_leaves_the_drain_usable(kind: type[BaseException]) -> None:
    def work() -> None:
        if worker.rounds == 1:
            raise kind

    worker = Worker(work)
    with pytest.raises(kind):
        worker.wake()
    worker.wake()
    assert worker.rounds == 2


@pytest.mark.parametrize("kind", INTERRUPTS)
def test_an_interrupt_in_a_later_round_leaves_the_drain_usable(kind: type[BaseException]) -> None:
    def work() -> None:
        worker.wake()
        if worker.rounds == 3:
            raise kind

    worker = Worker(work)
    with pytest.raises(kind):
        worker.wake()
    assert worker.rounds == 3
    worker.work = lambda: None
    worker.wake()
    assert worker.rounds == 4


@pytest.mark.parametrize("place", [1, 2], ids=["before the work", "after the work"])
def test_an_interrupt_just_after_the_lock_leaves_the_drain_usable(place: int) -> None:
    watch = GapWatch()
    worker = Worker(new_lock=watch)
    watch.at[place] = interrupt
    with pytest.raises(KeyboardInterrupt):
        worker.wake()
    rounds = worker.rounds
    worker.wake()
    assert worker.rounds == rounds + 1


def test_an_interrupt_after_the_work_does_not_end_the_round_of_another_thread() -> None:
    watch, busy, go_on = GapWatch(), threading.Event(), threading.Event()

    def work() -> None:
        busy.set()
        assert go_on.wait(LIMIT)

    def let_another_thread_work() -> None:
        worker.work = work
        threads.submit(worker.wake)
        assert busy.wait(LIMIT)
        raise KeyboardInterrupt

    worker = Worker(new_lock=watch)
    watch.at[2] = let_another_thread_work
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(KeyboardInterrupt):
            worker.wake()
        worker.wake()
        assert worker.rounds == 2
        go_on.set()
    assert worker.rounds == 3
    assert worker.overlaps == 0


def test_a_signal_handler_may_wake_the_drain_at_any_place() -> None:
    for place in count(1):
        worker = Worker()
        if not interrupted(place, worker.wake, worker.wake):
            break
        assert worker.rounds == 2
        assert worker.overlaps == 0
    assert place > 3


def interrupt() -> None:
    raise KeyboardInterrupt


def test_the_work_sees_the_context_variables_of_the_thread_that_wakes() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    seen: list[str] = []
    worker = Worker(lambda: seen.append(variable.get()))
    token = variable.set("of the caller")
    worker.wake()
    variable.reset(token)
    worker.wake()
    assert seen == ["of the caller", "unset"]


def test_no_lock_is_held_while_the_work_runs() -> None:
    watch = LockWatch()
    held: list[int] = []

    def work() -> None:
        held.append(watch.held_here)
        if worker.rounds == 1:
            worker.wake()

    worker = Worker(work, new_lock=watch)
    worker.wake()
    assert held == [0, 0]
    assert watch.entered > 0


def test_the_watch_on_locks_notices_a_lock_that_is_held() -> None:
    watch = LockWatch()
    with watch():
        assert watch.held_here == 1
        with watch():
            assert watch.held_here == 2
    assert watch.held_here == 0
    assert watch.entered == 2


def stack_depth() -> int:
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
