"""What a scenario can do: parallel calls, quiescence, virtual time, failure, injection."""

from __future__ import annotations

import queue
import threading
import time

import pytest

from penstock.tck import Environment, Verdict, explore
from tests.tck.explorer.judging import breaks, holds


def test_parallel_calls_return_their_results_in_order() -> None:
    def scenario(env: Environment) -> None:
        assert env.par(lambda: "a", lambda: "b") == ["a", "b"]
        assert env.par() == []

    holds(scenario)


def test_parallel_calls_can_be_nested() -> None:
    def scenario(env: Environment) -> None:
        def both() -> list[int]:
            return list(env.par(lambda: 1, lambda: 2))

        assert env.par(both, both) == [[1, 2], [1, 2]]

    holds(scenario, level="sync")


def test_settling_lets_all_others_run_but_no_time_pass() -> None:
    def scenario(env: Environment) -> None:
        seen: list[str] = []

        def work() -> None:
            seen.append("before")
            time.sleep(0)
            seen.append("after")
            later.wait(timeout=1)
            seen.append("later")

        later = threading.Event()
        threading.Thread(target=work).start()
        env.settle()
        assert seen == ["before", "after"]
        assert env.now == 0

    holds(scenario)


def test_settling_alone_returns_at_once() -> None:
    def scenario(env: Environment) -> None:
        env.settle()
        assert env.now == 0

    holds(scenario)


def test_advancing_does_all_that_is_due_until_then_and_nothing_more() -> None:
    def scenario(env: Environment) -> None:
        fired: list[int] = []
        for delay in (1, 2, 3):
            threading.Timer(delay, fired.append, [delay]).start()
        env.advance(2)
        assert fired == [1, 2]
        assert env.now == 2
        env.advance(0.5)
        assert fired == [1, 2]
        env.advance(0)
        assert env.now == 2.5

    holds(scenario, level="sync")


def test_time_cannot_go_back() -> None:
    def scenario(env: Environment) -> None:
        with pytest.raises(ValueError, match="cannot go back"):
            env.advance(-1)

    holds(scenario)


def test_no_handler_of_the_subject_can_swallow_a_failure() -> None:
    def scenario(env: Environment) -> None:
        def careless() -> None:
            try:
                env.fail("1.3", "two at once")
            except BaseException:
                pass

        env.par(careless)

    violation = breaks(scenario)
    assert violation.rule == "1.3"
    assert violation.message == "two at once"
    assert "rule 1.3: two at once" in str(violation)


def test_the_first_of_two_failures_is_the_one_that_counts() -> None:
    def scenario(env: Environment) -> None:
        try:
            env.fail("2.5", "first")
        finally:
            raise AssertionError("second")

    assert breaks(scenario).message == "first"


def test_primitives_can_be_injected() -> None:
    class Counter:
        def __init__(self, env: Environment) -> None:
            self.lock = env.lock()
            self.changed = env.condition(env.rlock())
            self.done = env.event()
            self.slots = env.semaphore(1)
            self.bounded = env.bounded_semaphore(1)
            self.results: queue.SimpleQueue[int] = env.simple_queue()

        def count(self) -> None:
            with self.lock, self.slots, self.bounded, self.changed:
                self.results.put(1)
                self.changed.notify_all()
            self.done.set()

    def scenario(env: Environment) -> None:
        counter = Counter(env)
        threads = [env.thread(counter.count), env.thread(counter.done.wait, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counter.results.get() == 1
        assert env.monotonic() == 0
        pause = env.sleep
        pause(3)
        assert env.monotonic() == env.now == 3

    holds(scenario, level="sync")


def test_a_thread_that_still_waits_when_the_scenario_returns_is_no_fault() -> None:
    def scenario(env: Environment) -> None:
        threading.Thread(target=threading.Event().wait).start()
        threading.Thread(target=time.sleep, args=(60,)).start()

    holds(scenario)


def test_threads_that_run_when_the_scenario_returns_run_to_their_end() -> None:
    finished: list[int] = []

    def scenario(env: Environment) -> None:
        finished.clear()
        threading.Thread(target=finished.append, args=(1,)).start()

    holds(scenario)
    assert finished == [1]


def test_errors_that_a_scenario_provokes_can_be_forgiven() -> None:
    def fail() -> None:
        raise LookupError

    def scenario(env: Environment) -> None:
        env.forgive(LookupError)
        threading.Thread(target=fail).start()

    holds(scenario)


def test_a_scenario_can_tell_its_own_threads_from_others() -> None:
    answers: list[bool] = []

    def scenario(env: Environment) -> None:
        assert env.controls_this_thread
        assert env.par(lambda: env.controls_this_thread) == [True]
        environments.append(env)

    environments: list[Environment] = []
    holds(scenario)
    answers = [env.controls_this_thread for env in environments]
    assert not any(answers)


def test_a_scenario_can_say_that_control_was_lost() -> None:
    def scenario(env: Environment) -> None:
        env.lose_control("the subject started a process")

    found = explore(scenario)
    assert found.verdict is Verdict.UNCONTROLLED, found.explain()
    assert found.detail == "the subject started a process"
