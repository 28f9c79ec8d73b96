"""A guarded publisher: each broken rule is named, and the subscriber sees a conformant stream."""

from __future__ import annotations

import threading

import pytest

from penstock.api import UNBOUNDED, Publisher, Subscriber
from penstock.examples import IterablePublisher
from penstock.guard import GuardedPublisher, guard
from penstock.rules import RuleViolation
from penstock.runtime import collect_undelivered
from tests.guard.unit import broken_publishers as broken
from tests.guard.unit.conformant import AnswersLast, Busy, ByHand, NestsALittle, OneByOne, Recorder


def guarded(publisher: Publisher[int], *, ends_stream: bool = True) -> GuardedPublisher[int]:
    return guard(publisher, on_violation=lambda _: None, ends_stream=ends_stream)


def rules(of: GuardedPublisher[int]) -> list[str]:
    return [violation.rule.number for violation in of.violations]


def rule_of(error: Exception) -> str:
    assert isinstance(error, RuleViolation), error
    return error.rule.number


def test_a_conformant_stream_passes_through_unchanged() -> None:
    publisher = guarded(IterablePublisher([1, 2, 3]))
    subscriber: Recorder[int] = Recorder(asks_for=5)
    publisher.subscribe(subscriber)
    assert subscriber.signals == ["on_subscribe", 1, 2, 3, "on_complete"]
    assert publisher.violations == ()


def test_rule_1_01_an_element_that_nobody_requested_ends_the_stream() -> None:
    party = broken.OneTooMany()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=2)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe", 0, 1]
    assert rule_of(subscriber.error) == "1.1"
    assert rules(publisher) == ["1.1"]
    assert party.cancels == 1


def test_rule_1_01_a_flood_gives_one_report_and_a_count() -> None:
    reports: list[RuleViolation] = []
    publisher = guard(broken.Flood(), on_violation=reports.append)
    subscriber: Recorder[int] = Recorder(asks_for=2)
    publisher.subscribe(subscriber)
    assert [report.rule.number for report in reports] == ["1.1"]
    assert publisher.counts == {"1.1": 50_000 - 2}
    assert len(subscriber.signals) == len(["on_subscribe", 0, 1, "violation"])


def test_rule_1_01_each_stream_is_counted_by_itself() -> None:
    publisher = guarded(broken.OneTooMany())
    publisher.subscribe(Recorder())
    publisher.subscribe(Recorder())
    assert rules(publisher) == ["1.1", "1.1"]


def test_rule_1_01_more_elements_after_cancel_than_were_outstanding_break_it() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=2)
    publisher.subscribe(subscriber)
    subscriber.cancel()
    party.send(1, 2)
    assert rules(publisher) == []
    party.send(3)
    assert rules(publisher) == ["1.1"]
    assert subscriber.signals == ["on_subscribe"]


def test_rule_1_03_a_signal_of_a_second_thread_is_held_back_until_the_first_has_returned() -> None:
    party = broken.TwoThreads()
    publisher = guarded(party)

    def send_another(_: int) -> None:
        party.on_another_thread(party.subscriber.on_next, 2)

    subscriber = Busy(3, during=send_another)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe", 1, "1 done"]
    assert rule_of(subscriber.error) == "1.3"
    assert rules(publisher) == ["1.3"]
    assert party.cancels == 1


@pytest.mark.parametrize("ends_stream", [True, False])
def test_rule_1_03_an_overlapping_completion_ends_the_stream_by_the_violation(
    ends_stream: bool,
) -> None:
    party = broken.TwoThreads()
    publisher = guarded(party, ends_stream=ends_stream)
    subscriber: Busy[int] = Busy(
        3, during=lambda _: party.on_another_thread(party.subscriber.on_complete)
    )
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe", 1, "1 done"]
    assert rule_of(subscriber.error) == "1.3"
    assert party.cancels == 0  # 2.3: the publisher has ended the stream itself


def test_rule_1_03_a_signal_nested_in_a_signal_without_a_request_breaks_it() -> None:
    party = broken.Echo()
    publisher = guarded(party)
    subscriber: Busy[int] = Busy(5, during=lambda number: party.push(number + 1))
    publisher.subscribe(subscriber)
    party.push(1)
    assert subscriber.signals[:-1] == ["on_subscribe", 1, "1 done"]
    assert rule_of(subscriber.error) == "1.3"
    assert rules(publisher) == ["1.3"]


