"""A stream that is over at once."""

from __future__ import annotations

import gc
import weakref

import pytest

from penstock.core import COMPLETED, Rejection
from penstock.runtime import VirtualTime, collect_undelivered
from tests.core.unit.parties import LockWatch, RecordingSubscriber, Rejecting, cancel

FULL = RuntimeError("no more subscribers")


@pytest.mark.parametrize(("ending", "signal"), [(FULL, FULL), (COMPLETED, "on_complete")])
def test_rule_1_9_on_subscribe_comes_first_and_then_the_ending(
    ending: Exception, signal: object
) -> None:
    subscriber = RecordingSubscriber()
    Rejection(subscriber, ending).wake()
    assert subscriber.signals == ["on_subscribe", signal]


@pytest.mark.parametrize(("ending", "signal"), [(FULL, FULL), (COMPLETED, "on_complete")])
def test_a_request_from_within_on_subscribe_changes_nothing(
    ending: Exception, signal: object
) -> None:
    subscriber = RecordingSubscriber(on_subscribe=lambda: subscriber.subscription.request(5))
    Rejection(subscriber, ending).wake()
    assert subscriber.signals == ["on_subscribe", signal]


@pytest.mark.parametrize("ending", [FULL, COMPLETED])
def test_cancelling_in_on_subscribe_spares_the_ending(ending: Exception) -> None:
    subscriber = RecordingSubscriber(on_subscribe=lambda: cancel(subscriber))
    Rejection(subscriber, ending).wake()
    assert subscriber.signals == ["on_subscribe"]


def test_nothing_follows_whatever_the_subscriber_does() -> None:
    subscriber = RecordingSubscriber()
    rejection = Rejection(subscriber, COMPLETED)
    rejection.wake()
    rejection.request(3)
    rejection.request(0)
    rejection.cancel()
    rejection.wake()
    assert subscriber.signals == ["on_subscribe", "on_complete"]


def test_it_is_signalled_from_the_executor() -> None:
    time, subscriber = VirtualTime(), RecordingSubscriber()
    Rejection(subscriber, FULL, time).wake()
    assert subscriber.signals == []
    time.settle()
    assert subscriber.signals == ["on_subscribe", FULL]


def test_an_executor_that_rejects_in_turn_has_the_last_word() -> None:
    executor, subscriber = Rejecting(), RecordingSubscriber()
    Rejection(subscriber, COMPLETED, executor).wake()
    assert subscriber.signals == ["on_subscribe", executor.error]


@pytest.mark.parametrize("signal", ["on_subscribe", "on_error"])
def test_a_subscriber_that_raises_is_reported_and_wake_returns_normally(signal: str) -> None:
    error = ValueError("of the subscriber")

    def fail() -> None:
        raise error

    subscriber = RecordingSubscriber(**{signal: fail})
    with collect_undelivered() as lost:
        Rejection(subscriber, FULL).wake()
    assert [each.error for each in lost] == [error]


def test_the_same_error_can_turn_away_many() -> None:
    subscribers = [RecordingSubscriber() for _ in range(3)]
    for subscriber in subscribers:
        Rejection(subscriber, FULL).wake()
    assert [each.error for each in subscribers] == [FULL] * 3


def test_rule_3_13_the_subscriber_is_let_go() -> None:
    subscriber = RecordingSubscriber()
    rejection = Rejection(subscriber, FULL)
    rejection.wake()
    reference = weakref.ref(subscriber)
    del subscriber
    gc.collect()
    assert reference() is None
    rejection.cancel()


def test_no_lock_is_held_while_the_subscriber_is_called() -> None:
    watch = LockWatch()
    held: list[int] = []
    subscriber = RecordingSubscriber(
        on_subscribe=lambda: held.append(watch.held_here),
        on_complete=lambda: held.append(watch.held_here),
    )
    Rejection(subscriber, COMPLETED, new_lock=watch).wake()
    assert held == [0, 0]
    assert watch.entered > 0
