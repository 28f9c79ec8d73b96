"""Subclasses of the primitives in `threading` are explored like what they derive from."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from penstock.tck import Environment, Verdict, explore
from tests.tck.explorer import subclasses
from tests.tck.explorer.subclasses import (
    BoundedPermits,
    CountedEvent,
    Gate,
    HastyGate,
    Inbox,
    Meeting,
    Permits,
    Worker,
)

Scenario = Callable[[Environment], None]

LEVELS = ["gil", "sync"]


def condition(env: Environment) -> None:
    gate = Gate()
    assert env.par(gate.pass_through, gate.open)[0]


def condition_over_a_lock(env: Environment) -> None:
    gate = Gate(threading.Lock())
    assert env.par(gate.pass_through, gate.open)[0]


def condition_with_a_timeout(env: Environment) -> None:
    assert not Gate().pass_through(timeout=60)
    assert env.now == 60


def condition_that_nobody_notifies_after_the_scenario(env: Environment) -> None:
    threading.Thread(target=Gate().pass_through).start()


def event(env: Environment) -> None:
    event = CountedEvent()
    env.par(event.wait, event.set)
    assert event.times == 1
    assert not CountedEvent().wait(timeout=60)
    assert env.now == 60


def semaphore(env: Environment) -> None:
    permits = Permits(1)
    holders: list[int] = []

    def work() -> None:
        assert permits.acquire(timeout=60)
        holders.append(1)
        assert holders == [1]
        holders.clear()
        permits.release()

    env.par(work, work)
    assert permits.times == 2
    with permits:
        assert permits.times == 2  # entering calls the method of the base


def bounded_semaphore(env: Environment) -> None:
    permits = BoundedPermits(1)
    with permits:
        assert not permits.acquire(blocking=False)
    with pytest.raises(ValueError, match="too many"):
        permits.release()


def barrier(env: Environment) -> None:
    meeting = Meeting(2)
    assert sorted(env.par(meeting.wait, meeting.wait)) == [0, 1]


def thread(env: Environment) -> None:
    done: list[int] = []
    worker = Worker()
    worker.jobs.append(lambda: done.append(1))
    worker.start()
    worker.gate.open()
    worker.join()
    assert done == [1]


def bounded_queue(env: Environment) -> None:
    inbox = Inbox(maxsize=1)

    def send() -> None:
        inbox.put(1)
        inbox.put(2)

    received = env.par(send, lambda: [inbox.get(), inbox.get()])[1]
    assert received == [1, 2]


SOUND = [
    condition,
    condition_over_a_lock,
    condition_with_a_timeout,
    condition_that_nobody_notifies_after_the_scenario,
    event,
    semaphore,
    bounded_semaphore,
    barrier,
    thread,
    bounded_queue,
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scenario", SOUND, ids=lambda scenario: scenario.__name__)
def test_a_sound_subclass_holds(scenario: Scenario, level: str) -> None:
    found = explore(scenario, subject=subclasses, level=level, bound=1, seeds=())
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("level", LEVELS)
def test_a_lost_notification_of_a_subclass_is_found(level: str) -> None:
    def scenario(env: Environment) -> None:
        gate = HastyGate()
        env.par(gate.pass_through, gate.open)

    found = explore(scenario, subject=subclasses, level=level, bound=1, seeds=())
    assert found.verdict is Verdict.VIOLATED, found.explain()
    assert found.violation is not None
    assert "(pass_through) waits for Condition 1, at subclasses.py:" in found.violation.message
