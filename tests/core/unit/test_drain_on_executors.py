"""The drain on an executor: one task for each round, fairness, rejection, context variables."""

from __future__ import annotations

import threading
from collections import deque
from contextvars import ContextVar

import pytest

from penstock.runtime import (
    CallingThread,
    Executor,
    Task,
    ThreadPool,
    VirtualTime,
    collect_undelivered,
)
from tests.core.unit.parties import Inline, LockWatch, Rejecting, Worker
from tests.runtime.unit.threads import LIMIT, frequent_switches, run_together

PLACE: ContextVar[str] = ContextVar("PLACE", default="nowhere")


class WorkerThatMayBeRejected(Worker):
    """Writes down the rejections instead of raising them."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor=executor)
        self.rejections: list[Exception] = []

    def _rejected(self, error: Exception) -> None:
        self.rejections.append(error)


def test_waking_only_hands_a_task_to_the_executor() -> None:
    time = VirtualTime()
    worker = Worker(executor=time)
    worker.wake()
    assert worker.rounds == 0
    assert time.step()
    assert worker.rounds == 1
    assert time.idle


def test_there_is_never_more_than_one_task_in_line_for_a_drain() -> None:
    time = VirtualTime()
    worker = Worker(executor=time)
    for _ in range(5):
        worker.wake()
    # One for the first wake, and one more for all that came after it.
    assert [time.step() for _ in range(3)] == [True, True, False]
    assert worker.rounds == 2


def test_each_round_is_a_task_of_its_own_so_that_others_get_their_turn() -> None:
    time = VirtualTime()
    log: list[str] = []

    def work(name: str, worker: Worker) -> None:
        log.append(name)
        if worker.rounds < 3:
            worker.wake()

    one = Worker(executor=time)
    one.work = lambda: work("one", one)
    other = Worker(executor=time)
    other.work = lambda: work("other", other)
    one.wake()
    other.wake()
    time.settle()
    assert log == ["one", "other"] * 3


@pytest.mark.parametrize("workers", [1, 4])
def test_on_a_pool_rounds_never_overlap_and_no_wake_is_lost(workers: int) -> None:
    todo: deque[int] = deque()
    done: list[int] = []
    all_done = threading.Event()

    def work() -> None:
        while todo:
            done.append(todo.popleft())
        if len(done) == 1_500:
            all_done.set()

    def bring() -> None:
        for each in range(500):
            todo.append(each)
            worker.wake()

    with frequent_switches(), ThreadPool(workers) as pool:
        worker = Worker(work, pool)
        run_together(bring, bring, bring)
        assert all_done.wait(LIMIT)
    assert worker.overlaps == 0


def test_the_work_runs_on_the_thread_of_the_executor() -> None:
    names: list[str] = []
    with ThreadPool(name="turbine") as pool:
        Worker(lambda: names.append(threading.current_thread().name), pool).wake()
    assert names[0].startswith("turbine")


@pytest.mark.parametrize("executor", [CallingThread(), Inline()], ids=["trampoline", "inline"])
def test_on_an_executor_that_runs_tasks_at_once_rounds_do_not_overlap(executor: Executor) -> None:
    def work() -> None:
        if worker.rounds < 10:
            worker.wake()

    worker = Worker(work, executor)
    worker.wake()
    assert worker.rounds == 10
    assert worker.overlaps == 0


def test_rule_3_3_on_the_trampoline_the_stack_does_not_grow() -> None:
    def work() -> None:
        if worker.rounds < 10_000:
            worker.wake()

    worker = Worker(work, CallingThread())
    with collect_undelivered() as lost:
        worker.wake()
    assert worker.rounds == 10_000
    assert lost == []


def test_rule_3_3_on_an_inline_executor_the_stack_does_not_grow_either() -> None:
    def work() -> None:
        if worker.rounds < 10_000:
            worker.wake()

    worker = Worker(work, Inline())
    worker.wake()
    assert worker.rounds == 10_000
    assert worker.overlaps == 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_within_execute_passes_through_and_leaves_the_drain_usable(
    kind: type[BaseException],
) -> None:
    class InterruptedOnce:
        interrupts = True

        def execute(self, task: Task) -> None:
            if self.interrupts:
                self.interrupts = False
                raise kind
            task()

    worker = WorkerThatMayBeRejected(InterruptedOnce())
    with pytest.raises(kind):
        worker.wake()
    worker.wake()
    assert worker.rounds == 1
    assert worker.rejections == []


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError])
def test_whatever_the_work_raises_leaves_the_drain_usable(kind: type[BaseException]) -> None:
    time = VirtualTime()

    def work() -> None:
        if worker.rounds == 1:
            raise kind

    worker = Worker(work, time)
    worker.wake()
    with pytest.raises(kind):
        time.settle()
    worker.wake()
    time.settle()
    assert worker.rounds == 2


def test_system_exit_in_the_work_is_reported_by_the_pool_and_the_drain_goes_on() -> None:
    again = threading.Event()

    def work() -> None:
        if worker.rounds == 1:
            raise SystemExit(3)
        again.set()

    with collect_undelivered() as lost, ThreadPool(1) as pool:
        worker = Worker(work, pool)
        worker.wake()
        pool.execute(worker.wake)
        assert again.wait(LIMIT)
    assert [type(each.error) for each in lost] == [SystemExit]


def test_a_rejection_reaches_the_caller_that_woke_the_drain() -> None:
    executor = Rejecting()
    worker = Worker(executor=executor)
    with pytest.raises(RuntimeError) as caught:
        worker.wake()
    assert caught.value is executor.error
    assert worker.rounds == 0


def test_after_a_rejection_the_next_wake_asks_the_executor_again() -> None:
    executor = Rejecting()
    worker = WorkerThatMayBeRejected(executor)
    worker.wake()
    worker.wake()
    assert worker.rejections == [executor.error, executor.error]
    assert executor.asked == 2


def test_a_rejection_that_raises_itself_leaves_the_drain_usable() -> None:
    time = VirtualTime()
    executor = Rejecting(time, after=0)
    worker = Worker(executor=executor)
    with pytest.raises(RuntimeError):
        worker.wake()
    executor.after = 2
    worker.wake()
    time.settle()
    assert worker.rounds == 1


def test_a_closed_pool_rejects_with_its_own_message() -> None:
    pool = ThreadPool(name="turbine")
    pool.close()
    worker = WorkerThatMayBeRejected(pool)
    worker.wake()
    (error,) = worker.rejections
    assert "ThreadPool('turbine') takes no more tasks" in str(error)


def test_a_rejection_between_two_rounds_is_told_where_the_next_would_have_started() -> None:
    time = VirtualTime()
    executor = Rejecting(time, after=1)
    worker = WorkerThatMayBeRejected(executor)
    worker.work = worker.wake
    worker.wake()
    assert worker.rejections == []
    time.settle()
    assert worker.rounds == 1
    assert worker.rejections == [executor.error]


def test_each_round_runs_with_the_context_variables_of_where_the_drain_was_made() -> None:
    time = VirtualTime()
    seen: list[str] = []

    def work() -> None:
        seen.append(PLACE.get())
        PLACE.set("changed by the work")
        if worker.rounds < 2:
            worker.wake()

    token = PLACE.set("made here")
    worker = Worker(work, time)
    PLACE.set("woken here")
    worker.wake()
    time.settle()
    assert seen == ["made here", "made here"]
    assert PLACE.get() == "woken here"
    PLACE.reset(token)


def test_on_a_pool_the_context_variables_are_those_of_where_the_drain_was_made() -> None:
    seen: list[str] = []
    token = PLACE.set("made here")
    with ThreadPool(1) as pool:
        worker = Worker(lambda: seen.append(PLACE.get()), pool)
        PLACE.reset(token)
        worker.wake()
    assert seen == ["made here"]


def test_a_drain_made_inside_the_work_of_another_can_be_woken_there() -> None:
    """The inner one copies a context that is in use, and enters its copy while that goes on."""
    seen: list[str] = []

    def outer_work() -> None:
        PLACE.set("made inside")
        inner = Worker(lambda: seen.append(PLACE.get()), Inline())
        inner.wake()
        inner.wake()

    Worker(outer_work, Inline()).wake()
    assert seen == ["made inside", "made inside"]


def test_no_lock_is_held_while_the_executor_is_called_or_rejects() -> None:
    watch = LockWatch()
    held: list[tuple[str, int]] = []

    class Watched:
        def __init__(self) -> None:
            self.tasks: list[Task] = []

        def execute(self, task: Task) -> None:
            held.append(("execute", watch.held_here))
            if len(self.tasks) == 2:
                raise RuntimeError("full")
            self.tasks.append(task)

    class WatchedWorker(Worker):
        def _rejected(self, error: Exception) -> None:
            held.append(("rejected", watch.held_here))

    def work() -> None:
        held.append(("work", watch.held_here))
        worker.wake()

    executor = Watched()
    worker = WatchedWorker(work, executor, watch)
    worker.wake()
    for task in executor.tasks:
        task()
    assert held == [
        ("execute", 0),
        ("work", 0),
        ("execute", 0),
        ("work", 0),
        ("execute", 0),
        ("rejected", 0),
    ]
    assert watch.entered > 0
