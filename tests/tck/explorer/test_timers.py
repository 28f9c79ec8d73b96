"""Deadlines that may come while a thread can run: a timeout races what it waits for."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from penstock.tck import Environment, Verdict, explore, replay
from tests.tck.explorer import scenarios, subjects
from tests.tck.explorer.judging import Scenario

LEVELS = ["gil", "visible", "sync"]

pause = time.sleep
"""Virtual time passes without waiting: these tests never sleep."""


class Mailbox:
    """Gives up after a minute, without a check of what came in the meantime."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.letters: list[str] = []
        self.is_closed = False

    def receive(self) -> str | None:
        if self.arrived.wait(timeout=60):
            return self.letters.pop()
        self.is_closed = True
        return None

    def send(self, letter: str) -> bool:
        if self.is_closed:
            return False
        self.letters.append(letter)
        self.arrived.set()
        return True


class CarefulMailbox(Mailbox):
    """Decides under a lock whether the letter or the timeout came first."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def receive(self) -> str | None:
        self.arrived.wait(timeout=60)
        with self.lock:
            self.is_closed = True
            return self.letters.pop() if self.letters else None

    def send(self, letter: str) -> bool:
        with self.lock:
            return super().send(letter)


def exchange(env: Environment, mailbox: Mailbox) -> None:
    received, was_sent = env.par(mailbox.receive, lambda: mailbox.send("hello"))
    assert received == ("hello" if was_sent else None)


def careless_exchange(env: Environment) -> None:
    exchange(env, Mailbox())


def careful_exchange(env: Environment) -> None:
    exchange(env, CarefulMailbox())


def test_a_timeout_comes_last_unless_timers_race() -> None:
    found = explore(careless_exchange)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("level", LEVELS)
def test_a_letter_that_is_lost_when_timeout_and_signal_meet_is_found(level: str) -> None:
    found = explore(careless_exchange, level=level, race_timers=True)
    assert found.verdict is Verdict.VIOLATED, found.explain()
    assert found.violation is not None
    assert "takes until the virtual time 60" in str(found.violation)


@pytest.mark.parametrize("level", LEVELS)
def test_a_mailbox_that_decides_under_a_lock_holds_when_timers_race(level: str) -> None:
    found = explore(careful_exchange, level=level, race_timers=True, seeds=range(50), budget=20)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("bound", [0, 1])
def test_a_deadline_that_comes_early_counts_like_a_preemption(bound: int) -> None:
    moments: set[float] = set()

    def scenario(env: Environment) -> None:
        event = threading.Event()
        env.par(lambda: event.wait(timeout=60), event.set)
        moments.add(env.now)

    explore(scenario, level="sync", bound=bound, seeds=(), race_timers=True)
    assert moments == ({0} if bound == 0 else {0, 60})


def test_random_schedules_let_timers_race() -> None:
    found = explore(careless_exchange, bound=0, seeds=range(200), race_timers=True)
    assert found.verdict is Verdict.VIOLATED, found.explain()


@pytest.mark.parametrize("level", LEVELS)
def test_a_race_of_timers_replays_from_its_schedule_alone(level: str) -> None:
    found = explore(careless_exchange, level=level, race_timers=True)
    assert found.violation is not None
    assert f":{level}+timers:" in found.violation.schedule
    again = replay(careless_exchange, found.violation.schedule)
    assert again.violation == found.violation


def test_a_timer_that_does_not_come_next_cannot_be_chosen() -> None:
    def scenario(env: Environment) -> None:
        env.par(lambda: pause(1), lambda: pause(2), lambda: None, lambda: None)

    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    found = replay(scenario, f"v1:{python}:sync+timers:2>2")
    assert found.verdict is Verdict.NONDETERMINISTIC, found.explain()
    assert "cannot go to thread 2: only [3, 4, 1] can run" in found.detail


@pytest.mark.parametrize("level", ["gil", "sync"])
def test_time_stands_still_while_the_scenario_settles(level: str) -> None:
    def scenario(env: Environment) -> None:
        lock = threading.Lock()

        def work() -> None:
            for _ in range(2):
                with lock:
                    pass

        threading.Thread(target=time.sleep, args=(1,)).start()
        threading.Thread(target=work).start()
        before = env.now
        env.settle()
        assert env.now == before

    found = explore(scenario, level=level, bound=1, seeds=range(20), race_timers=True)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_nobody_wakes_up_before_its_time_when_timers_race() -> None:
    def scenario(env: Environment) -> None:
        def nap(seconds: float) -> None:
            end = time.monotonic() + seconds
            pause(seconds)
            assert time.monotonic() >= end

        env.par(lambda: nap(1), lambda: nap(2), lambda: nap(1))
        assert env.now in (2, 3, 4)

    found = explore(scenario, level="sync", race_timers=True)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize(
    "scenario", [scenarios.condition_publisher, scenarios.counting_drain, scenarios.pool_of_one]
)
def test_without_timers_there_is_nothing_to_race(scenario: Scenario) -> None:
    without = explore(scenario, subject=subjects, level="sync", bound=1, seeds=())
    racing = explore(scenario, subject=subjects, level="sync", bound=1, seeds=(), race_timers=True)
    assert racing.schedules == without.schedules
