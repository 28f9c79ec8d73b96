"""An asyncio loop as executor and clock, from its own thread and from others."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from penstock.runtime import AsyncioLoop, Timer, Undelivered, collect_undelivered
from tests.runtime.unit.threads import LIMIT, run_together


class HandDrivenLoop(asyncio.SelectorEventLoop):
    """A real loop, with a time that the test sets."""

    moment = 0.0

    def time(self) -> float:
        return self.moment


class LoopOnAThread:
    """A loop that runs on a thread of its own, as that of an application would."""

    def __init__(self) -> None:
        self.loop = HandDrivenLoop()
        self.loop.set_debug(True)  # then it minds being called from a wrong thread
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def call(self, task: Callable[[], object]) -> None:
        """Run ``task`` on the thread of the loop, and wait for it."""
        done: Future[object] = Future()

        def run() -> None:
            try:
                done.set_result(task())
            except BaseException as error:
                done.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        done.result(LIMIT)

    def settle(self) -> None:
        """Wait until all that can run has run: a timer needs one turn to be set, one to run."""
        for _ in range(3):
            self.call(lambda: None)

    def jump_to(self, moment: float) -> None:
        self.loop.moment = moment
        self.settle()

    def close(self) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(LIMIT)
            self.loop.close()


@pytest.fixture
def elsewhere() -> Iterator[LoopOnAThread]:
    loop = LoopOnAThread()
    yield loop
    loop.close()


@pytest.fixture
def clock(elsewhere: LoopOnAThread) -> AsyncioLoop:
    return AsyncioLoop(elsewhere.loop)


@pytest.fixture
def log() -> list[str]:
    return []


def test_a_task_from_the_loop_runs_there_but_not_before_the_caller_returned(
    log: list[str],
) -> None:
    async def main() -> None:
        executor = AsyncioLoop()
        executor.execute(lambda: log.append(threading.current_thread().name))
        log.append("caller goes on")
        await asyncio.sleep(0)

    asyncio.run(main())
    assert log == ["caller goes on", threading.current_thread().name]


def test_tasks_from_the_loop_run_in_the_order_they_came(log: list[str]) -> None:
    async def main() -> None:
        executor = AsyncioLoop()
        for name in ("first", "second", "third"):
            executor.execute(appending(log, name))
        await asyncio.sleep(0)

    asyncio.run(main())
    assert log == ["first", "second", "third"]


def test_a_task_from_another_thread_runs_on_the_thread_of_the_loop(
    elsewhere: LoopOnAThread,
) -> None:
    ran_on: list[threading.Thread] = []
    AsyncioLoop(elsewhere.loop).execute(lambda: ran_on.append(threading.current_thread()))
    elsewhere.settle()
    assert ran_on == [elsewhere.thread]


def test_a_task_from_another_loop_wakes_the_right_one(elsewhere: LoopOnAThread) -> None:
    ran_on: list[threading.Thread] = []

    async def main() -> None:
        AsyncioLoop(elsewhere.loop).execute(lambda: ran_on.append(threading.current_thread()))

    asyncio.run(main())
    elsewhere.settle()
    assert ran_on == [elsewhere.thread]


def test_tasks_from_many_threads_all_run_on_the_thread_of_the_loop(
    elsewhere: LoopOnAThread,
) -> None:
    executor = AsyncioLoop(elsewhere.loop)
    ran_on: list[threading.Thread] = []

    def hand_in() -> None:
        for _ in range(100):
            executor.execute(lambda: ran_on.append(threading.current_thread()))

    run_together(hand_in, hand_in, hand_in)
    elsewhere.settle()
    assert ran_on == [elsewhere.thread] * 300


def test_without_a_loop_it_takes_the_running_one() -> None:
    loop = HandDrivenLoop()
    loop.moment = 77.0

    async def main() -> float:
        return AsyncioLoop().now()

    assert loop.run_until_complete(main()) == 77.0
    loop.close()


def test_without_a_loop_and_without_a_running_one_it_is_an_error_at_once() -> None:
    with pytest.raises(RuntimeError):
        AsyncioLoop()


def test_a_closed_loop_rejects_tasks_and_timers(
    elsewhere: LoopOnAThread, clock: AsyncioLoop
) -> None:
    elsewhere.close()
    with pytest.raises(RuntimeError, match=r"^the asyncio loop takes no more tasks: .+"):
        clock.execute(lambda: None)
    with pytest.raises(RuntimeError, match=r"^the asyncio loop takes no more tasks: .+"):
        clock.call_later(1, lambda: None)


def test_what_a_task_raises_that_came_from_the_loop_goes_to_the_hook(
    elsewhere: LoopOnAThread, clock: AsyncioLoop
) -> None:
    error = ValueError("no")

    def failing() -> None:
        raise error

    with collect_undelivered() as lost:
        elsewhere.call(lambda: clock.execute(failing))
        elsewhere.settle()
    assert [each.error for each in lost] == [error]


def test_what_a_task_or_a_timer_raises_goes_to_the_hook_and_the_loop_goes_on(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    error = ValueError("no")

    def failing() -> None:
        raise error

    with collect_undelivered() as lost:
        clock.execute(failing)
        clock.call_later(0, failing)
        clock.execute(appending(log, "next"))
        elsewhere.settle()
    assert lost == [Undelivered(error, "a task on an executor raised")] * 2
    assert log == ["next"]


def test_a_task_from_another_thread_wakes_a_loop_that_waits(elsewhere: LoopOnAThread) -> None:
    elsewhere.settle()
    done = threading.Event()
    AsyncioLoop(elsewhere.loop).execute(done.set)
    assert done.wait(LIMIT)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_task_leaves_the_loop(kind: type[BaseException]) -> None:
    def interrupted() -> None:
        raise kind

    loop = asyncio.new_event_loop()
    AsyncioLoop(loop).execute(interrupted)
    with pytest.raises(kind):
        loop.run_forever()
    loop.close()


def test_it_tells_the_time_of_the_loop(elsewhere: LoopOnAThread, clock: AsyncioLoop) -> None:
    elsewhere.jump_to(12.5)
    assert clock.now() == 12.5


def test_timers_on_a_loop_in_real_time_run_in_the_order_of_their_times(log: list[str]) -> None:
    async def main() -> None:
        clock = AsyncioLoop()
        passed = asyncio.Event()
        clock.call_later(0.02, passed.set)
        clock.call_later(0.01, appending(log, "first"))
        await passed.wait()
        log.append("second")

    asyncio.run(main())
    assert log == ["first", "second"]


def test_a_timer_runs_on_the_thread_of_the_loop_once_its_time_has_come(
    elsewhere: LoopOnAThread, clock: AsyncioLoop
) -> None:
    ran_on: list[threading.Thread] = []
    clock.call_later(5, lambda: ran_on.append(threading.current_thread()))
    elsewhere.jump_to(4.9)
    assert ran_on == []
    elsewhere.jump_to(5)
    assert ran_on == [elsewhere.thread]


def test_a_timer_counts_from_the_call_and_not_from_when_the_loop_gets_to_it(
    log: list[str],
) -> None:
    loop = HandDrivenLoop()
    AsyncioLoop(loop).call_later(5, appending(log, "timer"))
    loop.moment = 5.0
    loop.run_until_complete(turns(3))
    loop.close()
    assert log == ["timer"]


@pytest.mark.parametrize("seconds", [0, -1, -1e9])
def test_zero_or_less_is_due_at_once(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str], seconds: float
) -> None:
    clock.call_later(seconds, appending(log, "ran"))
    elsewhere.settle()
    assert log == ["ran"]


def test_negative_timers_run_in_the_order_they_were_set(log: list[str]) -> None:
    loop = HandDrivenLoop()
    clock = AsyncioLoop(loop)
    clock.call_later(0, appending(log, "zero"))
    clock.call_later(-5, appending(log, "negative"))
    loop.run_until_complete(turns(3))
    loop.close()
    assert log == ["zero", "negative"]


def test_a_timer_can_be_set_on_the_loop(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    elsewhere.call(lambda: clock.call_later(1, appending(log, "ran")))
    elsewhere.jump_to(1)
    assert log == ["ran"]


def test_a_timer_cancelled_before_the_loop_knows_of_it_does_not_run(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    elsewhere.call(lambda: clock.call_later(1, appending(log, "cancelled")).cancel())
    elsewhere.jump_to(1)
    assert log == []


def test_a_timer_cancelled_on_the_loop_while_it_waits_does_not_run(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    timer = clock.call_later(1, appending(log, "cancelled"))
    elsewhere.settle()
    elsewhere.call(timer.cancel)
    elsewhere.jump_to(1)
    assert log == []


def test_a_timer_cancelled_from_another_thread_does_not_run(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    timer = clock.call_later(1, appending(log, "cancelled"))
    elsewhere.settle()
    timer.cancel()
    elsewhere.jump_to(1)
    assert log == []


def test_a_timer_can_be_cancelled_by_another_one_that_is_due_in_the_same_turn(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    timers: list[Timer] = []
    clock.call_later(1, lambda: cancel_all(timers))
    timers.append(clock.call_later(1.5, appending(log, "cancelled")))
    elsewhere.settle()
    elsewhere.jump_to(2)
    assert log == []


def test_the_loop_lets_go_of_a_cancelled_timer_though_its_time_is_far(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    task = appending(log, "cancelled")
    reference = weakref.ref(task)
    timer = clock.call_later(3600, task)
    elsewhere.settle()
    timer.cancel()
    elsewhere.settle()
    del task, timer
    gc.collect()
    assert reference() is None


def test_the_loop_lets_go_as_well_of_a_timer_cancelled_before_the_loop_knew_of_it(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    references: list[weakref.ref[Callable[[], None]]] = []

    def set_and_cancel() -> None:
        task = appending(log, "cancelled")
        references.append(weakref.ref(task))
        clock.call_later(3600, task).cancel()

    elsewhere.call(set_and_cancel)
    elsewhere.settle()
    gc.collect()
    assert references[0]() is None


def test_cancelling_too_late_or_again_is_no_error(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    timer = clock.call_later(1, appending(log, "ran"))
    elsewhere.settle()
    elsewhere.jump_to(1)
    timer.cancel()
    timer.cancel()
    elsewhere.jump_to(2)
    assert log == ["ran"]


def test_cancelling_after_the_loop_was_closed_is_no_error(
    elsewhere: LoopOnAThread, clock: AsyncioLoop
) -> None:
    timer = clock.call_later(3600, lambda: None)
    elsewhere.settle()
    elsewhere.close()
    timer.cancel()
    assert elsewhere.loop.is_closed()


def test_cancelling_just_when_another_thread_closes_the_loop_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = HandDrivenLoop()
    usual = loop.call_soon_threadsafe

    def too_late(*call: Any) -> asyncio.Handle:
        loop.close()
        return usual(*call)

    timer = AsyncioLoop(loop).call_later(3600, lambda: None)
    loop.run_until_complete(turns(1))
    monkeypatch.setattr(loop, "call_soon_threadsafe", too_late)
    timer.cancel()
    assert loop.is_closed()


def test_a_timer_may_be_cancelled_from_many_threads_at_once(
    elsewhere: LoopOnAThread, clock: AsyncioLoop, log: list[str]
) -> None:
    timer = clock.call_later(1, appending(log, "cancelled"))
    elsewhere.settle()
    run_together(timer.cancel, timer.cancel, timer.cancel)
    elsewhere.jump_to(1)
    assert log == []


async def turns(count: int) -> None:
    """Let the loop go round ``count`` times."""
    for _ in range(count):
        await asyncio.sleep(0)


def cancel_all(timers: list[Timer]) -> None:
    for timer in timers:
        timer.cancel()


def appending(log: list[str], entry: str) -> Callable[[], None]:
    return lambda: log.append(entry)
