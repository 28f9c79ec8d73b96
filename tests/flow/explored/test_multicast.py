"""Shared runs under all schedules of two or three threads.

What every scenario asks of each subscriber: signals are serial (1.3), within demand (1.1), end once
(1.7), come in order, none is lost or sent twice; and that upstream is called serially (2.7).
"""

from __future__ import annotations

import pytest

import penstock.core
import penstock.flow.engine.prefetch_subscriber
import penstock.flow.multicast.broadcast
import penstock.flow.multicast.broadcast_subscription
import penstock.flow.multicast.fan_out
import penstock.flow.multicast.shared_flow
import penstock.flow.multicast.shared_run
from penstock.api import Subscriber
from penstock.flow import Flow
from penstock.tck import Environment
from tests.flow.explored.parties import SerialSubscriber, Upstream
from tests.tck.explorer.holding import BRIEFLY, Scenario, assert_holds

SUBJECT = [
    penstock.core,
    penstock.flow.multicast.broadcast,
    penstock.flow.multicast.broadcast_subscription,
    penstock.flow.engine.prefetch_subscriber,
    penstock.flow.multicast.shared_run,
    penstock.flow.multicast.fan_out,
    penstock.flow.multicast.shared_flow,
]


class Foreign(Upstream):
    """A publisher that sends when the scenario says so."""

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def send(self) -> None:
        self.send_to(self.subscriber)

    def send_one(self) -> None:
        self.send_one_to(self.subscriber)

    def complete(self) -> None:
        self.subscriber.on_complete()


def are_consecutive(elements: list[int], last: int) -> bool:
    """Whether ``elements`` are some numbers up to ``last``, without a gap."""
    return elements == list(range(last + 1 - len(elements), last + 1))


def two_members_request(env: Environment) -> None:
    one, other = SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.range(3).publish()
    shared.subscribe(one)
    shared.subscribe(other)
    shared.connect()
    env.par(lambda: one.request(2), lambda: other.request(1))
    one.request(1)
    other.request(2)
    for each in (one, other):
        assert each.signals == ["on_subscribe", 0, 1, 2, "on_complete"]


def a_member_leaves_while_another_requests(env: Environment) -> None:
    one, other = SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.range(3).publish()
    shared.subscribe(one)
    shared.subscribe(other)
    shared.connect()
    one.request(1)
    env.par(lambda: other.request(5), one.cancel)
    assert other.signals == ["on_subscribe", 0, 1, 2, "on_complete"]
    assert one.signals == ["on_subscribe", 0]


def a_member_leaves_while_rows_are_sent(env: Environment) -> None:
    foreign, one, other = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).publish()
    for each in (one, other):
        shared.subscribe(each)
        each.request(3)
    shared.connect()
    env.par(foreign.send, one.cancel)
    assert other.elements == [0, 1, 2]
    assert one.elements == list(range(len(one.elements)))


def a_member_joins_while_rows_are_sent(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).publish()
    shared.subscribe(one)
    one.request(4)
    shared.connect()
    foreign.send_one()

    def join() -> None:
        shared.subscribe(late)
        late.request(5)

    def send_two() -> None:
        foreign.send_one()
        foreign.send_one()

    env.par(send_two, join)
    foreign.send_one()
    assert one.elements == [0, 1, 2, 3]
    assert are_consecutive(late.elements, 3)


def an_element_after_a_newcomer_reaches_it(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).publish()
    shared.subscribe(one)
    one.request(4)
    shared.connect()
    sent: list[int] = []

    def join_and_send() -> None:
        shared.subscribe(late)
        late.request(4)
        sent.append(foreign.sent)
        foreign.send_one()

    env.par(lambda: one.request(1), join_and_send)
    assert late.elements == sent == one.elements


def a_latecomer_of_a_replay(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).replay(1)
    shared.subscribe(one)
    one.request(4)
    foreign.send_one()

    def join() -> None:
        shared.subscribe(late)
        late.request(5)

    env.par(foreign.send_one, join)
    foreign.send_one()
    assert one.elements == [0, 1, 2]
    assert late.elements in ([0, 1, 2], [1, 2])


def an_element_comes_while_the_last_one_leaves_a_replay(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).replay(1)
    shared.subscribe(one)
    one.request(1)
    env.par(foreign.send_one, one.cancel)
    foreign.send_one()
    shared.subscribe(late)
    late.request(5)
    foreign.send_one()
    assert late.elements == [1, 2]


