"""The subscriber's end: which subscription it holds, what it admits, how much it asks for."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from penstock.api import UNBOUNDED
from penstock.core import COMPLETED, BaseSubscriber
from penstock.rules import RuleViolation, cite
from penstock.runtime import collect_undelivered
from tests.core.unit.parties import GapWatch, LockWatch, RecordingSubscription
from tests.runtime.unit.threads import frequent_switches, run_together


def opened(capacity: int) -> tuple[BaseSubscriber, RecordingSubscription]:
    subscriber, subscription = BaseSubscriber(capacity), RecordingSubscription()
    assert subscriber.accept(subscription)
    return subscriber, subscription


def broken_rule(subscriber: BaseSubscriber) -> str:
    assert isinstance(subscriber.ending, RuleViolation)
    return subscriber.ending.rule.number


# The subscription.


def test_the_first_subscription_is_taken_and_not_touched() -> None:
    subscriber, subscription = opened(4)
    assert subscription.calls == []
    assert subscriber.ending is None


def test_rule_2_5_a_second_subscription_is_cancelled_and_the_first_one_goes_on() -> None:
    subscriber, first = opened(4)
    second = RecordingSubscription()
    assert not subscriber.accept(second)
    assert second.calls == ["cancel"]
    subscriber.refill(wanted=1, taken=0)
    assert subscriber.admit()
    assert first.calls == [1]


def test_rule_2_5_of_many_subscriptions_at_once_exactly_one_is_taken() -> None:
    subscriber = BaseSubscriber(4)
    subscriptions = [RecordingSubscription() for _ in range(4)]
    taken: list[bool] = []

    def accept(subscription: RecordingSubscription) -> None:
        taken.append(subscriber.accept(subscription))

    with frequent_switches():
        run_together(*[partial(accept, each) for each in subscriptions])
    assert sorted(taken) == [False, False, False, True]
    assert sorted(len(each.calls) for each in subscriptions) == [0, 1, 1, 1]


def test_rule_2_6_a_subscription_that_comes_after_cancel_is_cancelled() -> None:
    subscriber, late = BaseSubscriber(4), RecordingSubscription()
    subscriber.cancel()
    assert not subscriber.accept(late)
    assert late.calls == ["cancel"]


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_a_subscription_that_comes_after_the_end_is_cancelled(ending: Exception) -> None:
    subscriber, _ = opened(4)
    subscriber.end(ending)
    late = RecordingSubscription()
    assert not subscriber.accept(late)
    assert late.calls == ["cancel"]


def test_rule_2_13_none_is_no_subscription() -> None:
    subscriber = BaseSubscriber(4)
    none: Any = None
    with pytest.raises(TypeError) as caught:
        subscriber.accept(none)
    assert str(caught.value) == cite("2.13", "on_subscribe got None instead of a subscription")
    assert subscriber.accept(RecordingSubscription())


# Cancelling.


def test_cancelling_cancels_the_subscription_once() -> None:
    subscriber, subscription = opened(4)
    subscriber.cancel()
    subscriber.cancel()
    assert subscription.calls == ["cancel"]


def test_cancelling_before_there_is_a_subscription_is_fine() -> None:
    subscriber = BaseSubscriber(4)
    subscriber.cancel()
    assert subscriber.ending is None


def test_rule_2_8_an_element_after_cancel_is_dropped_without_complaint() -> None:
    subscriber, _ = opened(4)
    subscriber.refill(wanted=1, taken=0)
    subscriber.cancel()
    assert not subscriber.admit()
    assert not subscriber.admit(unasked=True)
    assert subscriber.ending is None


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_an_end_that_crosses_a_cancel_is_no_violation(ending: Exception) -> None:
    subscriber, _ = opened(4)
    subscriber.cancel()
    subscriber.end(ending)
    assert subscriber.ending is None


def test_rule_2_4_after_the_end_the_subscription_is_left_alone() -> None:
    subscriber, subscription = opened(4)
    subscriber.end(COMPLETED)
    subscriber.refill(wanted=UNBOUNDED, taken=0)
    subscriber.cancel()
    assert subscription.calls == []


def test_after_cancel_nothing_more_is_requested() -> None:
    subscriber, subscription = opened(4)
    subscriber.cancel()
    subscriber.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == ["cancel"]


def test_rule_3_15_a_cancel_that_raises_is_reported_and_returns_normally() -> None:
    error = ValueError("of the foreign cancel")
    subscriber = BaseSubscriber(4)
    subscriber.accept(RecordingSubscription(cancel=raising(error)))
    with collect_undelivered() as lost:
        subscriber.cancel()
    (undelivered,) = lost
    assert undelivered.error is error
    assert undelivered.what == cite("3.15", "cancel of a subscription raised")


def test_rule_3_15_the_same_holds_for_a_subscription_that_is_refused() -> None:
    error = ValueError("of the foreign cancel")
    subscriber, _ = opened(4)
    with collect_undelivered() as lost:
        assert not subscriber.accept(RecordingSubscription(cancel=raising(error)))
    assert [each.error for each in lost] == [error]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_foreign_cancel_passes_through(kind: type[BaseException]) -> None:
    subscriber = BaseSubscriber(4)
    subscriber.accept(RecordingSubscription(cancel=raising(kind())))
    with pytest.raises(kind):
        subscriber.cancel()


# Elements.


def test_as_many_elements_are_admitted_as_were_asked_for() -> None:
    subscriber, _ = opened(4)
    subscriber.refill(wanted=3, taken=0)
    assert [subscriber.admit() for _ in range(3)] == [True, True, True]
    assert subscriber.ending is None


def test_rule_1_1_one_element_more_than_was_asked_for_ends_the_stream() -> None:
    subscriber, subscription = opened(4)
    subscriber.refill(wanted=1, taken=0)
    assert subscriber.admit()
    assert not subscriber.admit()
    assert broken_rule(subscriber) == "1.1"
    assert str(subscriber.ending) == cite("1.1", "on_next came without demand")
    subscriber.cancel()
    assert subscription.calls == [1, "cancel"]


def test_rule_1_1_an_element_before_any_request_ends_the_stream() -> None:
    subscriber, _ = opened(4)
    assert not subscriber.admit()
    assert broken_rule(subscriber) == "1.1"


def test_rule_1_9_an_element_before_the_subscription_ends_the_stream() -> None:
    subscriber = BaseSubscriber(4)
    assert not subscriber.admit()
    assert broken_rule(subscriber) == "1.9"
    assert str(subscriber.ending) == cite("1.9", "on_next came before on_subscribe")


def test_rule_1_9_a_welcome_element_before_the_subscription_ends_the_stream_too() -> None:
    subscriber = BaseSubscriber(4)
    assert not subscriber.admit(unasked=True)
    assert broken_rule(subscriber) == "1.9"


def test_after_a_violation_nothing_is_admitted_or_asked_for() -> None:
    subscriber, subscription = opened(4)
    subscriber.admit()
    assert not subscriber.admit(unasked=True)
    subscriber.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == []


def test_an_unasked_element_is_admitted_where_it_is_welcome() -> None:
    subscriber, _ = opened(4)
    assert subscriber.admit(unasked=True)
    assert subscriber.ending is None


def test_an_unasked_element_counts_as_if_it_had_been_asked_for() -> None:
    subscriber, subscription = opened(4)
    assert subscriber.admit(unasked=True)
    subscriber.refill(wanted=3, taken=0)
    assert subscription.calls == [2]
    assert [subscriber.admit() for _ in range(3)] == [True, True, False]


def test_an_element_that_was_asked_for_is_not_counted_twice_for_being_welcome() -> None:
    subscriber, subscription = opened(4)
    subscriber.refill(wanted=2, taken=0)
    assert subscriber.admit(unasked=True)
    assert subscriber.admit()
    subscriber.refill(wanted=2, taken=2)
    assert subscription.calls == [2]
    assert not subscriber.admit()


# The end.


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_the_end_is_remembered_as_it_came(ending: Exception) -> None:
    subscriber, _ = opened(4)
    subscriber.end(ending)
    assert subscriber.ending is ending


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_rule_1_9_an_end_before_the_subscription_is_a_violation_that_names_it(
    ending: Exception,
) -> None:
    subscriber = BaseSubscriber(4)
    subscriber.end(ending)
    assert broken_rule(subscriber) == "1.9"
    assert "the stream ended before on_subscribe" in str(subscriber.ending)
    assert str(ending) in str(subscriber.ending)


def test_only_the_first_end_counts() -> None:
    subscriber, _ = opened(4)
    first = ValueError("first")
    subscriber.end(first)
    subscriber.end(COMPLETED)
    subscriber.fail(ValueError("third"))
    assert subscriber.ending is first


@pytest.mark.parametrize("ending", ["boom", 3, ValueError, KeyboardInterrupt()])
def test_rule_1_4_an_error_that_is_no_exception_is_replaced_by_one(ending: Any) -> None:
    subscriber, _ = opened(4)
    subscriber.end(ending)
    assert broken_rule(subscriber) == "1.4"
    assert f"on_error got {ending!r}, which is no Exception" in str(subscriber.ending)


def test_rule_1_4_an_interrupt_that_came_as_an_error_is_the_cause_of_the_violation() -> None:
    subscriber, _ = opened(4)
    interrupt: Any = KeyboardInterrupt()
    subscriber.end(interrupt)
    assert subscriber.ending is not None
    assert subscriber.ending.__cause__ is interrupt


def test_a_failure_of_the_owner_leaves_the_subscription_to_be_cancelled() -> None:
    subscriber, subscription = opened(4)
    error = ValueError("of the owner")
    subscriber.fail(error)
    subscriber.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == []
    subscriber.cancel()
    assert subscription.calls == ["cancel"]
    assert subscriber.ending is error


def test_after_the_end_elements_are_dropped() -> None:
    subscriber, _ = opened(4)
    subscriber.refill(wanted=4, taken=0)
    subscriber.end(COMPLETED)
    assert not subscriber.admit()
    assert subscriber.ending is COMPLETED


# Asking for more.


def test_demand_below_the_capacity_passes_through_as_it_is() -> None:
    subscriber, subscription = opened(8)
    for wanted in (1, 2, 5):
        subscriber.refill(wanted=wanted, taken=0)
    assert subscription.calls == [1, 1, 3]


def test_nothing_is_asked_for_twice() -> None:
    subscriber, subscription = opened(8)
    subscriber.refill(wanted=3, taken=0)
    subscriber.refill(wanted=3, taken=0)
    assert subscription.calls == [3]


def test_nothing_is_asked_for_without_demand_or_without_a_subscription() -> None:
    subscriber, subscription = opened(8)
    subscriber.refill(wanted=0, taken=0)
    assert subscription.calls == []
    BaseSubscriber(8).refill(wanted=8, taken=0)


def test_the_first_portion_fills_the_capacity() -> None:
    subscriber, subscription = opened(8)
    subscriber.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == [8]


@pytest.mark.parametrize(
    ("capacity", "portion"), [(1, 1), (2, 2), (3, 3), (4, 3), (7, 6), (8, 6), (16, 12), (100, 75)]
)
def test_the_capacity_is_filled_up_in_portions_of_three_quarters(
    capacity: int, portion: int
) -> None:
    subscriber, subscription = opened(capacity)
    for taken in range(4 * portion + 1):
        subscriber.refill(wanted=UNBOUNDED, taken=taken)
        subscriber.admit()
    assert subscription.calls == [capacity, portion, portion, portion, portion]


def test_where_demand_is_the_limit_there_are_no_portions() -> None:
    subscriber, subscription = opened(8)
    subscriber.refill(wanted=8, taken=0)
    subscriber.refill(wanted=9, taken=2)
    assert subscription.calls == [8, 1]


def test_a_starving_reader_does_not_wait_for_the_portion_to_fill_up() -> None:
    subscriber, subscription = opened(8)
    subscriber.refill(wanted=UNBOUNDED, taken=0)
    subscriber.refill(wanted=UNBOUNDED, taken=1, starving_at=7)
    assert subscription.calls == [8]
    subscriber.refill(wanted=UNBOUNDED, taken=1, starving_at=8)
    assert subscription.calls == [8, 1]


def test_it_never_stands_still_when_all_that_was_asked_for_is_gone() -> None:
    subscriber, subscription = opened(8)
    subscriber.refill(wanted=8, taken=0)
    subscriber.refill(wanted=UNBOUNDED, taken=8)
    assert subscription.calls == [8, 8]


def test_rule_3_16_a_request_that_raises_ends_the_stream_and_names_the_error() -> None:
    subscriber = BaseSubscriber(4)
    subscription = RecordingSubscription(request=raising(ValueError("of the request")))
    subscriber.accept(subscription)
    subscriber.refill(wanted=2, taken=0)
    assert broken_rule(subscriber) == "3.16"
    assert "request(2) raised ValueError('of the request')" in str(subscriber.ending)
    subscriber.cancel()
    assert subscription.calls == [2, "cancel"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_foreign_request_passes_through(kind: type[BaseException]) -> None:
    subscriber = BaseSubscriber(4)
    subscriber.accept(RecordingSubscription(request=raising(kind())))
    with pytest.raises(kind):
        subscriber.refill(wanted=2, taken=0)
    assert subscriber.ending is None


def test_rule_3_10_elements_that_come_within_the_request_are_admitted() -> None:
    subscriber = BaseSubscriber(4)
    admitted: list[bool] = []
    subscriber.accept(RecordingSubscription(request=lambda: admitted.append(subscriber.admit())))
    subscriber.refill(wanted=1, taken=0)
    assert admitted == [True]


def test_rule_3_11_an_end_within_the_request_is_remembered() -> None:
    subscriber = BaseSubscriber(4)
    subscriber.accept(RecordingSubscription(request=lambda: subscriber.end(COMPLETED)))
    subscriber.refill(wanted=1, taken=0)
    assert subscriber.ending is COMPLETED


@pytest.mark.parametrize(
    ("capacity", "kind", "message"),
    [
        (0, ValueError, "BaseSubscriber: capacity must be at least 1, not 0"),
        (-3, ValueError, "BaseSubscriber: capacity must be at least 1, not -3"),
        (True, TypeError, "BaseSubscriber: capacity must be an int of at least 1, not True"),
        (1.5, TypeError, "BaseSubscriber: capacity must be an int of at least 1, not 1.5"),
    ],
)
def test_a_bad_capacity_is_an_error_at_once(
    capacity: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        BaseSubscriber(capacity)
    assert str(caught.value) == message


# Threads and locks.


def test_of_many_elements_at_once_exactly_as_many_are_admitted_as_were_asked_for() -> None:
    subscriber, _ = opened(500)
    subscriber.refill(wanted=500, taken=0)
    admitted: list[int] = []

    def send() -> None:
        admitted.append(sum(subscriber.admit() for _ in range(200)))

    with frequent_switches():
        run_together(send, send, send)
    assert sum(admitted) == 500
    assert broken_rule(subscriber) == "1.1"


def test_a_subscription_that_crosses_a_cancel_is_cancelled_either_way() -> None:
    for _ in range(200):
        subscriber, subscription = BaseSubscriber(4), RecordingSubscription()
        run_both(subscriber, subscription)
        assert subscription.calls == ["cancel"]


def test_a_subscription_that_comes_in_the_middle_of_the_end_is_cancelled() -> None:
    watch = GapWatch()
    subscriber, second = BaseSubscriber(4, watch), RecordingSubscription()
    subscriber.accept(RecordingSubscription())
    accepted: list[bool] = []
    watch.next_exit(lambda: accepted.append(subscriber.accept(second)))
    subscriber.end(COMPLETED)
    assert accepted == [False]
    assert second.calls == ["cancel"]


def test_an_element_that_comes_in_the_middle_of_the_end_does_not_change_it() -> None:
    watch = GapWatch()
    subscriber = BaseSubscriber(4, watch)
    subscriber.accept(RecordingSubscription())
    admitted: list[bool] = []
    watch.next_exit(lambda: admitted.append(subscriber.admit()))
    subscriber.end(COMPLETED)
    assert admitted == [False]
    assert subscriber.ending is COMPLETED


def run_both(subscriber: BaseSubscriber, subscription: RecordingSubscription) -> None:
    with frequent_switches():
        thread = threading.Thread(target=subscriber.accept, args=(subscription,))
        thread.start()
        subscriber.cancel()
        thread.join()


def test_no_lock_is_held_while_the_subscription_is_called() -> None:
    watch = LockWatch()
    held: list[tuple[str, int]] = []
    subscription = RecordingSubscription(
        request=lambda: held.append(("request", watch.held_here)),
        cancel=lambda: held.append(("cancel", watch.held_here)),
    )
    subscriber = BaseSubscriber(4, watch)
    subscriber.accept(subscription)
    subscriber.refill(wanted=4, taken=0)
    subscriber.accept(subscription)
    subscriber.cancel()
    assert held == [("request", 0), ("cancel", 0), ("cancel", 0)]
    assert watch.entered > 0


def raising(error: BaseException) -> Any:
    def call() -> None:
        raise error

    return call
