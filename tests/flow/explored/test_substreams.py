"""Groups under all schedules of two or three threads.

What every scenario asks of the flow of groups and of each group: signals are serial (1.3), within
demand (1.1), end once (1.7), calls upstream are serial (2.7), and nothing is lost or sent twice.
"""

from __future__ import annotations

from typing import Any

import pytest

import penstock.core
import penstock.flow.engine.prefetch_subscriber
import penstock.flow.engine.subscription
import penstock.flow.operators.batching
import penstock.flow.operators.group_by
import penstock.flow.operators.sliding_window
import penstock.flow.operators.substream_router
from penstock.api import Subscriber, Subscription
from penstock.flow import Flow
from penstock.tck import Environment
from tests.flow.explored.parties import SerialSubscriber, Upstream
from tests.tck.explorer.holding import BRIEFLY, Scenario, assert_holds

SUBJECT = [
    penstock.core,
    penstock.flow.engine.subscription,
    penstock.flow.engine.prefetch_subscriber,
    penstock.flow.operators.substream_router,
    penstock.flow.operators.group_by,
    penstock.flow.operators.batching,
    penstock.flow.operators.sliding_window,
]


class Foreign(Upstream):
    """A publisher that sends when the scenario says so."""

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def send(self, count: int) -> None:
        for _ in range(count):
            if not self.cancels:
                self.send_one_to(self.subscriber)

    def complete(self) -> None:
        self.subscriber.on_complete()


class Main:
    """The subscriber of the flow of groups, which keeps them."""

    subscription: Subscription

    def __init__(self) -> None:
        self.flows: list[Flow[int]] = []
        self.endings: list[object] = []

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        subscription.request(10)

    def on_next(self, flow: Flow[int]) -> None:
        self.flows.append(flow)

    def on_error(self, error: Exception) -> None:
        self.endings.append(error)

    def on_complete(self) -> None:
        self.endings.append("on_complete")


class Setting:
    """A publisher, its groups of odd and even numbers, a subscriber of each, what is discarded."""

    def __init__(self, env: Environment, prefetch: int = 8) -> None:
        self.foreign = Foreign(env)
        self.main = Main()
        self.discarded: list[Any] = []
        groups = Flow.from_publisher(self.foreign).group_by(lambda x: x % 2, prefetch=prefetch)
        groups.do_on_discard(self.discarded.append).subscribe(self.main)
        self.foreign.send(2)
        self.readers = [SerialSubscriber(env), SerialSubscriber(env)]

    def read(self, number: int) -> None:
        flow = self.main.flows[number].do_on_discard(self.discarded.append)
        flow.subscribe(self.readers[number])

    def conserves(self) -> bool:
        """Whether all that was sent was received or discarded."""
        received = [x for reader in self.readers for x in reader.elements]
        return sorted([*received, *self.discarded]) == list(range(self.foreign.sent))


def a_request_against_an_element(env: Environment) -> None:
    setting = Setting(env)
    setting.read(0)
    reader = setting.readers[0]
    env.par(lambda: setting.foreign.send(3), lambda: reader.request(2))
    reader.request(10)
    assert reader.elements == [0, 2, 4]


def two_readers_that_make_room(env: Environment) -> None:
    setting = Setting(env, prefetch=2)
    setting.read(0)
    setting.read(1)
    env.par(lambda: setting.readers[0].request(1), lambda: setting.readers[1].request(1))
    assert setting.foreign.requested == 4
    setting.foreign.send(2)
    setting.readers[0].request(1)
    setting.readers[1].request(1)
    assert [reader.elements for reader in setting.readers] == [[0, 2], [1, 3]]


def two_subscribers_of_one_group(env: Environment) -> None:
    setting = Setting(env)
    group, one, other = setting.main.flows[0], *setting.readers
    env.par(lambda: group.subscribe(one), lambda: group.subscribe(other))
    assert sorted([one.endings, other.endings], key=len) == [[], [RuntimeError]]


def a_reader_that_leaves_against_an_element(env: Environment) -> None:
    setting = Setting(env)
    setting.read(0)
    setting.read(1)
    setting.readers[1].request(10)
    setting.readers[0].request(1)
    env.par(lambda: setting.foreign.send(1), setting.readers[0].cancel)
    # It came too late for the group, and was discarded, or it opened another one.
    if len(setting.main.flows) == 2:
        assert setting.conserves()
    else:
        setting.main.flows[2].subscribe(reader := SerialSubscriber(env))
        reader.request(1)
        assert reader.elements == [2]


def all_leave_at_a_time(env: Environment) -> None:
    setting = Setting(env)
    setting.read(0)
    setting.read(1)
    env.par(setting.main.subscription.cancel, setting.readers[0].cancel, setting.readers[1].cancel)
    assert setting.foreign.cancels == 1
    assert setting.conserves()


def a_subscriber_against_the_cancel_of_all(env: Environment) -> None:
    setting = Setting(env)
    reader = setting.readers[0]
    env.par(setting.main.subscription.cancel, lambda: setting.read(0))
    if reader.endings:
        assert reader.endings == [RuntimeError]
        assert setting.foreign.cancels == 1
    else:
        reader.request(5)
        setting.foreign.send(2)
        assert reader.elements == [0, 2]
    assert setting.conserves()


