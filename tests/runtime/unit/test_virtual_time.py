"""Time that a test owns: tasks, timers, and when each of them runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from penstock.runtime import Timer, VirtualTime


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def log() -> list[str]:
    return []


def test_a_task_waits_until_the_test_runs_it(time: VirtualTime, log: list[str]) -> None:
    time.execute(lambda: log.append("task"))
    assert log == []
    time.settle()
    assert log == ["task"]


def test_a_step_runs_one_task_and_says_whether_there_was_one(
    time: VirtualTime, log: list[str]
) -> None:
    time.execute(lambda: log.append("first"))
    time.execute(lambda: log.append("second"))
    assert time.step()
    assert log == ["first"]
    assert time.step()
    assert not time.step()
    assert log == ["first", "second"]


def test_it_is_idle_when_no_task_is_in_line(time: VirtualTime) -> None:
    seen = [time.idle]
    time.execute(lambda: seen.append(time.idle))
    seen.append(time.idle)
    time.settle()
    assert seen == [True, False, True]


def test_settling_runs_tasks_of_tasks_but_leaves_time_alone(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(1, lambda: log.append("timer"))
    time.execute(lambda: time.execute(lambda: log.append("inner")))
    time.settle()
    assert log == ["inner"]
    assert time.now() == 0.0


def test_time_starts_where_it_is_told_to() -> None:
    assert VirtualTime().now() == 0.0
    assert VirtualTime(start=100.5).now() == 100.5


def test_advancing_runs_each_timer_at_its_own_moment(time: VirtualTime) -> None:
    moments: list[float] = []
    for seconds in (3, 1, 2):
        time.call_later(seconds, lambda: moments.append(time.now()))
    time.advance(2)
    assert moments == [1.0, 2.0]
    assert time.now() == 2.0
    time.advance(1)
    assert moments == [1.0, 2.0, 3.0]


def test_advancing_passes_time_even_if_nothing_happens(time: VirtualTime) -> None:
    time.advance(5)
    time.advance(2.5)
    assert time.now() == 7.5


def test_advancing_runs_the_waiting_tasks_before_time_moves(time: VirtualTime) -> None:
    moments: list[float] = []
    time.execute(lambda: moments.append(time.now()))
    time.advance(10)
    assert moments == [0.0]


def test_a_timer_counts_from_the_moment_it_was_set(time: VirtualTime) -> None:
    moments: list[float] = []
    time.advance(5)
    time.call_later(2, lambda: moments.append(time.now()))
    time.run()
    assert moments == [7.0]


def test_timers_of_the_same_moment_run_in_the_order_they_were_set(
    time: VirtualTime, log: list[str]
) -> None:
    for name in "abcdefghij":
        time.call_later(1, appending(log, name))
    time.run()
    assert log == list("abcdefghij")


def test_all_that_a_timer_sets_off_runs_before_the_next_timer_of_that_moment(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(1, lambda: time.execute(appending(log, "task of the first")))
    time.call_later(1, appending(log, "second"))
    time.run()
    assert log == ["task of the first", "second"]


def test_a_timer_can_set_another_one(time: VirtualTime) -> None:
    moments: list[float] = []

    def tick() -> None:
        moments.append(time.now())
        if len(moments) < 4:
            time.call_later(0.5, tick)

    time.call_later(0.5, tick)
    time.run()
    assert moments == [0.5, 1.0, 1.5, 2.0]


def test_a_timer_set_by_a_timer_within_the_span_runs_in_the_same_advance(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(1, lambda: time.call_later(1, appending(log, "inside")))
    time.call_later(2, lambda: time.call_later(1, appending(log, "outside")))
    time.advance(2.5)
    assert log == ["inside"]


@pytest.mark.parametrize("seconds", [0, -1, -1e9])
def test_zero_or_less_is_due_at_once_without_turning_time_back(
    time: VirtualTime, seconds: float
) -> None:
    moments: list[float] = []
    time.advance(3)
    time.call_later(seconds, lambda: moments.append(time.now()))
    time.advance(0)
    assert moments == [3.0]


def test_negative_timers_run_in_the_order_they_were_set(time: VirtualTime, log: list[str]) -> None:
    time.call_later(0, appending(log, "zero"))
    time.call_later(-5, appending(log, "negative"))
    time.run()
    assert log == ["zero", "negative"]


def test_time_cannot_be_turned_back(time: VirtualTime) -> None:
    time.advance(5)
    with pytest.raises(ValueError, match="time passes by 0 seconds or more, not by -2"):
        time.advance(-2)
    with pytest.raises(ValueError, match=r"time cannot go back to 1.0"):
        time.run(until=1.0)
    assert time.now() == 5.0


def test_not_a_number_is_no_time_to_go_to(time: VirtualTime, log: list[str]) -> None:
    time.call_later(5, appending(log, "timer"))
    with pytest.raises(ValueError, match="time passes by 0 seconds or more, not by nan"):
        time.advance(math.nan)
    with pytest.raises(ValueError, match="time cannot go back to nan"):
        time.run(until=math.nan)
    assert log == []
    assert time.now() == 0.0


def test_a_task_that_advances_time_further_is_not_turned_back(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(1, lambda: time.advance(10))
    time.call_later(11, appending(log, "at 11"))
    time.advance(2)
    assert time.now() == 11.0
    assert log == ["at 11"]


def test_running_jumps_to_the_last_timer_and_stops_there(time: VirtualTime, log: list[str]) -> None:
    time.call_later(3600, appending(log, "an hour later"))
    time.run()
    assert log == ["an hour later"]
    assert time.now() == 3600.0


def test_running_with_nothing_to_do_leaves_time_alone(time: VirtualTime) -> None:
    time.run()
    assert time.now() == 0.0


def test_running_until_stops_an_endless_tick(time: VirtualTime) -> None:
    ticks: list[float] = []

    def tick() -> None:
        ticks.append(time.now())
        time.call_later(1, tick)

    tick()
    time.run(until=3)
    assert ticks == [0.0, 1.0, 2.0, 3.0]
    assert time.now() == 3.0


def test_running_until_includes_that_moment_and_nothing_after_it(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(2, appending(log, "at"))
    time.call_later(2.0001, appending(log, "after"))
    time.run(until=2)
    assert log == ["at"]


def test_running_until_a_moment_arrives_there_without_a_rounding_error() -> None:
    start, end = 0.7, 3.1
    assert start + (end - start) != end, "a caller that advances by the difference misses it"
    time = VirtualTime(start)
    time.run(until=end)
    assert time.now() == end


def test_a_cancelled_timer_does_not_run_and_time_does_not_jump_to_it(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(1, appending(log, "kept"))
    time.call_later(9, appending(log, "cancelled")).cancel()
    time.run()
    assert log == ["kept"]
    assert time.now() == 1.0


def test_a_timer_can_cancel_another_one_of_the_same_moment(
    time: VirtualTime, log: list[str]
) -> None:
    timers: list[Timer] = []
    time.call_later(1, lambda: cancel_all(timers))
    timers.append(time.call_later(1, appending(log, "cancelled")))
    time.run()
    assert log == []


def test_cancelling_too_late_or_again_is_no_error(time: VirtualTime, log: list[str]) -> None:
    timer = time.call_later(1, appending(log, "ran"))
    time.run()
    timer.cancel()
    timer.cancel()
    time.run()
    assert log == ["ran"]


def test_what_a_task_raises_goes_to_the_test_and_the_rest_stays_in_line(
    time: VirtualTime, log: list[str]
) -> None:
    time.execute(failing)
    time.execute(appending(log, "next"))
    with pytest.raises(ValueError, match="of the task"):
        time.settle()
    assert log == []
    time.settle()
    assert log == ["next"]


def test_after_a_timer_that_raised_time_stands_at_its_moment(
    time: VirtualTime, log: list[str]
) -> None:
    time.call_later(1, failing)
    time.call_later(2, appending(log, "later"))
    with pytest.raises(ValueError, match="of the task"):
        time.advance(5)
    assert time.now() == 1.0
    time.run()
    assert log == ["later"]
    assert time.now() == 2.0


def cancel_all(timers: list[Timer]) -> None:
    for timer in timers:
        timer.cancel()


def appending(log: list[str], entry: str) -> Callable[[], None]:
    return lambda: log.append(entry)


def failing() -> None:
    raise ValueError("of the task")