def test_rule_1_07_a_second_completion_is_not_passed_on() -> None:
    publisher = guarded(broken.CompletesTwice())
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.signals == ["on_subscribe", "on_complete"]
    assert rules(publisher) == ["1.7"]


def test_rule_1_07_nothing_is_passed_on_after_an_error() -> None:
    publisher = guarded(broken.GoesOnAfterError())
    subscriber: Recorder[int] = Recorder(asks_for=3)
    publisher.subscribe(subscriber)
    assert len(subscriber.signals) == 2
    assert isinstance(subscriber.error, OSError)
    assert rules(publisher) == ["1.7"]
    assert publisher.counts == {"1.7": 2}


@pytest.mark.parametrize(
    "party", [broken.SendsTooEarly, broken.FailsTooEarly, broken.CompletesTooEarly]
)
def test_rule_1_09_a_subscriber_is_subscribed_before_it_hears_of_an_early_signal(
    party: type[broken.Scripted],
) -> None:
    publisher = guarded(party())
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert rule_of(subscriber.error) == "1.9"
    assert rules(publisher) == ["1.9"]


def test_rule_1_09_a_subscription_that_comes_after_the_end_is_cancelled() -> None:
    party = broken.SendsTooEarly()
    guarded(party).subscribe(Recorder(asks_for=1))
    assert party.cancels == 1


@pytest.mark.parametrize("party", [broken.RaisesInSubscribe, broken.RaisesAfterOnSubscribe])
@pytest.mark.parametrize("ends_stream", [True, False])
def test_rule_1_09_what_subscribe_raises_reaches_the_subscriber_and_not_the_caller(
    party: type[broken.Scripted], ends_stream: bool
) -> None:
    publisher = guarded(party(), ends_stream=ends_stream)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert rule_of(subscriber.error) == "1.9"
    assert "OSError('no source')" in str(subscriber.error)
    assert rules(publisher) == ["1.9"]


@pytest.mark.parametrize("party", [broken.TakesNobody, broken.TripsOverNobody])
def test_rule_1_09_none_as_subscriber_that_is_not_refused_breaks_it(
    party: type[broken.Scripted],
) -> None:
    publisher = guarded(party())
    nobody: Subscriber[int] = None  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"1\.9"):
        publisher.subscribe(nobody)
    assert rules(publisher) == ["1.9"]


def test_rule_1_09_a_publisher_that_refuses_none_keeps_it() -> None:
    publisher = guarded(IterablePublisher([1]))
    nobody: Subscriber[int] = None  # type: ignore[assignment]
    with pytest.raises(TypeError, match="the subscriber is None"):
        publisher.subscribe(nobody)
    assert publisher.violations == ()


def test_something_that_is_no_subscriber_is_refused_before_the_publisher_sees_it() -> None:
    publisher = guarded(IterablePublisher([1]))
    with pytest.raises(TypeError, match="has no on_subscribe"):
        publisher.subscribe(object())  # type: ignore[arg-type]
    assert publisher.violations == ()


def test_rule_1_10_a_subscriber_whose_stream_goes_on_is_not_subscribed_again() -> None:
    publisher = guarded(IterablePublisher([1, 2]))
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    publisher.subscribe(subscriber)
    subscriber.request(1)
    assert subscriber.signals == ["on_subscribe", 1, 2, "on_complete"]
    assert rules(publisher) == ["1.10"]


def test_a_subscriber_whose_stream_is_over_can_be_subscribed_again() -> None:
    publisher = guarded(IterablePublisher([1]))
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    publisher.subscribe(subscriber)
    assert subscriber.signals == ["on_subscribe", 1, "on_complete"] * 2
    assert publisher.violations == ()


def test_rule_2_12_a_second_on_subscribe_cancels_both_subscriptions() -> None:
    party = broken.SubscribesTwice()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert rule_of(subscriber.error) == "2.12"
    assert rules(publisher) == ["2.12"]
    assert (party.cancels, party.second.cancels) == (1, 1)


@pytest.mark.parametrize(
    "party",
    [
        broken.NoSubscription(),
        broken.NoElement(),
        broken.NoError(None),
    ],
    ids=["no subscription", "no element", "no error"],
)
def test_rule_2_13_nothing_in_place_of_something_ends_the_stream(party: broken.Scripted) -> None:
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert rule_of(subscriber.error) == "2.13"
    assert rules(publisher) == ["2.13"]


