"""The machinery underlying every publisher, under all schedules of two or three threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import pytest

import penstock.core
from penstock.api import Subscription
from penstock.core import BaseSubscription, BoundedBuffer, Demand, Drain
from penstock.runtime import Executor, NewLock, Task
from penstock.tck import Environment, Verdict, explore

Scenario = Callable[[Environment], None]


class ThreadForEachTask:
    """An executor with as much concurrency as there can be."""

    def __init__(self, env: Environment) -> None:
        self._env = env

    def execute(self, task: Task) -> None:
        self._env.thread(task).start()


class Deliverer(Drain):
    """Moves what was brought to what is done, and notices when it overlaps with itself."""

    def __init__(self, env: Environment, executor: Executor | None = None) -> None:
        super().__init__(executor, env.lock)
        self._env = env
        self._switch = env.lock()
        self._inside = False
        self.brought: list[int] = []
        self.done: list[int] = []

    def bring(self, element: int) -> None:
        self.brought.append(element)
        self.wake()

    def _work(self) -> None:
        if self._inside:
            self._env.fail("1.3", "the work overlaps with itself")
        self._inside = True
        while self.brought:
            self.done.append(self.brought.pop())
        with self._switch:
            pass  # another thread may get in between
        self._inside = False


class ForgetfulDeliverer(Deliverer):
    """Comes to rest without checking the notes that others left."""

    def wake(self) -> None:
        if self._find_idle():
            self._work()
            self._come_to_rest()


class CarelessDeliverer(Deliverer):
    """Works on each thread that wakes it."""

    def wake(self) -> None:
        self._work()


class Numbers(BaseSubscription[int]):
    """Sends 0, 1, 2 and completes; counts how often it was released."""

    def __init__(
        self, subscriber: SerialSubscriber, executor: Executor | None, new_lock: NewLock
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._numbers: Iterator[int] = iter(range(3))
        self.released = 0

    def _serve(self) -> None:
        wanted = self.demand.outstanding
        if self._emit(islice(self._numbers, wanted)) < wanted:
            self._complete()

    def _release(self) -> None:
        self.released += 1


class SerialSubscriber:
    """Writes down the signals, and notices when two of them overlap."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._switch = env.lock()
        self._inside = False
        self.signals: list[object] = []

    def on_subscribe(self, subscription: Subscription) -> None:
        self._record("on_subscribe")

    def on_next(self, element: int) -> None:
        self._record(element)

    def on_error(self, error: Exception) -> None:
        self._record(type(error))

    def on_complete(self) -> None:
        self._record("on_complete")

    def _record(self, signal: object) -> None:
        if self._inside:
            self._env.fail("1.3", f"{signal} came while another signal was running")
        self._inside = True
        self.signals.append(signal)
        with self._switch:
            pass  # another thread may get in between
        self._inside = False


def wake_twice(env: Environment, drain: Deliverer) -> None:
    env.par(lambda: drain.bring(1), lambda: drain.bring(2))
    env.settle()
    assert sorted(drain.done) == [1, 2]


def two_wakers(env: Environment) -> None:
    wake_twice(env, Deliverer(env))


def two_wakers_on_an_executor(env: Environment) -> None:
    wake_twice(env, Deliverer(env, ThreadForEachTask(env)))


def two_adders_and_a_consumer(env: Environment) -> None:
    demand = Demand(env.lock())
    demand.add(2)
    seen: list[int] = []

    def consume() -> None:
        demand.consume(2)
        seen.append(demand.requested)

    env.par(lambda: demand.add(3), lambda: demand.add(4), consume)
    assert (demand.outstanding, demand.delivered, demand.requested) == (7, 2, 9)
    assert seen[0] in (2, 5, 6, 9)


def delivery_against_a_look_at_the_sum(env: Environment) -> None:
    demand = Demand(env.lock())
    demand.add(5)
    _, seen = env.par(lambda: demand.consume(2), lambda: demand.requested)
    assert seen == 5


def two_writers_and_a_reader(env: Environment) -> None:
    buffer: BoundedBuffer[int] = BoundedBuffer(2, env.lock)
    buffer.put(0)
    first, second, taken = env.par(
        lambda: buffer.offer(1),
        lambda: buffer.offer(2),
        buffer.take,
    )
    accepted = [0] + [1] * first + [2] * second
    assert sorted(taken + buffer.take()) == accepted
    assert len(accepted) >= 2
    assert buffer.peak <= 2


def two_requests(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    subscription = Numbers(subscriber, None, env.lock)
    subscription.wake()
    env.par(lambda: subscription.request(1), lambda: subscription.request(1))
    assert subscriber.signals == ["on_subscribe", 0, 1]
    assert subscription.demand.outstanding == 0


def request_against_cancel(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    subscription = Numbers(subscriber, None, env.lock)
    subscription.wake()
    env.par(lambda: subscription.request(2), subscription.cancel)
    assert subscriber.signals in (
        ["on_subscribe"],
        ["on_subscribe", 0],
        ["on_subscribe", 0, 1],
    )
    assert subscription.released == 1


def completion_against_an_illegal_request(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    subscription = Numbers(subscriber, None, env.lock)
    subscription.wake()
    env.par(lambda: subscription.request(4), lambda: subscription.request(0))
    *elements, ending = subscriber.signals
    assert elements == ["on_subscribe", *range(len(elements) - 1)]
    assert ending in ("on_complete", ValueError)
    assert subscription.released == 1


def opening_against_a_failure(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    subscription = Numbers(subscriber, None, env.lock)
    env.par(subscription.wake, lambda: subscription.fail_soon(LookupError()))
    assert subscriber.signals == ["on_subscribe", LookupError]
    assert subscription.released == 1


def two_cancels(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    subscription = Numbers(subscriber, None, env.lock)
    subscription.wake()
    env.par(subscription.cancel, subscription.cancel)
    assert subscriber.signals == ["on_subscribe"]
    assert subscription.released == 1


SCENARIOS: list[Scenario] = [
    two_wakers,
    two_wakers_on_an_executor,
    two_adders_and_a_consumer,
    delivery_against_a_look_at_the_sum,
    two_writers_and_a_reader,
    two_requests,
    request_against_cancel,
    completion_against_an_illegal_request,
    opening_against_a_failure,
    two_cancels,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_every_schedule_with_two_preemptions(scenario: Scenario) -> None:
    found = explore(scenario, subject=penstock.core, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize(
    "scenario", [two_wakers, delivery_against_a_look_at_the_sum, request_against_cancel]
)
def test_it_holds_without_the_global_lock_of_the_interpreter(scenario: Scenario) -> None:
    found = explore(scenario, subject=penstock.core, level="visible", bound=1, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


@pytest.mark.parametrize("kind", [ForgetfulDeliverer, CarelessDeliverer])
def test_a_drain_that_is_broken_is_found_out(kind: type[Deliverer]) -> None:
    def two_wakers_of_a_broken_one(env: Environment) -> None:
        wake_twice(env, kind(env))

    found = explore(two_wakers_of_a_broken_one, subject=penstock.core, budget=60)
    assert found.verdict is Verdict.VIOLATED, found.explain()
