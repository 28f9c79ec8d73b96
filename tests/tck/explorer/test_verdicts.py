"""What the explorer says, also when it lost control: then it never blames the subject."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import pytest

from penstock.tck import Environment, Verdict, explore
from tests.tck.explorer import hostile, scenarios, subjects
from tests.tck.explorer.judging import breaks, holds

Scenario = Callable[[Environment], None]


def test_a_deadlock_says_who_waits_for_what_and_where() -> None:
    found = explore(scenarios.opposite_locks, subject=subjects)
    assert found.violation is not None
    lines = found.violation.message.splitlines()
    assert lines[0].startswith("deadlock: ")
    assert "scenario waits for the end of T1 (to_right), T2 (to_left), at scenarios.py:" in lines[1]
    assert "T1 (to_right) waits for Lock " in lines[2]
    assert ", held by T2 (to_left), at subjects.py:" in lines[2]
    assert ", held by T1 (to_right), at subjects.py:" in lines[3]


def test_a_livelock_says_who_runs_and_where() -> None:
    found = explore(scenarios.spinning_waiter, subject=subjects, max_steps=300)
    assert found.violation is not None
    assert "livelock: no end after 300 steps" in found.violation.message
    assert "T1 (wait) can run, at subjects.py:" in found.violation.message


def test_a_lock_that_is_never_released_is_a_deadlock_even_after_the_scenario() -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        lock.acquire()
        threading.Thread(target=lock.acquire).start()

    assert "deadlock" in breaks(scenario).message


def test_a_loop_that_waits_for_another_thread_is_no_livelock() -> None:
    def scenario(env: Environment) -> None:
        waiter = subjects.SpinningWaiter()

        def set_flag() -> None:
            waiter.flag = True

        env.par(waiter.wait, set_flag)

    found = explore(scenario, subject=subjects, bound=0, seeds=())
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_a_violation_tells_its_trail_switch_by_switch() -> None:
    found = explore(scenarios.overlapping_on_next, subject=subjects)
    assert found.violation is not None
    trail = "\n".join(found.violation.trail)
    assert found.violation.rule == "1.3"
    assert "1. scenario" in trail
    assert "starts T1" in trail
    assert "runs SerialCheck.on_next  [subjects.py:" in trail
    assert trail.index("T1") < trail.index("2. T")


def test_an_exploration_explains_itself() -> None:
    violated = explore(scenarios.racy_demand, subject=subjects)
    assert violated.violation is not None
    assert violated.explain().startswith("violated: found after ")
    assert violated.violation.schedule in violated.explain()
    held = explore(scenarios.augmented_demand, subject=subjects, seeds=())
    assert held.explain() == (
        f"held exhaustively: {held.schedules} schedule(s) at level gil, "
        "all with up to 2 preemption(s) among them"
    )


def test_a_budget_that_ends_early_leaves_the_verdict_open() -> None:
    found = explore(scenarios.condition_publisher, subject=subjects, budget=0.05)
    assert found.verdict is Verdict.HELD_SO_FAR, found.explain()
    assert found.schedules > 0


UNCONTROLLED = [
    hostile.waits_for_a_queue_of_c,
    hostile.waits_for_a_socket,
    hostile.shares_a_lock_made_before,
    hostile.waits_for_an_event_made_before,
]


@pytest.mark.parametrize("scenario", UNCONTROLLED)
def test_a_wait_that_the_explorer_does_not_own_is_no_violation(scenario: Scenario) -> None:
    found = explore(scenario)
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()
    assert found.violation is None
    assert "makes no step at hostile.py:" in found.detail


def test_an_error_after_a_wait_in_real_time_is_no_violation() -> None:
    found = explore(hostile.gives_up_on_a_queue_of_c)
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()
    assert "T1 (take) waited 0.05 s in real time" in found.detail
    assert "Empty" in found.detail


def test_a_primitive_used_by_a_thread_outside_the_run_is_no_violation() -> None:
    shared: list[threading.Event] = []
    asked, answered = threading.Event(), threading.Event()
    signals = [asked, answered]

    def outsider() -> None:
        asked.wait()
        shared[0].set()
        answered.set()

    def scenario(env: Environment) -> None:
        shared[:] = [threading.Event()]
        signals[0].set()
        signals[1].wait()

    thread = threading.Thread(target=outsider)
    thread.start()
    found = explore(scenario, bound=0, seeds=())
    thread.join()
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()
    assert "a thread that the explorer did not start uses Event 1" in found.detail


def test_losing_control_does_not_hang_a_caller_that_is_traced() -> None:
    def trace(*_: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = explore(hostile.waits_for_a_socket, budget=0.2)
    finally:
        sys.settrace(before)
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()


def test_an_endless_loop_without_switch_points_is_no_violation() -> None:
    found = explore(hostile.spins, level="sync", budget=0.2)
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()
    assert found.leaked == 0


def test_a_thread_that_swallows_its_end_is_counted_as_leaked() -> None:
    found = explore(hostile.swallows_its_end, level="sync")
    assert found.verdict is Verdict.LEAKED, found.explain()
    assert found.leaked == 1


def test_a_thread_that_swallows_its_end_and_spins_is_parked() -> None:
    found = explore(hostile.swallows_its_end_and_spins, level="sync")
    assert found.verdict is Verdict.LEAKED, found.explain()
    assert found.leaked == 1
    used = time.process_time()
    threading.Event().wait(timeout=0.1)
    assert time.process_time() - used < 0.05


def test_leaked_threads_do_not_disturb_later_explorations() -> None:
    explore(hostile.swallows_its_end, level="sync")
    explore(hostile.waits_for_a_socket)
    found = explore(scenarios.counting_drain, subject=subjects)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()
    assert len(threading.enumerate()) == threading.active_count()


@pytest.mark.parametrize("scenario", [*UNCONTROLLED, hostile.spins, hostile.swallows_its_end])
def test_a_hostile_scenario_cannot_overdraw_its_budget_by_much(scenario: Scenario) -> None:
    began = time.monotonic()
    explore(scenario, level="sync", budget=0.2)
    assert time.monotonic() - began < 30  # less than a second, but on a machine that is busy


DEPENDENT = [
    hostile.rolls_dice,
    hostile.remembers_earlier_runs,
    hostile.fails_only_now_and_then,
]


@pytest.mark.parametrize("scenario", DEPENDENT)
def test_a_subject_that_depends_on_more_than_its_schedule_is_nondeterministic(
    scenario: Scenario,
) -> None:
    found = explore(scenario)
    assert found.verdict is Verdict.NONDETERMINISTIC, found.explain()
    assert found.violation is None


def test_a_scenario_cannot_explore_itself() -> None:
    def scenario(env: Environment) -> None:
        with pytest.raises(RuntimeError, match="cannot start an exploration"):
            explore(scenarios.racy_demand)

    holds(scenario)


def test_one_process_explores_one_scenario_at_a_time() -> None:
    errors: list[BaseException] = []
    asked, answered = threading.Event(), threading.Event()
    waiting = [asked]

    def intruder() -> None:
        waiting[0].wait()
        try:
            explore(scenarios.racy_demand)
        except RuntimeError as error:
            errors.append(error)
        answered.set()

    def scenario(env: Environment) -> None:
        asked.set()
        answered.wait()

    thread = threading.Thread(target=intruder)
    thread.start()
    explore(scenario, bound=0, seeds=())
    thread.join()
    assert "one at a time" in str(errors[0])
