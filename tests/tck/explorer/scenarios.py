"""What is done with the subjects, and what must hold whatever the schedule."""

from __future__ import annotations

from typing import Protocol

from penstock.tck import Environment
from tests.tck.explorer import subjects


class Demand(Protocol):
    """What the three ways to count demand share."""

    demand: int

    def request(self, n: int) -> None: ...


class Drain(Protocol):
    """What the three drain loops share."""

    delivered: list[int]

    def signal(self, element: int) -> None: ...


def two_requests(env: Environment, demand: Demand) -> None:
    env.par(lambda: demand.request(1), lambda: demand.request(1))
    assert demand.demand == 2


def racy_demand(env: Environment) -> None:
    two_requests(env, subjects.RacyDemand())


def augmented_demand(env: Environment) -> None:
    two_requests(env, subjects.AugmentedDemand())


def capped_demand(env: Environment) -> None:
    two_requests(env, subjects.CappedDemand())


def two_signals(env: Environment, drain: Drain) -> None:
    env.par(lambda: drain.signal(1), lambda: drain.signal(2))
    assert sorted(drain.delivered) == [1, 2]


def missed_signal(env: Environment) -> None:
    two_signals(env, subjects.MissedSignalDrain())


def flag_drain(env: Environment) -> None:
    two_signals(env, subjects.FlagDrain())


def counting_drain(env: Environment) -> None:
    two_signals(env, subjects.CountingDrain())


def opposite_locks(env: Environment) -> None:
    accounts = subjects.TwoAccounts()
    env.par(accounts.to_right, accounts.to_left)


def condition_publisher(env: Environment) -> None:
    received: list[int] = []
    publisher = subjects.ConditionPublisher(received.append)
    env.settle()
    env.par(lambda: publisher.request(1), lambda: publisher.request(2))
    env.settle()
    assert received == [0, 1, 2]
    publisher.cancel()
    publisher.thread.join()


def request_against_cancel(env: Environment) -> None:
    received: list[int] = []
    publisher = subjects.ConditionPublisher(received.append)
    env.par(lambda: publisher.request(2), publisher.cancel)
    publisher.thread.join()
    assert received in ([], [0], [0, 1])


def lost_wake_up(env: Environment) -> None:
    worker = subjects.ForgetfulWorker()

    def submit_two() -> None:
        worker.submit(1)
        worker.submit(2)

    env.par(lambda: worker.run(2), submit_two)
    assert worker.done == [1, 2]


def overlapping_on_next(env: Environment) -> None:
    check = subjects.SerialCheck()
    source = subjects.CarelessSource(check.on_next)
    env.par(lambda: source.request(1), lambda: source.request(1))
    if check.overlapped:
        env.fail("1.3", "on_next was called while on_next was running")


def pool_of_two(env: Environment) -> None:
    assert subjects.deliver_by_pool(workers=2) == [0, 1]


def pool_of_one(env: Environment) -> None:
    assert subjects.deliver_by_pool(workers=1) == [0, 1]


def queue_bridge(env: Environment) -> None:
    bridge = subjects.QueueBridge()
    env.par(lambda: bridge.send(3), lambda: bridge.receive(3))
    assert bridge.received == [0, 1, 2]
    assert env.now == 180


def spinning_waiter(env: Environment) -> None:
    env.par(subjects.SpinningWaiter().wait)
