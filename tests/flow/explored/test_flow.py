"""The core of ``Flow`` under all schedules of two or three threads.

What every scenario asks: signals are serial (1.3), within demand (1.1), end once (1.7), nothing is
lost or sent twice, and once all threads are still, nobody waits for what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

import penstock.core
import penstock.flow.engine.fusion
import penstock.flow.engine.prefetch_subscriber
import penstock.flow.engine.subscription
import penstock.flow.operators.threads
from penstock.flow import Flow
from penstock.flow.engine import prefetch_subscriber
from penstock.tck import Environment
from tests.flow.explored.parties import Foreign, SerialSubscriber, ThreadForEachTask
from tests.tck.explorer.holding import BRIEFLY, Scenario, assert_holds

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


def a_hop_between_two_flows(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    made = Flow.from_iterable(iter([0, 1, 2])).subscribe_on(ThreadForEachTask(env))
    made.publish_on(ThreadForEachTask(env), prefetch=2).subscribe(subscriber)
    env.settle()
    subscriber.request(4)
    env.settle()
    assert subscriber.signals == ["on_subscribe", 0, 1, 2, "on_complete"]


def a_hop_from_a_flow_that_does_not_end(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    made = Flow.concat(Flow.range(3), Flow.never()).subscribe_on(ThreadForEachTask(env))
    made.publish_on(ThreadForEachTask(env), prefetch=2).subscribe(subscriber)
    env.settle()
    subscriber.request(4)
    env.settle()  # nothing but the elements themselves can have woken the other side
    assert subscriber.elements == [0, 1, 2]
    subscriber.cancel()  # what does not end is else closed by the garbage collector
    env.settle()


def a_cancel_against_an_element_of_another_flow(env: Environment) -> None:
    made: list[int] = []
    discarded: list[int] = []
    switch, subscriber = env.lock(), SerialSubscriber(env)

    def note(element: int) -> None:
        made.append(element)
        with switch:
            pass  # another thread may cancel while the element is on its way

    numbers = Flow.from_iterable(iter([0, 1, 2])).do_on_next(note)
    hop = Flow.concat(numbers.subscribe_on(ThreadForEachTask(env)), Flow.never())
    hop.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(2)
    env.par(subscriber.cancel)
    env.settle()
    assert sorted([*subscriber.elements, *discarded]) == made


def a_hop_with_more_and_more_room(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    with small_credit():
        Flow.from_publisher(foreign).publish_on(ThreadForEachTask(env)).subscribe(subscriber)
        env.settle()
        assert foreign.requested == 1
        subscriber.request(9)
        for _ in range(3):
            env.par(foreign.send)
            env.settle()
            # What has been asked for meanwhile is sent as well, perhaps more than is wanted.
            assert subscriber.elements == foreign.all_sent[:9]
            assert foreign.requested - len(subscriber.elements) <= 4
            assert foreign.requested > foreign.sent or len(subscriber.elements) == 9


def a_cancel_against_a_hop_with_more_room(env: Environment) -> None:
    discarded: list[int] = []
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    with small_credit():
        hop = Flow.from_publisher(foreign).publish_on(ThreadForEachTask(env))
        hop.do_on_discard(discarded.append).subscribe(subscriber)
        env.settle()
        subscriber.request(2)
        foreign.send()
        env.settle()
        env.par(foreign.send, subscriber.cancel)
        env.settle()
    assert sorted([*subscriber.elements, *discarded]) == foreign.all_sent


@contextmanager
def small_credit() -> Iterator[None]:
    """One element at first, four at most: 256 and 4,096 would take too many steps."""
    with (
        patch.object(prefetch_subscriber, "PREFETCH", 1),
        patch.object(prefetch_subscriber, "LARGEST_PREFETCH", 4),
    ):
        yield


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
    a_hop_between_two_flows,
    a_hop_from_a_flow_that_does_not_end,
    a_cancel_against_an_element_of_another_flow,
    a_hop_with_more_and_more_room,
    a_cancel_against_a_hop_with_more_room,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_one_preemption(scenario: Scenario) -> None:
    assert_holds(scenario, SUBJECT, bound=1, seeds=(), budget=BRIEFLY)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["gil", "visible"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_two_preemptions(scenario: Scenario, level: str) -> None:
    assert_holds(scenario, SUBJECT, level=level, budget=40)