@pytest.mark.parametrize("ending", ["a word", KeyboardInterrupt()])
def test_rule_1_04_an_error_that_is_no_exception_ends_the_stream(ending: object) -> None:
    publisher = guarded(broken.NoError(ending))
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert rule_of(subscriber.error) == "1.4"
    assert rules(publisher) == ["1.4"]


def test_rule_3_03_open_recursion_is_stopped_long_before_the_stack_is_full() -> None:
    party = broken.Recursive(elements=5_000)
    publisher = guarded(party)
    subscriber: OneByOne[int] = OneByOne()
    publisher.subscribe(subscriber)
    assert rule_of(subscriber.error) == "3.3"
    assert rules(publisher) == ["3.3"]
    assert party.cancels == 1


def test_rule_3_03_recursion_within_the_limit_keeps_it() -> None:
    publisher = guarded(NestsALittle(range(1_000)))
    subscriber: OneByOne[int] = OneByOne()
    publisher.subscribe(subscriber)
    assert subscriber.signals == ["on_subscribe", *range(1_000), "on_complete"]
    assert publisher.violations == ()


def test_rule_3_06_a_request_that_is_served_after_cancel_breaks_it() -> None:
    publisher = guarded(broken.ServesAfterCancel())
    subscriber: Recorder[int] = Recorder(asks_for=2)
    publisher.subscribe(subscriber)
    subscriber.cancel()
    subscriber.request(1)
    assert subscriber.signals == ["on_subscribe", 0, 1]
    assert rules(publisher) == ["3.6"]


def test_rule_3_06_is_not_held_against_a_publisher_that_may_not_know_of_the_cancel_yet() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.cancel()
    subscriber.request(1)
    party.send(1, 2)
    assert publisher.violations == ()


def test_rule_3_09_later_requests_served_in_place_of_an_answer_break_it() -> None:
    publisher = guarded(broken.IgnoresIllegalRequests(elements=100))
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.request(0)
    assert rules(publisher) == []
    subscriber.request(1)
    assert rules(publisher) == ["3.9"]
    assert subscriber.signals == ["on_subscribe", 99, 98]


def test_rule_3_09_completion_after_later_requests_breaks_it_on_any_thread() -> None:
    party = broken.IgnoresIllegalRequestsSlowly(elements=2)
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.request(-1)
    subscriber.request(1)
    party.send_one()
    assert rules(publisher) == []
    party.send_one()
    assert rules(publisher) == ["3.9"]
    assert subscriber.signals == ["on_subscribe", 1, 0, "on_complete"]


def test_rule_3_09_is_kept_by_elements_that_were_requested_before() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=2)
    publisher.subscribe(subscriber)
    subscriber.request(0)
    party.send(1, 2)
    party.complete()
    assert publisher.violations == ()


def test_rule_3_09_is_kept_by_an_answer_that_comes_after_later_requests() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.request(0)
    subscriber.request(1)
    party.send(1, 2)
    party.fail(ValueError("not positive"))
    assert publisher.violations == ()


def test_rule_3_09_is_kept_by_a_publisher_that_is_in_the_middle_of_sending() -> None:
    publisher = guarded(AnswersLast(range(10)))

    def request_nothing_and_more(number: int) -> None:
        if number == 0:
            subscriber.request(0)
            subscriber.request(2)

    subscriber = Busy(1, during=request_nothing_and_more)
    publisher.subscribe(subscriber)
    assert subscriber.signals[1::2] == [0, 1, 2, subscriber.error]
    assert isinstance(subscriber.error, ValueError)
    assert publisher.violations == ()


def test_rule_3_09_is_kept_by_a_publisher_that_was_cancelled_before_it_could_answer() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.request(0)
    subscriber.request(1)
    party.send(1, 2)
    subscriber.cancel()
    party.complete()
    assert publisher.violations == ()


@pytest.mark.parametrize("n", [0, -1, -(2**63)])
def test_rule_3_09_is_kept_by_a_publisher_that_answers(n: int) -> None:
    publisher = guarded(IterablePublisher(range(10)))
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.request(n)
    assert isinstance(subscriber.error, ValueError)
    assert publisher.violations == ()


@pytest.mark.parametrize("n", [True, 2.0, "2", None])
def test_what_a_publisher_makes_of_a_request_that_is_no_int_is_not_counted(n: int) -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder()
    publisher.subscribe(subscriber)
    subscriber.request(n)
    party.send(1, 2)
    assert party.calls == [n]
    assert subscriber.signals == ["on_subscribe", 1, 2]
    assert publisher.violations == ()


