"""Real time: order, cancelling, and the thread that lives only while a task waits."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from penstock.runtime import (
    Executor,
    SystemClock,
    Task,
    ThreadPool,
    Timer,
    Undelivered,
    collect_undelivered,
    set_undelivered_hook,
)
from tests.runtime.unit.threads import LIMIT, run_together, running

HOUR = 3600.0


class HandDrivenClock(SystemClock):
    """A clock with the thread of the real one and a time that the test sets."""

    def __init__(self, executor: Executor | None = None) -> None:
        super().__init__(executor)
        self.moment = 0.0

    def now(self) -> float:
        return self.moment

    def jump_to(self, moment: float) -> None:
        """Set the time and let all that is due run."""
        self.moment = moment
        passed = threading.Event()
        self.call_later(0, passed.set)
        assert passed.wait(LIMIT)


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture
def by_hand() -> Iterator[HandDrivenClock]:
    clock = HandDrivenClock()
    yield clock
    clock.jump_to(1e9)


@pytest.fixture(autouse=True)
def clock_threads() -> Iterator[Callable[[], list[threading.Thread]]]:
    """The threads of the clocks of this test; none of them is left behind."""
    before = threading.enumerate()

    def started() -> list[threading.Thread]:
        threads = [thread for thread in threading.enumerate() if thread not in before]
        return [thread for thread in threads if thread.name == "penstock-clock"]

    yield started
    for thread in started():
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_it_tells_the_monotonic_time(clock: SystemClock) -> None:
    before = time.monotonic()
    assert before <= clock.now() <= time.monotonic()


def test_a_task_runs_on_the_thread_of_the_clock_and_not_before_its_time(clock: SystemClock) -> None:
    ran: list[tuple[str, float]] = []
    done = threading.Event()

    def task() -> None:
        ran.append((threading.current_thread().name, clock.now()))
        done.set()

    due = clock.now() + 0.01
    clock.call_later(0.01, task)
    assert done.wait(LIMIT)
    ((name, moment),) = ran
    assert name == "penstock-clock"
    assert moment >= due


@pytest.mark.parametrize("seconds", [0, -1, -1e9])
def test_zero_or_less_is_due_at_once(clock: SystemClock, seconds: float) -> None:
    done = threading.Event()
    clock.call_later(seconds, done.set)
    assert done.wait(LIMIT)


def test_tasks_run_in_the_order_of_their_times(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    by_hand.call_later(3, appending(log, "third"))
    by_hand.call_later(1, appending(log, "first"))
    by_hand.call_later(2, appending(log, "second"))
    by_hand.jump_to(2)
    assert log == ["first", "second"]
    by_hand.jump_to(3)
    assert log == ["first", "second", "third"]


def test_tasks_of_the_same_moment_run_in_the_order_they_were_set(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    for name in "abcdefghij":
        by_hand.call_later(5, appending(log, name))
    by_hand.jump_to(5)
    assert log == list("abcdefghij")


def test_negative_times_run_in_the_order_they_were_set(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    block_the_clock = threading.Event()
    by_hand.call_later(0, lambda: block_the_clock.wait(LIMIT))
    by_hand.call_later(0, appending(log, "zero"))
    by_hand.call_later(-5, appending(log, "negative"))
    block_the_clock.set()
    by_hand.jump_to(1)
    assert log == ["zero", "negative"]


def test_an_earlier_task_wakes_the_thread_that_waits_for_a_later_one(clock: SystemClock) -> None:
    late = clock.call_later(HOUR, lambda: None)
    done = threading.Event()
    clock.call_later(0.001, done.set)
    assert done.wait(LIMIT)
    late.cancel()


def test_a_task_can_set_another_one(clock: SystemClock) -> None:
    done = threading.Event()
    clock.call_later(0, lambda: clock.call_later(0, done.set))
    assert done.wait(LIMIT)


def test_a_cancelled_task_does_not_run(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    by_hand.call_later(1, appending(log, "first"))
    middle = by_hand.call_later(2, appending(log, "cancelled"))
    by_hand.call_later(3, appending(log, "last"))
    middle.cancel()
    by_hand.jump_to(3)
    assert log == ["first", "last"]


def test_a_task_can_cancel_another_one_of_the_same_moment(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    timers: list[Timer] = []
    by_hand.call_later(1, lambda: cancel_all(timers))
    timers.append(by_hand.call_later(1, appending(log, "cancelled")))
    by_hand.jump_to(1)
    assert log == []


def test_the_order_survives_the_removal_of_any_task(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    timers = [by_hand.call_later(1 + i * 7 % 10, appending(log, str(i * 7 % 10))) for i in range(9)]
    for timer in timers[::3]:
        timer.cancel()
    by_hand.jump_to(11)
    kept = [str(i * 7 % 10) for i in range(9) if i % 3]
    assert log == sorted(kept)


def test_cancelling_too_late_or_again_is_no_error(clock: SystemClock) -> None:
    done = threading.Event()
    timer = clock.call_later(0, done.set)
    assert done.wait(LIMIT)
    timer.cancel()
    timer.cancel()


def test_a_task_may_cancel_itself_while_it_runs(clock: SystemClock) -> None:
    timers: list[Timer] = []
    set_up, done = threading.Event(), threading.Event()

    def task() -> None:
        assert set_up.wait(LIMIT)
        timers[0].cancel()
        done.set()

    timers.append(clock.call_later(0, task))
    set_up.set()
    assert done.wait(LIMIT)


def test_there_is_no_thread_before_the_first_task(
    clock: SystemClock, clock_threads: Callable[[], list[threading.Thread]]
) -> None:
    assert clock.now() > 0
    assert clock_threads() == []


def test_one_thread_serves_all_tasks(
    clock: SystemClock, clock_threads: Callable[[], list[threading.Thread]]
) -> None:
    timers = [clock.call_later(HOUR, lambda: None) for _ in range(5)]
    assert len(clock_threads()) == 1
    for timer in timers:
        timer.cancel()


def test_the_thread_ends_when_nothing_waits_and_another_one_starts_later(
    clock: SystemClock,
) -> None:
    threads: list[threading.Thread] = []
    for _ in range(3):
        done = threading.Event()

        def task(done: threading.Event = done) -> None:
            threads.append(threading.current_thread())
            done.set()

        clock.call_later(0, task)
        assert done.wait(LIMIT)
        threads[-1].join(LIMIT)
        assert not threads[-1].is_alive()
    assert len(set(threads)) == 3


def test_cancelling_the_only_task_ends_the_thread_though_its_time_is_far(
    clock: SystemClock, clock_threads: Callable[[], list[threading.Thread]]
) -> None:
    timer = clock.call_later(HOUR, lambda: None)
    (thread,) = clock_threads()
    with running(timer.cancel):
        thread.join(LIMIT)
    assert not thread.is_alive()


def test_no_task_is_lost_when_the_thread_ends_while_others_set_tasks(clock: SystemClock) -> None:
    """Each task waits for the one before, so that the thread is always about to end."""

    def ping() -> None:
        for _ in range(200):
            done = threading.Event()
            clock.call_later(0, done.set)
            assert done.wait(LIMIT)

    run_together(ping, ping, ping)


def test_what_a_task_raises_goes_to_the_hook_and_the_clock_goes_on(clock: SystemClock) -> None:
    error = ValueError("no")
    done = threading.Event()

    def failing() -> None:
        raise error

    with collect_undelivered() as lost:
        clock.call_later(0, failing)
        clock.call_later(0.001, done.set)
        assert done.wait(LIMIT)
    assert lost == [Undelivered(error, "a task on a thread of its own raised")]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_an_interrupt_in_a_task_is_reported_and_the_clock_goes_on(
    by_hand: HandDrivenClock, kind: type[BaseException]
) -> None:
    error = kind()

    def failing() -> None:
        raise error

    log: list[str] = []
    with collect_undelivered() as lost:
        by_hand.call_later(1, failing)
        by_hand.call_later(2, appending(log, "next"))
        by_hand.jump_to(2)
    assert lost == [Undelivered(error, "a task on a thread of its own raised")]
    assert log == ["next"]


@pytest.mark.parametrize("seconds", [math.inf, math.nan, threading.TIMEOUT_MAX * 2])
def test_a_time_that_cannot_be_waited_for_is_refused_and_the_clock_goes_on(
    clock: SystemClock, seconds: float
) -> None:
    with pytest.raises(ValueError, match="is no number of seconds that can be waited for"):
        clock.call_later(seconds, lambda: None)
    done = threading.Event()
    clock.call_later(0, done.set)
    assert done.wait(LIMIT)


def test_a_system_without_a_thread_to_give_refuses_that_task_and_not_the_next(
    by_hand: HandDrivenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    log: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            by_hand.call_later(1, appending(log, "refused"))
    by_hand.call_later(1, appending(log, "accepted"))
    by_hand.jump_to(1)
    assert log == ["accepted"]


def test_a_task_that_has_run_is_let_go_though_another_one_waits(by_hand: HandDrivenClock) -> None:
    log: list[str] = []
    by_hand.call_later(HOUR, lambda: None)
    task = appending(log, "ran")
    reference = weakref.ref(task)
    by_hand.call_later(1, task)
    del task
    by_hand.jump_to(1)
    gc.collect()
    assert log == ["ran"]
    assert reference() is None


def test_given_an_executor_tasks_run_there() -> None:
    names: list[str] = []
    done = threading.Event()

    def task() -> None:
        names.append(threading.current_thread().name)
        done.set()

    with ThreadPool(name="turbine") as pool:
        SystemClock(pool).call_later(0, task)
        assert done.wait(LIMIT)
    assert names[0].startswith("turbine")


def test_a_slow_task_on_an_executor_does_not_hold_up_the_clock() -> None:
    busy, done = threading.Event(), threading.Event()
    with ThreadPool(2) as pool:
        clock = SystemClock(pool)
        clock.call_later(0, lambda: busy.wait(LIMIT))
        clock.call_later(0, done.set)
        assert done.wait(LIMIT)
        busy.set()


def test_an_executor_that_rejects_is_reported_and_the_clock_goes_on() -> None:
    class Closed:
        rejecting = True

        def execute(self, task: Task) -> None:
            if self.rejecting:
                raise RuntimeError("closed")
            task()

    executor = Closed()
    clock = SystemClock(executor)
    told, done = threading.Event(), threading.Event()
    lost: list[Undelivered] = []

    def hook(undelivered: Undelivered) -> None:
        lost.append(undelivered)
        told.set()

    previous = set_undelivered_hook(hook)
    try:
        clock.call_later(0, lambda: None)
        assert told.wait(LIMIT)
    finally:
        set_undelivered_hook(previous)
    executor.rejecting = False
    clock.call_later(0, done.set)
    assert done.wait(LIMIT)
    assert [str(each.error) for each in lost] == ["closed"]


def test_timers_may_be_cancelled_from_many_threads(clock: SystemClock) -> None:
    ran: list[str] = []
    timers = [clock.call_later(HOUR, appending(ran, "ran")) for _ in range(300)]
    run_together(*[partial(cancel_all, timers[part::3]) for part in range(3)])
    assert ran == []


def cancel_all(timers: list[Timer]) -> None:
    for timer in timers:
        timer.cancel()


def appending(log: list[str], entry: str) -> Callable[[], None]:
    return lambda: log.append(entry)
