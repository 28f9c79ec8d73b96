"""A guard between two threads, under all of their schedules: the subscriber is never harmed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.api import Subscriber, Subscription
from penstock.core import AsyncSubscriber
from penstock.examples import IterablePublisher
from penstock.guard import GuardedPublisher, GuardedSubscriber, guard
from penstock.guard import publisher as publisher_guard
from penstock.guard import subscriber as subscriber_guard
from penstock.guard.publisher import GuardedStream
from penstock.rules import RuleViolation
from penstock.runtime import Task
from penstock.tck import Environment, Verdict, explore

Scenario = Callable[[Environment], None]


class ByHand:
    """A publisher that leaves it to the scenario what to signal, and counts the cancels."""

    def __init__(self) -> None:
        self.cancels = 0

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber

    def open(self) -> None:
        self.subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        self.cancels += 1


class SerialSubscriber:
    """Writes down the signals, and notices when two of them overlap."""

    def __init__(self, env: Environment, asks_for: int) -> None:
        self._env = env
        self._switch = env.lock()
        self._inside = False
        self._asks_for = asks_for
        self.signals: list[object] = []

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        subscription.request(self._asks_for)
        self._record("on_subscribe")

    def on_next(self, element: int) -> None:
        self._record(element)

    def on_error(self, error: Exception) -> None:
        self._record(error.rule.number if isinstance(error, RuleViolation) else error)

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


class ThreadForEachTask:
    """An executor with as much concurrency as there can be."""

    def __init__(self, env: Environment) -> None:
        self._env = env

    def execute(self, task: Task) -> None:
        self._env.thread(task).start()


def guarded(env: Environment, publisher: ByHand) -> GuardedPublisher[int]:
    return guard(publisher, on_violation=lambda _: None, new_lock=env.lock)


def rules(of: GuardedPublisher[int] | GuardedSubscriber[int]) -> list[str]:
    return [violation.rule.number for violation in of.violations]


def two_elements_for_a_demand_of_one(env: Environment) -> None:
    party = ByHand()
    publisher = guarded(env, party)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    party.open()
    env.par(lambda: party.subscriber.on_next(1), lambda: party.subscriber.on_next(2))
    opening, element, ending = subscriber.signals
    assert (opening, element in (1, 2), ending in ("1.1", "1.3")) == ("on_subscribe", True, True)
    assert rules(publisher) == [ending]
    assert party.cancels == 1


def an_element_against_a_cancel(env: Environment) -> None:
    party = ByHand()
    publisher = guarded(env, party)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    party.open()
    env.par(lambda: party.subscriber.on_next(1), subscriber.subscription.cancel)
    assert subscriber.signals in (["on_subscribe"], ["on_subscribe", 1])
    assert rules(publisher) == []
    assert party.cancels == 1


def a_surplus_against_a_cancel(env: Environment) -> None:
    party = ByHand()
    publisher = guarded(env, party)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    party.open()
    party.subscriber.on_next(1)
    env.par(lambda: party.subscriber.on_next(2), subscriber.subscription.cancel)
    assert subscriber.signals in (["on_subscribe", 1], ["on_subscribe", 1, "1.1"])
    assert rules(publisher) == ["1.1"]
    assert party.cancels >= 1


def a_surplus_against_the_completion(env: Environment) -> None:
    party = ByHand()
    publisher = guarded(env, party)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    party.open()
    party.subscriber.on_next(1)
    env.par(lambda: party.subscriber.on_next(2), party.subscriber.on_complete)
    *begin, ending = subscriber.signals
    assert begin == ["on_subscribe", 1]
    assert ending in ("on_complete", "1.1")
    assert len(rules(publisher)) == 1
    assert rules(publisher)[0] in ("1.1", "1.3", "1.7")


def an_element_against_the_opening(env: Environment) -> None:
    party = ByHand()
    publisher = guarded(env, party)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    env.par(party.open, lambda: party.subscriber.on_next(1))
    assert subscriber.signals in (
        ["on_subscribe", 1],  # the element came just after the opening
        ["on_subscribe", "1.3"],
        ["on_subscribe", "1.9"],
    )
    assert rules(publisher) == subscriber.signals[1:] or subscriber.signals[1] == 1


def two_requests_of_a_conformant_publisher(env: Environment) -> None:
    party = IterablePublisher(range(3), new_lock=env.lock)
    publisher = guard(party, new_lock=env.lock)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    request = subscriber.subscription.request
    env.par(lambda: request(1), lambda: request(1))
    assert subscriber.signals == ["on_subscribe", 0, 1, 2, "on_complete"]
    assert rules(publisher) == []


def an_illegal_request_against_a_legal_one(env: Environment) -> None:
    party = IterablePublisher(range(2), new_lock=env.lock)
    publisher = guard(party, new_lock=env.lock)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    request = subscriber.subscription.request
    env.par(lambda: request(0), lambda: request(2))
    assert subscriber.signals[-1] == "on_complete" or isinstance(subscriber.signals[-1], ValueError)
    assert rules(publisher) == []


def a_request_against_a_cancel_and_a_late_request(env: Environment) -> None:
    party = IterablePublisher(range(5), new_lock=env.lock)
    publisher = guard(party, new_lock=env.lock)
    subscriber = SerialSubscriber(env, asks_for=1)
    publisher.subscribe(subscriber)
    subscription = subscriber.subscription
    env.par(
        lambda: subscription.request(1), lambda: (subscription.cancel(), subscription.request(1))
    )
    assert subscriber.signals in (["on_subscribe", 0], ["on_subscribe", 0, 1])
    assert rules(publisher) == []


def an_asynchronous_subscriber_at_the_end_of_its_stream(env: Environment) -> None:
    class Sum(AsyncSubscriber[int]):
        total = 0

        def receive(self, element: int) -> bool:
            self.total += element
            return True

    party = Sum(ThreadForEachTask(env), prefetch=1, new_lock=env.lock)
    subscriber = guard(party, new_lock=env.lock)
    IterablePublisher([1, 2], new_lock=env.lock).subscribe(subscriber)
    env.settle()
    assert party.total == 3
    assert rules(subscriber) == []


def two_threads_of_a_subscriber(env: Environment) -> None:
    publisher = ByHand()
    party = SerialSubscriber(env, asks_for=1)
    subscriber = guard(party, on_violation=lambda _: None, new_lock=env.lock)
    publisher.subscribe(subscriber)
    publisher.open()
    env.par(lambda: party.subscription.request(1), party.subscription.cancel)
    assert rules(subscriber) in ([], ["2.7"])
    assert publisher.cancels == 1


def an_element_against_the_end_of_a_guarded_subscriber(env: Environment) -> None:
    class Careless(SerialSubscriber):
        """Does not mind overlapping signals, which a guarded subscriber gets as they come."""

        def _record(self, signal: object) -> None:
            self.signals.append(signal)

    publisher = ByHand()
    party = Careless(env, asks_for=1)
    subscriber = guard(party, new_lock=env.lock)
    publisher.subscribe(subscriber)
    publisher.open()
    env.par(lambda: publisher.subscriber.on_next(1), publisher.subscriber.on_complete)
    assert "on_complete" in party.signals
    assert rules(subscriber) == []


QUICK: list[Scenario] = [
    two_elements_for_a_demand_of_one,
    an_element_against_a_cancel,
    a_surplus_against_a_cancel,
    a_surplus_against_the_completion,
    an_asynchronous_subscriber_at_the_end_of_its_stream,
    two_threads_of_a_subscriber,
    an_element_against_the_end_of_a_guarded_subscriber,
]
LONG: list[Scenario] = [
    an_element_against_the_opening,
    two_requests_of_a_conformant_publisher,
    an_illegal_request_against_a_legal_one,
    a_request_against_a_cancel_and_a_late_request,
]
SCENARIOS = [*QUICK, *(pytest.param(scenario, marks=pytest.mark.full) for scenario in LONG)]

# The places where threads meet. All else in the package runs under a lock or makes words.
SUBJECT = (publisher_guard, subscriber_guard)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_every_schedule_with_two_preemptions(scenario: Scenario) -> None:
    found = explore(scenario, subject=SUBJECT, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_a_guard_that_does_not_wait_for_running_signals_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tell_at_once(stream: GuardedStream[int]) -> None:
        ending, stream._ending = stream._ending, None
        subscriber, stream._subscriber = stream._subscriber, None
        if ending is not None and subscriber is not None:
            subscriber.on_error(ending)

    monkeypatch.setattr(GuardedStream, "_conclude", tell_at_once)
    found = explore(two_elements_for_a_demand_of_one, subject=SUBJECT, budget=60)
    assert found.verdict is Verdict.VIOLATED, found.explain()