def somebody_comes_while_a_replay_reads_on(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).replay(1)
    shared.subscribe(one)
    one.cancel()
    foreign.send_one()

    def join() -> None:
        shared.subscribe(late)
        late.request(5)

    env.par(foreign.send_one, join)
    foreign.send_one()
    assert late.elements in ([0, 1, 2], [1, 2])


def the_last_one_leaves_while_another_comes(env: Environment) -> None:
    runs: list[Foreign] = []

    def new_run() -> Foreign:
        runs.append(Foreign(env))
        return runs[-1]

    one, other = SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.defer(new_run).share()
    shared.subscribe(one)

    def come() -> None:
        shared.subscribe(other)
        other.request(1)

    env.par(one.cancel, come)
    # Either it goes on, or it was stopped and another one was started.
    assert [run.cancels for run in runs] in ([0], [1, 0])
    runs[-1].send()
    assert other.elements == [0]


class Leaver(SerialSubscriber):
    """Cancels within its first element."""

    def on_next(self, element: int) -> None:
        super().on_next(element)
        self.cancel()


def the_last_one_leaves_within_a_signal_while_another_comes(env: Environment) -> None:
    runs: list[Foreign] = []

    def new_run() -> Foreign:
        runs.append(Foreign(env))
        return runs[-1]

    one, other = Leaver(env), SerialSubscriber(env)
    shared = Flow.defer(new_run).share()
    shared.subscribe(one)
    one.request(2)

    def come() -> None:
        shared.subscribe(other)
        other.request(1)

    env.par(runs[0].send_one, come)
    assert one.elements == [0]
    # It came before the element, or in time to go on, or another run was started.
    assert [run.cancels for run in runs] in ([0], [1, 0])
    runs[-1].send()
    assert other.elements in ([0], [1])


def the_last_two_leave_while_an_element_comes(env: Environment) -> None:
    foreign, one, other = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).share()
    for each in (one, other):
        shared.subscribe(each)
        each.request(2)
    env.par(foreign.send_one, one.cancel, other.cancel)
    assert foreign.cancels == 1


def two_start_one_run(env: Environment) -> None:
    runs: list[Foreign] = []

    def new_run() -> Foreign:
        runs.append(Foreign(env))
        return runs[-1]

    one, other = SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.defer(new_run).publish().auto_connect(2)
    env.par(lambda: shared.subscribe(one), lambda: shared.subscribe(other))
    assert len(runs) == 1
    for each in (one, other):
        each.request(1)
    runs[0].send()
    for each in (one, other):
        assert each.elements == [0]


def an_end_against_a_newcomer(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).replay(2)
    shared.subscribe(one)
    one.request(2)
    foreign.send_one()
    env.par(foreign.complete, lambda: shared.subscribe(late))
    late.request(1)
    assert one.signals == ["on_subscribe", 0, "on_complete"]
    assert late.signals == ["on_subscribe", 0, "on_complete"]


def an_error_against_a_newcomer(env: Environment) -> None:
    foreign, one, late = Foreign(env), SerialSubscriber(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).share()
    shared.subscribe(one)
    first = foreign.subscriber
    env.par(lambda: first.on_error(ValueError("no more")), lambda: shared.subscribe(late))
    assert one.endings == [ValueError]
    began_again = foreign.subscriber is not first
    assert late.endings == ([] if began_again else [ValueError])


def a_connection_is_cancelled_against_an_element(env: Environment) -> None:
    foreign, one = Foreign(env), SerialSubscriber(env)
    shared = Flow.from_publisher(foreign).publish()
    shared.subscribe(one)
    one.request(2)
    connection = shared.connect()
    env.par(foreign.send, connection.cancel)
    assert foreign.cancels == 1
    assert one.endings == [RuntimeError]


SCENARIOS: list[Scenario] = [
    two_members_request,
    a_member_leaves_while_another_requests,
    a_member_leaves_while_rows_are_sent,
    a_member_joins_while_rows_are_sent,
    an_element_after_a_newcomer_reaches_it,
    a_latecomer_of_a_replay,
    an_element_comes_while_the_last_one_leaves_a_replay,
    somebody_comes_while_a_replay_reads_on,
    the_last_one_leaves_while_another_comes,
    the_last_one_leaves_within_a_signal_while_another_comes,
    the_last_two_leave_while_an_element_comes,
    two_start_one_run,
    an_end_against_a_newcomer,
    an_error_against_a_newcomer,
    a_connection_is_cancelled_against_an_element,
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
