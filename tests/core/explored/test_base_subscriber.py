"""The subscriber's end, and a subscriber on an executor, under all schedules of two threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock.core
from penstock.api import Subscription
from penstock.core import COMPLETED, AsyncSubscriber, BaseSubscriber, subscribers
from penstock.runtime import Task
from penstock.tck import Environment, Verdict, explore

Scenario = Callable[[Environment], None]

SUBJECT = [penstock.core, subscribers]


class CountingSubscription:
    """Counts what was asked of it."""

    def __init__(self) -> None:
        self.requested = 0
        self.cancels = 0

    def request(self, n: int) -> None:
        self.requested += n

    def cancel(self) -> None:
        self.cancels += 1


class CarelessSubscriber(BaseSubscriber):
    """Checks first and takes later, without a lock in between."""

    def accept(self, subscription: Subscription) -> bool:
        if self._is_taken():
            subscription.cancel()
            return False
        self._take(subscription)
        return True

    def _is_taken(self) -> bool:
        return self._subscription is not None

    def _take(self, subscription: Subscription) -> None:
        self._subscription = subscription


class OneThread:
    """An executor with one thread, which a scenario runs."""

    def __init__(self, env: Environment) -> None:
        self._tasks = env.simple_queue()

    def execute(self, task: Task) -> None:
        self._tasks.put(task)

    def close(self) -> None:
        self._tasks.put(None)

    def run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()


class Collecting(AsyncSubscriber[int]):
    """Keeps all elements and how the stream ended; then closes its executor."""

    def __init__(self, env: Environment, prefetch: int) -> None:
        self.executor = OneThread(env)
        super().__init__(self.executor, prefetch=prefetch, new_lock=env.lock)
        self.received: list[int] = []
        self.endings: list[object] = []

    def receive(self, element: int) -> bool:
        self.received.append(element)
        return True

    def completed(self) -> None:
        self.endings.append("completed")
        self.executor.close()

    def failed(self, error: Exception) -> None:
        self.endings.append(error)


class Producer:
    """A publisher's side that sends from its own thread, as much as was requested."""

    def __init__(self, env: Environment, subscriber: AsyncSubscriber[int]) -> None:
        self._subscriber = subscriber
        self._asked = env.semaphore(0)
        self.requests: list[int] = []
        self.cancels = 0

    def request(self, n: int) -> None:
        self.requests.append(n)
        for _ in range(n):
            self._asked.release()

    def cancel(self) -> None:
        self.cancels += 1

    def send(self, count: int) -> None:
        self._subscriber.on_subscribe(self)
        for element in range(count):
            self._asked.acquire()
            self._subscriber.on_next(element)
        self._subscriber.on_complete()


def accept_against_cancel(env: Environment) -> None:
    subscriber, subscription = BaseSubscriber(2, env.lock), CountingSubscription()
    env.par(lambda: subscriber.accept(subscription), subscriber.cancel)
    assert subscription.cancels == 1
    assert subscriber.ending is None


def accept_against_accept(env: Environment) -> None:
    accept_twice(env, BaseSubscriber(2, env.lock))


def accept_twice(env: Environment, subscriber: BaseSubscriber) -> None:
    one, other = CountingSubscription(), CountingSubscription()
    taken = env.par(lambda: subscriber.accept(one), lambda: subscriber.accept(other))
    assert sorted(taken) == [False, True]
    assert one.cancels + other.cancels == 1


def admit_against_refill(env: Environment) -> None:
    subscriber, subscription = BaseSubscriber(4, env.lock), CountingSubscription()
    subscriber.accept(subscription)
    subscriber.refill(wanted=2, taken=0)

    def refill() -> None:
        subscriber.refill(wanted=3, taken=0)
        subscriber.refill(wanted=9, taken=1)

    admitted, _ = env.par(lambda: [subscriber.admit(), subscriber.admit()], refill)
    assert admitted == [True, True]
    assert 3 <= subscription.requested <= 5
    assert subscriber.ending is None


def admit_against_cancel(env: Environment) -> None:
    subscriber, subscription = BaseSubscriber(2, env.lock), CountingSubscription()
    subscriber.accept(subscription)
    subscriber.refill(wanted=1, taken=0)
    admitted, _ = env.par(subscriber.admit, subscriber.cancel)
    assert not subscriber.admit()
    assert admitted in (False, True)
    assert subscriber.ending is None
    assert subscription.cancels == 1


def end_against_cancel(env: Environment) -> None:
    subscriber, subscription = BaseSubscriber(2, env.lock), CountingSubscription()
    subscriber.accept(subscription)
    env.par(lambda: subscriber.end(COMPLETED), subscriber.cancel)
    assert subscriber.ending in (None, COMPLETED)
    assert subscription.cancels <= 1


def publisher_against_executor(env: Environment) -> None:
    subscriber = Collecting(env, prefetch=1)
    producer = Producer(env, subscriber)
    env.par(lambda: producer.send(2), subscriber.executor.run)
    assert subscriber.received == [0, 1]
    assert subscriber.endings == ["completed"]
    assert subscriber.peak <= 1
    assert producer.cancels == 0


def completion_against_stop(env: Environment) -> None:
    subscriber = Collecting(env, prefetch=1)
    subscription = CountingSubscription()
    env.thread(subscriber.executor.run).start()
    subscriber.on_subscribe(subscription)
    env.settle()
    env.par(subscriber.on_complete, subscriber.stop)
    env.settle()
    subscriber.executor.close()
    assert subscriber.endings in ([], ["completed"])
    assert subscription.cancels <= 1


SCENARIOS_OF_THE_BASE: list[Scenario] = [
    accept_against_cancel,
    accept_against_accept,
    admit_against_refill,
    admit_against_cancel,
    end_against_cancel,
]
SCENARIOS_OF_THE_SUBSCRIBER: list[Scenario] = [
    publisher_against_executor,
    completion_against_stop,
]


@pytest.mark.parametrize("scenario", SCENARIOS_OF_THE_BASE)
def test_the_base_subscriber_holds_under_every_schedule_with_two_preemptions(
    scenario: Scenario,
) -> None:
    found = explore(scenario, subject=penstock.core, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("scenario", SCENARIOS_OF_THE_BASE)
def test_the_base_subscriber_holds_without_the_global_lock_of_the_interpreter(
    scenario: Scenario,
) -> None:
    found = explore(scenario, subject=penstock.core, level="visible", bound=1, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("scenario", SCENARIOS_OF_THE_SUBSCRIBER)
def test_the_subscriber_holds_under_every_schedule_with_one_preemption(scenario: Scenario) -> None:
    found = explore(scenario, subject=SUBJECT, bound=1, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scenario", SCENARIOS_OF_THE_SUBSCRIBER)
def test_the_subscriber_holds_under_every_schedule_with_two_preemptions(scenario: Scenario) -> None:
    found = explore(scenario, subject=SUBJECT, seeds=(), budget=500)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_a_base_subscriber_that_is_broken_is_found_out() -> None:
    def accept_against_accept_of_a_broken_one(env: Environment) -> None:
        accept_twice(env, CarelessSubscriber(2, env.lock))

    found = explore(accept_against_accept_of_a_broken_one, budget=60)
    assert found.verdict is Verdict.VIOLATED, found.explain()