def an_end_against_a_request(env: Environment) -> None:
    setting = Setting(env)
    setting.read(0)
    env.par(setting.foreign.complete, lambda: setting.readers[0].request(1))
    assert setting.readers[0].signals == ["on_subscribe", 0, "on_complete"]
    assert setting.main.endings == ["on_complete"]


def an_end_against_a_new_subscriber(env: Environment) -> None:
    setting = Setting(env)
    env.par(setting.foreign.complete, lambda: setting.read(1))
    setting.readers[1].request(1)
    assert setting.readers[1].signals == ["on_subscribe", 1, "on_complete"]


def a_bell_against_an_element(env: Environment) -> None:
    foreign, bell, main = Foreign(env), Foreign(env), Main()
    Flow.from_publisher(foreign).window(until=bell, prefetch=4).subscribe(main)
    foreign.send(1)
    env.par(lambda: foreign.send(1), lambda: bell.send(1))
    foreign.complete()
    received: list[object] = []
    for flow in main.flows:
        flow.subscribe(reader := SerialSubscriber(env))
        reader.request(5)
        assert reader.endings == ["on_complete"]
        received += reader.elements
    assert received == [0, 1]


class Overlapping:
    """Two windows with one element in common, each with a reader."""

    def __init__(self, env: Environment) -> None:
        self.foreign, self.main = Foreign(env), Main()
        self.discarded: list[Any] = []
        windows = Flow.from_publisher(self.foreign).window(2, step=1, prefetch=1)
        windows.do_on_discard(self.discarded.append).subscribe(self.main)
        self.foreign.send(2)
        self.readers = [SerialSubscriber(env), SerialSubscriber(env)]
        for flow, reader in zip(self.main.flows, self.readers, strict=True):
            flow.do_on_discard(self.discarded.append).subscribe(reader)


def an_element_of_two_windows_makes_room_once(env: Environment) -> None:
    setting = Overlapping(env)
    one, other = setting.readers
    env.par(lambda: one.request(2), lambda: other.request(1))
    assert one.signals == ["on_subscribe", 0, 1, "on_complete"]
    assert other.elements == [1]
    assert setting.foreign.requested == 4
    setting.foreign.send(1)
    other.request(1)
    assert other.elements == [1, 2]


def an_element_of_two_windows_is_delivered_or_discarded(env: Environment) -> None:
    setting = Overlapping(env)
    one, other = setting.readers
    other.request(1)
    env.par(setting.main.subscription.cancel, one.cancel, other.cancel)
    assert other.elements == [1]
    assert setting.discarded == [0]
    assert setting.foreign.cancels == 1


def a_window_that_is_left_against_an_element_of_two(env: Environment) -> None:
    setting = Overlapping(env)
    one, other = setting.readers
    one.request(2)
    env.par(lambda: setting.foreign.send(1), other.cancel)
    assert one.elements == [0, 1]
    setting.main.flows[-1].subscribe(last := SerialSubscriber(env))
    last.request(1)
    assert last.elements == [2]
    assert setting.discarded in ([], [1])  # which its run may have taken, to look for the end


def a_key_without_room_against_a_reader_that_leaves(env: Environment) -> None:
    foreign, main, reader = Foreign(env), Main(), SerialSubscriber(env)
    Flow.from_publisher(foreign).group_by(str, max_groups=1).subscribe(main)
    foreign.send(1)
    main.flows[0].take(1).subscribe(reader)
    env.par(lambda: foreign.send(1), lambda: reader.request(1))
    assert reader.signals == ["on_subscribe", 0, "on_complete"]
    main.flows[1].subscribe(other := SerialSubscriber(env))
    other.request(1)
    assert other.elements == [1]


def a_key_without_room_against_a_reader_that_wants_more(env: Environment) -> None:
    foreign, main, reader = Foreign(env), Main(), SerialSubscriber(env)
    Flow.from_publisher(foreign).group_by(str, max_groups=1).subscribe(main)
    foreign.send(1)
    main.flows[0].subscribe(reader)
    env.par(lambda: foreign.send(1), lambda: reader.request(2))
    assert reader.elements == [0]
    assert reader.endings == [RuntimeError]
    assert [type(ending) for ending in main.endings] == [RuntimeError]


SCENARIOS: list[Scenario] = [
    a_request_against_an_element,
    two_readers_that_make_room,
    two_subscribers_of_one_group,
    a_reader_that_leaves_against_an_element,
    all_leave_at_a_time,
    a_subscriber_against_the_cancel_of_all,
    an_end_against_a_request,
    an_end_against_a_new_subscriber,
    a_bell_against_an_element,
    an_element_of_two_windows_makes_room_once,
    an_element_of_two_windows_is_delivered_or_discarded,
    a_window_that_is_left_against_an_element_of_two,
    a_key_without_room_against_a_reader_that_leaves,
    a_key_without_room_against_a_reader_that_wants_more,
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
