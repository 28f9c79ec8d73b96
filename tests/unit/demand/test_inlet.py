"""The subscriber's end: which subscription it holds, what it admits, how much it asks for."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from penstock.api import UNBOUNDED
from penstock.demand import COMPLETED, Inlet
from penstock.rules import RuleViolation, cite
from penstock.runtime import collect_undelivered
from tests.unit.demand.parties import GapWatch, LockWatch, RecordingSubscription
from tests.unit.runtime.threads import frequent_switches, run_together


def opened(capacity: int) -> tuple[Inlet, RecordingSubscription]:
    inlet, subscription = Inlet(capacity), RecordingSubscription()
    assert inlet.accept(subscription)
    return inlet, subscription


def broken_rule(inlet: Inlet) -> str:
    assert isinstance(inlet.ending, RuleViolation)
    return inlet.ending.rule.number


# The subscription.


def test_the_first_subscription_is_taken_and_not_touched() -> None:
    inlet, subscription = opened(4)
    assert subscription.calls == []
    assert inlet.ending is None


def test_rule_2_5_a_second_subscription_is_cancelled_and_the_first_one_goes_on() -> None:
    inlet, first = opened(4)
    second = RecordingSubscription()
    assert not inlet.accept(second)
    assert second.calls == ["cancel"]
    inlet.refill(wanted=1, taken=0)
    assert inlet.admit()
    assert first.calls == [1]


def test_rule_2_5_of_many_subscriptions_at_once_exactly_one_is_taken() -> None:
    inlet = Inlet(4)
    subscriptions = [RecordingSubscription() for _ in range(4)]
    taken: list[bool] = []

    def accept(subscription: RecordingSubscription) -> None:
        taken.append(inlet.accept(subscription))

    with frequent_switches():
        run_together(*[partial(accept, each) for each in subscriptions])
    assert sorted(taken) == [False, False, False, True]
    assert sorted(len(each.calls) for each in subscriptions) == [0, 1, 1, 1]


def test_rule_2_6_a_subscription_that_comes_after_cancel_is_cancelled() -> None:
    inlet, late = Inlet(4), RecordingSubscription()
    inlet.cancel()
    assert not inlet.accept(late)
    assert late.calls == ["cancel"]


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_a_subscription_that_comes_after_the_end_is_cancelled(ending: Exception) -> None:
    inlet, _ = opened(4)
    inlet.end(ending)
    late = RecordingSubscription()
    assert not inlet.accept(late)
    assert late.calls == ["cancel"]


def test_rule_2_13_none_is_no_subscription() -> None:
    inlet = Inlet(4)
    none: Any = None
    with pytest.raises(TypeError) as caught:
        inlet.accept(none)
    assert str(caught.value) == cite("2.13", "on_subscribe got None instead of a subscription")
    assert inlet.accept(RecordingSubscription())


# Cancelling.


def test_cancelling_cancels_the_subscription_once() -> None:
    inlet, subscription = opened(4)
    inlet.cancel()
    inlet.cancel()
    assert subscription.calls == ["cancel"]


def test_cancelling_before_there_is_a_subscription_is_fine() -> None:
    inlet = Inlet(4)
    inlet.cancel()
    assert inlet.ending is None


def test_rule_2_8_an_element_after_cancel_is_dropped_without_complaint() -> None:
    inlet, _ = opened(4)
    inlet.refill(wanted=1, taken=0)
    inlet.cancel()
    assert not inlet.admit()
    assert not inlet.admit(unasked=True)
    assert inlet.ending is None


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_an_end_that_crosses_a_cancel_is_no_violation(ending: Exception) -> None:
    inlet, _ = opened(4)
    inlet.cancel()
    inlet.end(ending)
    assert inlet.ending is None


def test_rule_2_4_after_the_end_the_subscription_is_left_alone() -> None:
    inlet, subscription = opened(4)
    inlet.end(COMPLETED)
    inlet.refill(wanted=UNBOUNDED, taken=0)
    inlet.cancel()
    assert subscription.calls == []


def test_after_cancel_nothing_more_is_requested() -> None:
    inlet, subscription = opened(4)
    inlet.cancel()
    inlet.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == ["cancel"]


def test_rule_3_15_a_cancel_that_raises_is_reported_and_returns_normally() -> None:
    error = ValueError("of the foreign cancel")
    inlet = Inlet(4)
    inlet.accept(RecordingSubscription(cancel=raising(error)))
    with collect_undelivered() as lost:
        inlet.cancel()
    (undelivered,) = lost
    assert undelivered.error is error
    assert undelivered.what == cite("3.15", "cancel of a subscription raised")


def test_rule_3_15_the_same_holds_for_a_subscription_that_is_refused() -> None:
    error = ValueError("of the foreign cancel")
    inlet, _ = opened(4)
    with collect_undelivered() as lost:
        assert not inlet.accept(RecordingSubscription(cancel=raising(error)))
    assert [each.error for each in lost] == [error]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_foreign_cancel_passes_through(kind: type[BaseException]) -> None:
    inlet = Inlet(4)
    inlet.accept(RecordingSubscription(cancel=raising(kind())))
    with pytest.raises(kind):
        inlet.cancel()


# Elements.


def test_as_many_elements_are_admitted_as_were_asked_for() -> None:
    inlet, _ = opened(4)
    inlet.refill(wanted=3, taken=0)
    assert [inlet.admit() for _ in range(3)] == [True, True, True]
    assert inlet.ending is None


def test_rule_1_1_one_element_more_than_was_asked_for_ends_the_stream() -> None:
    inlet, subscription = opened(4)
    inlet.refill(wanted=1, taken=0)
    assert inlet.admit()
    assert not inlet.admit()
    assert broken_rule(inlet) == "1.1"
    assert str(inlet.ending) == cite("1.1", "on_next came without demand")
    inlet.cancel()
    assert subscription.calls == [1, "cancel"]


def test_rule_1_1_an_element_before_any_request_ends_the_stream() -> None:
    inlet, _ = opened(4)
    assert not inlet.admit()
    assert broken_rule(inlet) == "1.1"


def test_rule_1_9_an_element_before_the_subscription_ends_the_stream() -> None:
    inlet = Inlet(4)
    assert not inlet.admit()
    assert broken_rule(inlet) == "1.9"
    assert str(inlet.ending) == cite("1.9", "on_next came before on_subscribe")


def test_rule_1_9_a_welcome_element_before_the_subscription_ends_the_stream_too() -> None:
    inlet = Inlet(4)
    assert not inlet.admit(unasked=True)
    assert broken_rule(inlet) == "1.9"


def test_after_a_violation_nothing_is_admitted_or_asked_for() -> None:
    inlet, subscription = opened(4)
    inlet.admit()
    assert not inlet.admit(unasked=True)
    inlet.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == []


def test_an_unasked_element_is_admitted_where_it_is_welcome() -> None:
    inlet, _ = opened(4)
    assert inlet.admit(unasked=True)
    assert inlet.ending is None


def test_an_unasked_element_counts_as_if_it_had_been_asked_for() -> None:
    inlet, subscription = opened(4)
    assert inlet.admit(unasked=True)
    inlet.refill(wanted=3, taken=0)
    assert subscription.calls == [2]
    assert [inlet.admit() for _ in range(3)] == [True, True, False]


def test_an_element_that_was_asked_for_is_not_counted_twice_for_being_welcome() -> None:
    inlet, subscription = opened(4)
    inlet.refill(wanted=2, taken=0)
    assert inlet.admit(unasked=True)
    assert inlet.admit()
    inlet.refill(wanted=2, taken=2)
    assert subscription.calls == [2]
    assert not inlet.admit()


# The end.


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_the_end_is_remembered_as_it_came(ending: Exception) -> None:
    inlet, _ = opened(4)
    inlet.end(ending)
    assert inlet.ending is ending


@pytest.mark.parametrize("ending", [COMPLETED, ValueError("broken")])
def test_rule_1_9_an_end_before_the_subscription_is_a_violation_that_names_it(
    ending: Exception,
) -> None:
    inlet = Inlet(4)
    inlet.end(ending)
    assert broken_rule(inlet) == "1.9"
    assert "the stream ended before on_subscribe" in str(inlet.ending)
    assert str(ending) in str(inlet.ending)


def test_only_the_first_end_counts() -> None:
    inlet, _ = opened(4)
    first = ValueError("first")
    inlet.end(first)
    inlet.end(COMPLETED)
    inlet.fail(ValueError("third"))
    assert inlet.ending is first


@pytest.mark.parametrize("ending", ["boom", 3, ValueError, KeyboardInterrupt()])
def test_rule_1_4_an_error_that_is_no_exception_is_replaced_by_one(ending: Any) -> None:
    inlet, _ = opened(4)
    inlet.end(ending)
    assert broken_rule(inlet) == "1.4"
    assert f"on_error got {ending!r}, which is no Exception" in str(inlet.ending)


def test_rule_1_4_an_interrupt_that_came_as_an_error_is_the_cause_of_the_violation() -> None:
    inlet, _ = opened(4)
    interrupt: Any = KeyboardInterrupt()
    inlet.end(interrupt)
    assert inlet.ending is not None
    assert inlet.ending.__cause__ is interrupt


def test_a_failure_of_the_owner_leaves_the_subscription_to_be_cancelled() -> None:
    inlet, subscription = opened(4)
    error = ValueError("of the owner")
    inlet.fail(error)
    inlet.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == []
    inlet.cancel()
    assert subscription.calls == ["cancel"]
    assert inlet.ending is error


def test_after_the_end_elements_are_dropped() -> None:
    inlet, _ = opened(4)
    inlet.refill(wanted=4, taken=0)
    inlet.end(COMPLETED)
    assert not inlet.admit()
    assert inlet.ending is COMPLETED


# Asking for more.


def test_demand_below_the_capacity_passes_through_as_it_is() -> None:
    inlet, subscription = opened(8)
    for wanted in (1, 2, 5):
        inlet.refill(wanted=wanted, taken=0)
    assert subscription.calls == [1, 1, 3]


def test_nothing_is_asked_for_twice() -> None:
    inlet, subscription = opened(8)
    inlet.refill(wanted=3, taken=0)
    inlet.refill(wanted=3, taken=0)
    assert subscription.calls == [3]


def test_nothing_is_asked_for_without_demand_or_without_a_subscription() -> None:
    inlet, subscription = opened(8)
    inlet.refill(wanted=0, taken=0)
    assert subscription.calls == []
    Inlet(8).refill(wanted=8, taken=0)


def test_the_first_portion_fills_the_capacity() -> None:
    inlet, subscription = opened(8)
    inlet.refill(wanted=UNBOUNDED, taken=0)
    assert subscription.calls == [8]


@pytest.mark.parametrize(
    ("capacity", "portion"), [(1, 1), (2, 2), (3, 3), (4, 3), (7, 6), (8, 6), (16, 12), (100, 75)]
)
def test_the_capacity_is_filled_up_in_portions_of_three_quarters(
    capacity: int, portion: int
) -> None:
    inlet, subscription = opened(capacity)
    for taken in range(4 * portion + 1):
        inlet.refill(wanted=UNBOUNDED, taken=taken)
        inlet.admit()
    assert subscription.calls == [capacity, portion, portion, portion, portion]


def test_where_demand_is_the_limit_there_are_no_portions() -> None:
    inlet, subscription = opened(8)
    inlet.refill(wanted=8, taken=0)
    inlet.refill(wanted=9, taken=2)
    assert subscription.calls == [8, 1]


def test_a_starving_reader_does_not_wait_for_the_portion_to_fill_up() -> None:
    inlet, subscription = opened(8)
    inlet.refill(wanted=UNBOUNDED, taken=0)
    inlet.refill(wanted=UNBOUNDED, taken=1, starving_at=7)
    assert subscription.calls == [8]
    inlet.refill(wanted=UNBOUNDED, taken=1, starving_at=8)
    assert subscription.calls == [8, 1]


def test_it_never_stands_still_when_all_that_was_asked_for_is_gone() -> None:
    inlet, subscription = opened(8)
    inlet.refill(wanted=8, taken=0)
    inlet.refill(wanted=UNBOUNDED, taken=8)
    assert subscription.calls == [8, 8]


def test_rule_3_16_a_request_that_raises_ends_the_stream_and_names_the_error() -> None:
    inlet = Inlet(4)
    subscription = RecordingSubscription(request=raising(ValueError("of the request")))
    inlet.accept(subscription)
    inlet.refill(wanted=2, taken=0)
    assert broken_rule(inlet) == "3.16"
    assert "request(2) raised ValueError('of the request')" in str(inlet.ending)
    inlet.cancel()
    assert subscription.calls == [2, "cancel"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_foreign_request_passes_through(kind: type[BaseException]) -> None:
    inlet = Inlet(4)
    inlet.accept(RecordingSubscription(request=raising(kind())))
    with pytest.raises(kind):
        inlet.refill(wanted=2, taken=0)
    assert inlet.ending is None


def test_rule_3_10_elements_that_come_within_the_request_are_admitted() -> None:
    inlet = Inlet(4)
    admitted: list[bool] = []
    inlet.accept(RecordingSubscription(request=lambda: admitted.append(inlet.admit())))
    inlet.refill(wanted=1, taken=0)
    assert admitted == [True]


def test_rule_3_11_an_end_within_the_request_is_remembered() -> None:
    inlet = Inlet(4)
    inlet.accept(RecordingSubscription(request=lambda: inlet.end(COMPLETED)))
    inlet.refill(wanted=1, taken=0)
    assert inlet.ending is COMPLETED


@pytest.mark.parametrize(
    ("capacity", "kind", "message"),
    [
        (0, ValueError, "capacity must be at least 1, not 0"),
        (-3, ValueError, "capacity must be at least 1, not -3"),
        (True, TypeError, "capacity must be an int of at least 1, not True"),
        (1.5, TypeError, "capacity must be an int of at least 1, not 1.5"),
    ],
)
def test_a_bad_capacity_is_an_error_at_once(
    capacity: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        Inlet(capacity)
    assert str(caught.value) == message


# Threads and locks.


def test_of_many_elements_at_once_exactly_as_many_are_admitted_as_were_asked_for() -> None:
    inlet, _ = opened(500)
    inlet.refill(wanted=500, taken=0)
    admitted: list[int] = []

    def send() -> None:
        admitted.append(sum(inlet.admit() for _ in range(200)))

    with frequent_switches():
        run_together(send, send, send)
    assert sum(admitted) == 500
    assert broken_rule(inlet) == "1.1"


def test_a_subscription_that_crosses_a_cancel_is_cancelled_either_way() -> None:
    for _ in range(200):
        inlet, subscription = Inlet(4), RecordingSubscription()
        run_both(inlet, subscription)
        assert subscription.calls == ["cancel"]


def test_a_subscription_that_comes_in_the_middle_of_the_end_is_cancelled() -> None:
    watch = GapWatch()
    inlet, second = Inlet(4, watch), RecordingSubscription()
    inlet.accept(RecordingSubscription())
    accepted: list[bool] = []
    watch.next_exit(lambda: accepted.append(inlet.accept(second)))
    inlet.end(COMPLETED)
    assert accepted == [False]
    assert second.calls == ["cancel"]


def test_an_element_that_comes_in_the_middle_of_the_end_does_not_change_it() -> None:
    watch = GapWatch()
    inlet = Inlet(4, watch)
    inlet.accept(RecordingSubscription())
    admitted: list[bool] = []
    watch.next_exit(lambda: admitted.append(inlet.admit()))
    inlet.end(COMPLETED)
    assert admitted == [False]
    assert inlet.ending is COMPLETED


def run_both(inlet: Inlet, subscription: RecordingSubscription) -> None:
    with frequent_switches():
        thread = threading.Thread(target=inlet.accept, args=(subscription,))
        thread.start()
        inlet.cancel()
        thread.join()


def test_no_lock_is_held_while_the_subscription_is_called() -> None:
    watch = LockWatch()
    held: list[tuple[str, int]] = []
    subscription = RecordingSubscription(
        request=lambda: held.append(("request", watch.held_here)),
        cancel=lambda: held.append(("cancel", watch.held_here)),
    )
    inlet = Inlet(4, watch)
    inlet.accept(subscription)
    inlet.refill(wanted=4, taken=0)
    inlet.accept(subscription)
    inlet.cancel()
    assert held == [("request", 0), ("cancel", 0), ("cancel", 0)]
    assert watch.entered > 0


def raising(error: BaseException) -> Any:
    def call() -> None:
        raise error

    return call