def test_rule_3_15_what_cancel_raises_does_not_reach_the_subscriber() -> None:
    party = broken.RaisesInCancel()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.cancel()
    subscriber.cancel()
    assert subscriber.signals == ["on_subscribe"]
    assert rules(publisher) == ["3.15"]
    assert publisher.counts == {"3.15": 2}


def test_rule_3_16_what_request_raises_ends_the_stream() -> None:
    party = broken.RaisesInRequest()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert rule_of(subscriber.error) == "3.16"
    assert rules(publisher) == ["3.16"]
    assert party.cancels == 1


def test_rule_3_17_a_publisher_need_not_count_beyond_the_largest_demand() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=UNBOUNDED)
    publisher.subscribe(subscriber)
    subscriber.request(UNBOUNDED)
    party.send(*range(100))
    assert publisher.violations == ()


def test_without_ending_the_stream_only_broken_signals_are_left_out() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party, ends_stream=False)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    party.send(1, 2)
    subscriber.request(2)
    party.send(3, 4)
    party.complete()
    assert subscriber.signals == ["on_subscribe", 1, 3, 4, "on_complete"]
    assert rules(publisher) == ["1.1"]
    assert party.calls == [1, 2]


def test_without_ending_the_stream_a_second_subscription_leaves_the_first_alone() -> None:
    party = broken.SubscribesTwice()
    publisher = guarded(party, ends_stream=False)
    subscriber: Recorder[int] = Recorder()
    publisher.subscribe(subscriber)
    subscriber.request(3)
    assert (party.demand, party.cancels, party.second.cancels) == (3, 0, 1)
    assert subscriber.signals == ["on_subscribe"]


def test_a_subscription_that_is_handed_out_twice_is_not_taken_for_a_second_one() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party, ends_stream=False)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert party.subscriber is not None
    party.subscriber.on_subscribe(party.subscription)
    party.send(1)
    assert rules(publisher) == ["2.12"]
    assert party.calls == [1]
    assert subscriber.signals == ["on_subscribe", 1]


def test_the_end_of_a_stream_is_noted_once() -> None:
    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    publisher.subscribe(Recorder())
    party.send(*range(10))
    party.complete()
    party.complete()
    surplus, after_end = publisher.violations
    assert surplus.rule.number == "1.1"
    assert sum("the guard ends" in line for line in after_end.timeline) == 1


def test_after_a_violation_the_publisher_is_asked_for_nothing_more() -> None:
    party = broken.OneTooMany()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder()
    publisher.subscribe(subscriber)
    subscriber.request(7)
    subscriber.cancel()
    assert (party.demand, party.cancels) == (0, 1)


def test_a_subscriber_that_cancels_while_the_violation_waits_is_not_told_of_it() -> None:
    party = broken.TwoThreads()
    publisher = guarded(party)

    def break_and_cancel(_: int) -> None:
        party.on_another_thread(party.subscriber.on_next, 2)
        subscriber.cancel()

    subscriber = Busy(3, during=break_and_cancel)
    publisher.subscribe(subscriber)
    assert subscriber.signals == ["on_subscribe", 1, "1 done"]
    assert rules(publisher) == ["1.3"]


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_what_a_subscriber_raises_is_reported_and_not_blamed_on_the_publisher(signal: str) -> None:
    def raises(*_: object) -> None:
        raise LookupError(signal)

    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber: Recorder[int] = Recorder(asks_for=5)
    setattr(subscriber, signal, raises)
    with collect_undelivered() as lost:
        publisher.subscribe(subscriber)
        if signal != "on_subscribe":
            party.send(1)
        if signal == "on_error":
            party.fail(OSError())
        else:
            party.complete()
    assert [str(each.error) for each in lost] == [signal]
    assert "2.13" in lost[0].what
    assert publisher.violations == ()
    assert ("cancel" in party.calls) == (signal in ("on_subscribe", "on_next"))


def test_a_keyboard_interrupt_passes_through_and_leaves_the_turn_to_other_threads() -> None:
    def interrupt(number: int) -> None:
        if number == 1:
            raise KeyboardInterrupt

    party: ByHand[int] = ByHand()
    publisher = guarded(party)
    subscriber = Busy(5, during=interrupt)
    publisher.subscribe(subscriber)
    with pytest.raises(KeyboardInterrupt):
        party.send(1)
    thread = threading.Thread(target=party.send, args=(2,))
    thread.start()
    thread.join()
    assert subscriber.signals == ["on_subscribe", 1, 2, "2 done"]
    assert publisher.violations == ()
