"""The reference classes under all schedules of two or three threads.

What every scenario asks: signals are serial (1.3), within demand (1.1), end once (1.7), nothing is
lost or sent twice, and once all threads are still, nobody waits for what is there.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock.core
import penstock.examples
import penstock.flow.multicast.broadcast
import penstock.flow.multicast.broadcast_subscription
from penstock import (
    AsyncSubscriber,
    Broadcast,
    ExecutorPublisher,
    IdentityProcessor,
    IterablePublisher,
    SyncSubscriber,
)
from penstock.flow.multicast.broadcast import BroadcastState
from penstock.tck import Environment, Verdict, explore
from tests.flow.explored.parties import SerialSubscriber, ThreadForEachTask, Upstream

Scenario = Callable[[Environment], None]

SUBJECT = [
    penstock.core,
    penstock.examples,
    penstock.flow.multicast.broadcast,
    penstock.flow.multicast.broadcast_subscription,
]


class Collecting(AsyncSubscriber[int]):
    """Keeps the elements and how the stream ended."""

    def __init__(self, env: Environment) -> None:
        super().__init__(ThreadForEachTask(env), prefetch=1, new_lock=env.lock)
        self.received: list[int] = []
        self.endings: list[object] = []

    def receive(self, element: int) -> bool:
        self.received.append(element)
        return True

    def completed(self) -> None:
        self.endings.append("completed")

    def failed(self, error: Exception) -> None:
        self.endings.append(error)


def two_requests_and_a_cancel(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    IterablePublisher(iter([0, 1, 2]), new_lock=env.lock).subscribe(subscriber)
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1), subscriber.cancel)
    assert subscriber.elements == list(range(len(subscriber.elements)))
    before = list(subscriber.signals)
    subscriber.request(1)
    assert subscriber.signals == before


def two_requests_to_the_end(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    IterablePublisher(range(2), new_lock=env.lock).subscribe(subscriber)
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1))
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def two_requests_on_an_executor(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    executor = ThreadForEachTask(env)
    ExecutorPublisher(range(2), executor, batch=1, new_lock=env.lock).subscribe(subscriber)
    env.settle()
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1))
    env.settle()
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def request_against_element_of_an_identity(env: Environment) -> None:
    processor, subscriber, upstream = between(env)
    subscriber.request(1)
    env.par(lambda: upstream.send_to(processor), lambda: subscriber.request(2))
    upstream.send_to(processor)
    assert subscriber.elements == [0, 1, 2]
    assert upstream.requested == 3


def between(env: Environment) -> tuple[IdentityProcessor[int], SerialSubscriber, Upstream]:
    """A processor between a subscriber and an upstream."""
    processor = IdentityProcessor[int](2, new_lock=env.lock)
    subscriber, upstream = SerialSubscriber(env), Upstream(env)
    processor.subscribe(subscriber)
    processor.on_subscribe(upstream)
    return processor, subscriber, upstream


def cancel_against_element_of_an_identity(env: Environment) -> None:
    processor, subscriber, upstream = between(env)
    subscriber.request(2)
    env.par(lambda: upstream.send_to(processor), subscriber.cancel)
    assert upstream.cancels == 1
    assert subscriber.elements == list(range(len(subscriber.elements)))
    assert subscriber.endings == []


def request_against_completion_of_an_identity(env: Environment) -> None:
    processor, subscriber, upstream = between(env)
    subscriber.request(1)

    def send_and_complete() -> None:
        processor.on_next(0)
        processor.on_complete()

    env.par(send_and_complete, lambda: subscriber.request(1))
    assert subscriber.signals == ["on_subscribe", 0, "on_complete"]
    assert upstream.cancels == 0


def subscribe_against_element_of_an_identity(env: Environment) -> None:
    processor = IdentityProcessor[int](2, new_lock=env.lock)
    subscriber = SerialSubscriber(env)

    def publish() -> None:
        processor.on_subscribe(Upstream(env))
        processor.on_complete()

    env.par(publish, lambda: processor.subscribe(subscriber))
    assert subscriber.signals == ["on_subscribe", "on_complete"]


def two_subscribers_of_an_identity(env: Environment) -> None:
    processor = IdentityProcessor[int](2, new_lock=env.lock)
    one, other = SerialSubscriber(env), SerialSubscriber(env)
    env.par(lambda: processor.subscribe(one), lambda: processor.subscribe(other))
    assert sorted(map(len, (one.signals, other.signals))) == [1, 2]


def two_members_request_while_upstream_sends(env: Environment) -> None:
    broadcast, (one, other), upstream = spread(env)
    one.request(1)
    env.par(
        lambda: one.request(1),
        lambda: other.request(2),
        lambda: upstream.send_one_to(broadcast),
    )
    upstream.send_to(broadcast)
    assert one.elements == other.elements == [0, 1]
    assert upstream.requested == 2


def spread(
    env: Environment, *, shuts_down_when_idle: bool = False
) -> tuple[Broadcast[int], tuple[SerialSubscriber, SerialSubscriber], Upstream]:
    """A broadcast between two subscribers and an upstream."""
    broadcast = Broadcast[int](2, shuts_down_when_idle=shuts_down_when_idle, new_lock=env.lock)
    subscribers, upstream = (SerialSubscriber(env), SerialSubscriber(env)), Upstream(env)
    for subscriber in subscribers:
        broadcast.subscribe(subscriber)
    broadcast.on_subscribe(upstream)
    return broadcast, subscribers, upstream


def two_members_request_at_once(env: Environment) -> None:
    broadcast, (one, other), upstream = spread(env)
    env.par(lambda: one.request(1), lambda: other.request(2))
    upstream.send_to(broadcast)
    assert upstream.requested == 2
    assert (one.elements, other.elements) == ([0], [0, 1])


def the_slow_member_cancels_while_upstream_sends(env: Environment) -> None:
    broadcast, (fast, slow), upstream = spread(env)
    fast.request(4)
    env.par(lambda: upstream.send_to(broadcast), slow.cancel)
    while upstream.sent < upstream.requested:
        upstream.send_to(broadcast)
    assert fast.elements == [0, 1, 2, 3]
    assert slow.elements == []


def both_members_cancel_at_once(env: Environment) -> None:
    broadcast, (one, other), upstream = spread(env, shuts_down_when_idle=True)
    env.par(one.cancel, other.cancel)
    assert broadcast.state is BroadcastState.SHUT_DOWN
    assert upstream.cancels == 1


def the_last_member_leaves_while_another_comes(env: Environment) -> None:
    broadcast, (one, other), upstream = spread(env, shuts_down_when_idle=True)
    other.cancel()
    newcomer = SerialSubscriber(env)
    env.par(one.cancel, lambda: broadcast.subscribe(newcomer))
    if broadcast.state is BroadcastState.ACTIVE:
        newcomer.request(1)
        upstream.send_to(broadcast)
        assert newcomer.signals == ["on_subscribe", 0]
    else:
        assert newcomer.signals == ["on_subscribe", RuntimeError]
        assert upstream.cancels == 1


def a_member_comes_while_the_stream_ends(env: Environment) -> None:
    broadcast, (one, _), upstream = spread(env)
    one.request(1)
    newcomer = SerialSubscriber(env)

    def send_and_complete() -> None:
        upstream.send_to(broadcast)
        broadcast.on_complete()

    env.par(send_and_complete, lambda: broadcast.subscribe(newcomer))
    assert one.signals == ["on_subscribe", 0, "on_complete"]
    if not newcomer.endings:
        newcomer.request(1)
        assert newcomer.elements == [0]
    assert newcomer.endings == ["on_complete"]


def a_member_is_subscribed_twice_at_once(env: Environment) -> None:
    broadcast, twin = Broadcast[int](2, new_lock=env.lock), SerialSubscriber(env)
    env.par(lambda: broadcast.subscribe(twin), lambda: broadcast.subscribe(twin))
    assert twin.signals == ["on_subscribe", RuntimeError]


def an_error_against_a_request(env: Environment) -> None:
    broadcast, (one, other), _ = spread(env)
    env.par(lambda: broadcast.on_error(LookupError()), lambda: one.request(1))
    assert one.signals == other.signals == ["on_subscribe", LookupError]


def an_executor_feeds_an_async_subscriber(env: Environment) -> None:
    subscriber = Collecting(env)
    executor = ThreadForEachTask(env)
    ExecutorPublisher(range(2), executor, batch=1, new_lock=env.lock).subscribe(subscriber)
    env.settle()
    assert subscriber.received == [0, 1]
    assert subscriber.endings == ["completed"]
    assert subscriber.peak == 1


def a_flush_after_an_element(env: Environment) -> None:
    subscriber, upstream = Collecting(env), Upstream(env)
    subscriber.on_subscribe(upstream)
    env.settle()
    received_by_then: list[list[int]] = []

    def send_and_flush() -> None:
        subscriber.on_next(0)
        subscriber.flush(lambda: received_by_then.append(list(subscriber.received)))

    env.par(send_and_flush, lambda: subscriber.flush(lambda: None))
    env.settle()
    assert received_by_then == [[0]]


def a_flush_against_a_stop(env: Environment) -> None:
    subscriber, upstream = Collecting(env), Upstream(env)
    subscriber.on_subscribe(upstream)
    env.settle()
    flushed: list[str] = []
    env.par(subscriber.stop, lambda: subscriber.flush(lambda: flushed.append("done")))
    env.settle()
    assert flushed == ["done"]


def a_flush_against_the_end(env: Environment) -> None:
    subscriber, upstream = Collecting(env), Upstream(env)
    subscriber.on_subscribe(upstream)
    env.settle()
    flushed: list[str] = []
    env.par(subscriber.on_complete, lambda: subscriber.flush(lambda: flushed.append("done")))
    env.settle()
    assert flushed == ["done"]
    assert subscriber.endings == ["completed"]


class Counting(SyncSubscriber[int]):
    """Counts elements, for which it asks in portions of one and two."""

    def __init__(self, env: Environment) -> None:
        super().__init__(largest=2, clock=env.monotonic, new_lock=env.lock)
        self.received: list[int] = []

    def receive(self, element: int) -> bool:
        self.received.append(element)
        return True


def a_request_is_answered_by_another_thread_before_it_returns(env: Environment) -> None:
    subscriber, upstream = Counting(env), Upstream(env)

    def send() -> None:
        while upstream.sent < min(upstream.requested, 3):
            upstream.send_one_to(subscriber)

    env.par(lambda: subscriber.on_subscribe(upstream), send)
    send()
    assert subscriber.received == [0, 1, 2]
    assert upstream.requested > 3  # else nothing more would ever come


SCENARIOS: list[Scenario] = [
    two_requests_and_a_cancel,
    two_requests_to_the_end,
    two_requests_on_an_executor,
    request_against_element_of_an_identity,
    cancel_against_element_of_an_identity,
    request_against_completion_of_an_identity,
    subscribe_against_element_of_an_identity,
    two_subscribers_of_an_identity,
    two_members_request_at_once,
    the_slow_member_cancels_while_upstream_sends,
    both_members_cancel_at_once,
    the_last_member_leaves_while_another_comes,
    a_member_comes_while_the_stream_ends,
    a_member_is_subscribed_twice_at_once,
    an_error_against_a_request,
    an_executor_feeds_an_async_subscriber,
    a_flush_after_an_element,
    a_flush_against_a_stop,
    a_flush_against_the_end,
]


HELD = (Verdict.HELD_EXHAUSTIVELY, Verdict.HELD_SO_FAR)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_every_schedule_with_one_preemption(scenario: Scenario) -> None:
    found = explore(scenario, subject=SUBJECT, bound=1, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_who_asks_in_portions_always_asks_again() -> None:
    # Without the GIL as well: what is asked for is counted by two threads at once here.
    scenario = a_request_is_answered_by_another_thread_before_it_returns
    found = explore(scenario, subject=penstock.core, level="visible", bound=2, seeds=(), budget=60)
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_two_members_and_upstream_hold_under_as_many_schedules_as_fit_into_a_second() -> None:
    found = explore(two_members_request_while_upstream_sends, subject=SUBJECT, budget=1)
    assert found.verdict in HELD, found.explain()


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", [*SCENARIOS, two_members_request_while_upstream_sends])
def test_it_holds_under_schedules_with_two_preemptions(scenario: Scenario) -> None:
    found = explore(scenario, subject=SUBJECT, budget=60)
    assert found.verdict in HELD, found.explain()


class OpenDoor:
    """A lock that keeps nobody out."""

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        pass


def two_requests_without_a_lock(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    IterablePublisher(range(2), new_lock=OpenDoor).subscribe(subscriber)
    env.par(lambda: subscriber.request(1), lambda: subscriber.request(1))
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def a_member_subscribed_twice_without_a_lock(env: Environment) -> None:
    broadcast, twin = Broadcast[int](2, new_lock=OpenDoor), SerialSubscriber(env)
    env.par(lambda: broadcast.subscribe(twin), lambda: broadcast.subscribe(twin))
    assert twin.signals == ["on_subscribe", RuntimeError]


@pytest.mark.parametrize(
    "scenario", [two_requests_without_a_lock, a_member_subscribed_twice_without_a_lock]
)
def test_without_locks_a_schedule_breaks_it(scenario: Scenario) -> None:
    found = explore(scenario, subject=SUBJECT, level="visible", budget=30)
    assert found.verdict is Verdict.VIOLATED, found.explain()
