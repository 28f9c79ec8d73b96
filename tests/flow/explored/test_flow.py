"""The core of ``Flow`` under all schedules of two or three threads.

What every scenario asks: signals are serial (1.3), within demand (1.1), end once (1.7), nothing is
lost or sent twice, and once all threads are still, nobody waits for what is there.
"""

from __future__ import annotations

import pytest

import penstock.core
import penstock.flow.engine.fusion
import penstock.flow.engine.prefetch_subscriber
import penstock.flow.engine.subscription
import penstock.flow.operators.threads
from penstock.flow import Flow
from penstock.tck import Environment
from tests.flow.explored.parties import Foreign, SerialSubscriber, ThreadForEachTask
from tests.tck.explorer.holding import Scenario, assert_holds

SUBJECT = [
    penstock.core,
    penstock.flow.engine.subscription,
    penstock.flow.engine.prefetch_subscriber,
    penstock.flow.operators.threads,
    penstock.flow.engine.fusion,
]


def two_requests_and_a_cancel(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    Flow.from_iterable(iter([0, 1, 2])).map(int).subscribe(subscriber)
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1), subscriber.cancel)
    assert subscriber.elements == list(range(len(subscriber.elements)))
    before = list(subscriber.signals)
    subscriber.request(1)
    assert subscriber.signals == before


def two_requests_to_the_end(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    Flow.range(2).subscribe(subscriber)
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1))
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def a_request_against_an_element(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).map(int).subscribe(subscriber)
    subscriber.request(1)
    env.par(foreign.send, lambda: subscriber.request(2))
    foreign.send()
    assert subscriber.elements == [0, 1, 2]
    assert foreign.requested == 3


def a_cancel_against_an_element(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).subscribe(subscriber)
    subscriber.request(2)
    env.par(foreign.send, subscriber.cancel)
    assert foreign.cancels == 1
    assert subscriber.elements == list(range(len(subscriber.elements)))
    assert subscriber.endings == []


def a_request_against_the_completion(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).subscribe(subscriber)
    subscriber.request(1)

    def send_and_complete() -> None:
        foreign.send()
        foreign.complete()

    env.par(send_and_complete, lambda: subscriber.request(1))
    assert subscriber.elements == list(range(len(subscriber.elements)))
    assert subscriber.endings == ["on_complete"]


def the_last_element_against_the_take_that_it_ends(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).take(1).subscribe(subscriber)
    subscriber.request(2)
    env.par(foreign.send, lambda: subscriber.request(1))
    assert subscriber.signals == ["on_subscribe", 0, "on_complete"]
    assert foreign.cancels == 1


def a_hop_to_threads_with_two_requests(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    Flow.range(2).publish_on(ThreadForEachTask(env), prefetch=1).subscribe(subscriber)
    env.settle()
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1))
    env.settle()
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def a_hop_to_threads_from_a_foreign_publisher(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    executor = ThreadForEachTask(env)
    Flow.from_publisher(foreign).publish_on(executor, prefetch=2).subscribe(subscriber)
    env.settle()
    env.par(foreign.send, lambda: subscriber.request(3))
    env.settle()
    foreign.send()
    env.settle()
    assert subscriber.elements == [0, 1, 2]


def a_cancel_against_a_hop(env: Environment) -> None:
    discarded: list[int] = []
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    hop = Flow.from_publisher(foreign).publish_on(ThreadForEachTask(env), prefetch=2)
    hop.do_on_discard(discarded.append).subscribe(subscriber)
    env.settle()
    subscriber.request(1)
    env.par(foreign.send, subscriber.cancel)
    env.settle()
    assert subscriber.endings == []
    # What came late is told by the thread that brought it, perhaps ahead of what waited.
    assert sorted([*subscriber.elements, *discarded]) == list(range(foreign.sent))


def made_on_threads_upstream(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    Flow.range(2).subscribe_on(ThreadForEachTask(env)).subscribe(subscriber)
    env.settle()
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1))
    env.settle()
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


SCENARIOS: list[Scenario] = [
    two_requests_and_a_cancel,
    two_requests_to_the_end,
    a_request_against_an_element,
    a_cancel_against_an_element,
    a_request_against_the_completion,
    the_last_element_against_the_take_that_it_ends,
    a_hop_to_threads_with_two_requests,
    a_hop_to_threads_from_a_foreign_publisher,
    a_cancel_against_a_hop,
    made_on_threads_upstream,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_one_preemption(scenario: Scenario) -> None:
    assert_holds(scenario, SUBJECT, bound=1, seeds=(), budget=1)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["gil", "visible"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_two_preemptions(scenario: Scenario, level: str) -> None:
    assert_holds(scenario, SUBJECT, level=level, budget=40)
