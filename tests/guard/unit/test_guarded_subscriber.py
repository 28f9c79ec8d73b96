"""A guarded subscriber: each broken rule is named, and the publisher is not harmed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from penstock.api import Subscriber
from penstock.core import AsyncSubscriber
from penstock.examples import IterablePublisher
from penstock.guard import GuardedSubscriber, guard
from penstock.runtime import VirtualTime, collect_undelivered
from tests.guard.unit import broken_subscribers as broken
from tests.guard.unit.conformant import ByHand, Calls, OneByOne, Recorder


def guarded(subscriber: Subscriber[int]) -> GuardedSubscriber[int]:
    return guard(subscriber, on_violation=lambda _: None)


def rules(of: GuardedSubscriber[int]) -> list[str]:
    return [violation.rule.number for violation in of.violations]


def test_a_conformant_subscriber_gets_the_stream_unchanged() -> None:
    recorder: OneByOne[int] = OneByOne()
    subscriber = guarded(recorder)
    IterablePublisher(range(100)).subscribe(subscriber)
    assert recorder.signals == ["on_subscribe", *range(100), "on_complete"]
    assert subscriber.violations == ()


@pytest.mark.parametrize("call", ["request", "cancel"])
@pytest.mark.parametrize("ending", ["on_error", "on_complete"])
def test_rule_2_03_a_call_from_within_a_terminal_signal_is_reported_and_not_passed_on(
    call: str, ending: str
) -> None:
    publisher: ByHand[int] = ByHand()
    subscriber = guarded(broken.CallsInTerminal(call))
    publisher.subscribe(subscriber)
    publisher.fail(OSError()) if ending == "on_error" else publisher.complete()
    assert rules(subscriber) == ["2.3"]
    assert publisher.calls == [1]


def test_rule_2_04_a_request_after_the_end_is_reported_and_not_passed_on() -> None:
    """The recorder breaks rule 2.4: the test makes it request after the end."""
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=1)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    publisher.complete()
    recorder.request(1)
    assert rules(subscriber) == ["2.4"]
    assert publisher.calls == [1]


def test_rule_2_04_a_cancel_after_the_end_does_no_harm_and_keeps_it() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=1)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    publisher.complete()
    recorder.cancel()
    assert subscriber.violations == ()
    assert publisher.calls == [1]


def test_rule_2_04_a_request_that_another_thread_may_have_begun_before_the_end_keeps_it() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=1)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    publisher.complete()
    on_another_thread(recorder.request, 1)
    assert subscriber.violations == ()


@pytest.mark.parametrize("party", [broken.KeepsSecondSubscription, broken.UsesSecondSubscription])
def test_rule_2_05_a_second_subscription_is_cancelled_and_the_first_goes_on(
    party: type[Recorder[int]],
) -> None:
    publisher: ByHand[int] = ByHand()
    recorder = party(asks_for=1)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    second = Calls()
    subscriber.on_subscribe(second)
    publisher.send(7)
    assert rules(subscriber) == ["2.5"]
    assert second.calls == ["cancel"]
    assert publisher.calls == [1]
    assert recorder.signals[-1] == 7


def test_rule_2_05_a_subscriber_that_may_cancel_the_second_subscription_later_keeps_it() -> None:
    publisher: ByHand[int] = ByHand()
    subscriber = guarded(broken.KeepsSecondSubscription(asks_for=0))
    publisher.subscribe(subscriber)
    second = Calls()
    subscriber.on_subscribe(second)
    assert subscriber.violations == ()
    assert second.calls == []


def test_rule_2_05_does_not_concern_a_subscription_after_the_first_was_cancelled() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=1)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    recorder.cancel()
    second = Calls()
    subscriber.on_subscribe(second)
    assert subscriber.violations == ()
    assert second.calls == [1]


@pytest.mark.parametrize("call", ["request", "cancel"])
def test_rule_2_07_calls_of_two_threads_at_once_are_reported(call: str) -> None:
    recorder = broken.CallsFromTwoThreads()
    subscriber = guarded(recorder)
    subscription = CallsBack(lambda: recorder.call_from_another_thread(call))
    subscriber.on_subscribe(subscription)
    recorder.request(1)
    assert rules(subscriber) == ["2.7"]
    assert subscription.calls == [1, "cancel" if call == "cancel" else 1]


def test_rule_2_07_a_call_from_a_signal_overlaps_with_one_that_began_during_the_signal() -> None:
    recorder = CallsWhileAnotherCallRuns(on_thread=lambda: recorder.request(2))
    subscriber = guarded(recorder)
    subscriber.on_subscribe(recorder.upstream)
    subscriber.on_next(1)
    assert rules(subscriber) == ["2.7"]
    assert recorder.upstream.calls == [2, 1]


def test_rule_2_07_is_not_held_against_the_subscriber_of_overlapping_signals() -> None:
    recorder = CallsWhileAnotherCallRuns(on_thread=lambda: subscriber.on_next(2))
    subscriber = guarded(recorder)
    subscriber.on_subscribe(recorder.upstream)
    subscriber.on_next(1)
    assert subscriber.violations == ()
    assert recorder.upstream.calls == [2, 1]


def test_rule_2_07_a_call_within_a_call_on_one_thread_keeps_it() -> None:
    recorder: Recorder[int] = Recorder()
    subscriber = guarded(recorder)
    subscription = CallsBack(lambda: recorder.request(2))
    subscriber.on_subscribe(subscription)
    recorder.request(1)
    assert subscription.calls == [1, 2]
    assert subscriber.violations == ()


def test_rule_2_07_calls_that_nest_on_one_thread_keep_it() -> None:
    recorder: OneByOne[int] = OneByOne()
    subscriber = guarded(recorder)
    numbers = iter(range(3))

    def send_one() -> None:
        for number in numbers:
            subscriber.on_next(number)

    subscriber.on_subscribe(CallsBack(send_one))
    assert recorder.signals == ["on_subscribe", 0, 1, 2]
    assert subscriber.violations == ()


def test_rule_2_07_a_call_from_an_answer_that_comes_before_the_request_returns_keeps_it() -> None:
    recorder: OneByOne[int] = OneByOne()
    recorder.asks_for = 0
    subscriber = guarded(recorder)
    numbers = iter([1])

    def answer_on_another_thread() -> None:
        for number in numbers:
            on_another_thread(subscriber.on_next, number)

    subscriber.on_subscribe(CallsBack(answer_on_another_thread))
    recorder.request(1)
    assert recorder.signals == ["on_subscribe", 1]
    assert subscriber.violations == ()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next"])
def test_rule_2_13_a_subscriber_that_raises_is_cancelled(signal: str) -> None:
    publisher: ByHand[int] = ByHand()
    recorder = broken.Raises(signal)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    publisher.send(1, 2)
    publisher.complete()
    assert rules(subscriber) == ["2.13"]
    assert publisher.calls == [2, "cancel"]
    assert (
        recorder.signals
        == {"on_subscribe": ["on_subscribe"], "on_next": ["on_subscribe", 1]}[signal]
    )


@pytest.mark.parametrize("signal", ["on_error", "on_complete"])
def test_rule_2_13_a_subscriber_that_raises_at_the_end_is_only_reported(signal: str) -> None:
    publisher: ByHand[int] = ByHand()
    subscriber = guarded(broken.Raises(signal))
    publisher.subscribe(subscriber)
    publisher.fail(OSError()) if signal == "on_error" else publisher.complete()
    assert rules(subscriber) == ["2.13"]
    assert publisher.calls == [2]


def test_rule_2_13_a_subscription_for_a_subscriber_that_has_raised_is_cancelled() -> None:
    publisher: ByHand[int] = ByHand()
    recorder = broken.Raises("on_next")
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    publisher.send(1)
    second = Calls()
    subscriber.on_subscribe(second)
    assert second.calls == ["cancel"]
    assert recorder.signals == ["on_subscribe", 1]


def test_rule_2_13_a_subscriber_that_raises_for_a_second_subscription_loses_both() -> None:
    publisher: ByHand[int] = ByHand()
    subscriber = guarded(broken.RaisesForSecondSubscription(asks_for=1))
    publisher.subscribe(subscriber)
    second = Calls()
    subscriber.on_subscribe(second)
    assert rules(subscriber) == ["2.13"]
    assert (publisher.calls, second.calls) == ([1, "cancel"], ["cancel"])


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_rule_2_13_a_type_error_for_none_is_right_and_passes_through(signal: str) -> None:
    publisher: ByHand[int] = ByHand()
    subscriber = guarded(Recorder(asks_for=1))
    publisher.subscribe(subscriber)
    with pytest.raises(TypeError, match="got None"):
        getattr(subscriber, signal)(None)
    assert subscriber.violations == ()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_rule_2_13_a_subscriber_that_takes_none_is_reported_and_the_caller_refused(
    signal: str,
) -> None:
    subscriber = guarded(broken.TakesNone())
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        getattr(subscriber, signal)(None)
    assert rules(subscriber) == ["2.13"]


def test_rule_2_13_none_has_to_be_refused_by_a_type_error() -> None:
    subscriber = guarded(broken.TripsOverNone())
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        subscriber.on_next(None)  # type: ignore[arg-type]
    assert rules(subscriber) == ["2.13"]


def test_none_is_refused_even_when_the_subscriber_is_gone() -> None:
    publisher: ByHand[int] = ByHand()
    subscriber = guarded(Recorder(asks_for=1))
    publisher.subscribe(subscriber)
    publisher.complete()
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        subscriber.on_next(None)  # type: ignore[arg-type]
    assert subscriber.violations == ()


def test_rule_3_09_an_illegal_request_is_reported_and_passed_on_to_be_answered() -> None:
    recorder = broken.RequestsNothing()
    subscriber = guarded(recorder)
    IterablePublisher([1]).subscribe(subscriber)
    assert isinstance(recorder.error, ValueError)
    assert rules(subscriber) == ["3.9"]


def test_rule_3_09_does_not_concern_a_subscription_that_is_cancelled() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder()
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    recorder.cancel()
    recorder.request(0)
    assert subscriber.violations == ()


def test_what_a_publisher_raises_in_request_and_cancel_does_not_reach_the_subscriber() -> None:
    def fail() -> None:
        raise OSError("closed")

    recorder: Recorder[int] = Recorder()
    subscriber = guarded(recorder)
    subscriber.on_subscribe(CallsBack(fail))
    with collect_undelivered() as lost:
        recorder.request(1)
        recorder.cancel()
    assert ["3.16" in lost[0].what, "3.15" in lost[1].what] == [True, True]
    assert subscriber.violations == ()


def test_elements_after_a_cancel_are_passed_on_as_they_come() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=3)
    publisher.subscribe(guarded(recorder))
    recorder.cancel()
    publisher.send(1)
    assert recorder.signals == ["on_subscribe", 1]


def test_nothing_is_passed_on_after_the_end() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=3)
    publisher.subscribe(guarded(recorder))
    publisher.complete()
    publisher.send(1)
    publisher.complete()
    publisher.fail(OSError())
    assert recorder.signals == ["on_subscribe", "on_complete"]


def test_a_subscription_that_comes_after_the_end_is_cancelled() -> None:
    publisher: ByHand[int] = ByHand()
    recorder: Recorder[int] = Recorder(asks_for=3)
    subscriber = guarded(recorder)
    publisher.subscribe(subscriber)
    publisher.complete()
    late = Calls()
    subscriber.on_subscribe(late)
    assert late.calls == ["cancel"]
    assert recorder.signals == ["on_subscribe", "on_complete"]


def test_a_stream_that_ends_within_on_subscribe_is_not_cancelled() -> None:
    recorder: Recorder[int] = Recorder(asks_for=1)
    subscriber = guarded(recorder)
    subscription = CallsBack(subscriber.on_complete)
    subscriber.on_subscribe(subscription)
    assert subscription.calls == [1]
    assert subscriber.violations == ()


def test_an_asynchronous_subscriber_keeps_all_rules_when_it_gets_two_subscriptions() -> None:
    class Sum(AsyncSubscriber[int]):
        total = 0

        def receive(self, element: int) -> bool:
            self.total += element
            return True

    time = VirtualTime()
    party = Sum(time)
    subscriber = guarded(party)
    IterablePublisher(range(5)).subscribe(subscriber)
    second = Calls()
    subscriber.on_subscribe(second)
    time.run()
    assert party.total == 10
    assert second.calls == ["cancel"]
    assert subscriber.violations == ()


class CallsWhileAnotherCallRuns(Recorder[int]):
    """In ``on_next(1)``, calls ``request`` while a thread that it started is inside of it."""

    def __init__(self, on_thread: Callable[[], None]) -> None:
        super().__init__()
        self.upstream = Meeting()
        self._on_thread = on_thread

    def on_next(self, element: int) -> None:
        super().on_next(element)
        if element == 2:
            self.request(2)
            return
        thread = threading.Thread(target=self._on_thread)
        thread.start()
        assert self.upstream.entered.wait(60)
        self.request(1)
        self.upstream.may_leave.set()
        thread.join()


class Meeting(Calls):
    """``request(2)`` waits inside until it may leave."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.may_leave = threading.Event()

    def request(self, n: int) -> None:
        super().request(n)
        if n == 2:
            self.entered.set()
            assert self.may_leave.wait(60)


class CallsBack(Calls):
    """A subscription that calls ``back`` before its methods return."""

    def __init__(self, back: Callable[[], None]) -> None:
        super().__init__()
        self._back = back
        self._is_calling_back = False

    def request(self, n: int) -> None:
        super().request(n)
        self._call_back()

    def cancel(self) -> None:
        super().cancel()
        self._call_back()

    def _call_back(self) -> None:
        if not self._is_calling_back:
            self._is_calling_back = True
            try:
                self._back()
            finally:
                self._is_calling_back = False


def on_another_thread(call: Callable[..., None], *arguments: int) -> None:
    thread = threading.Thread(target=call, args=arguments)
    thread.start()
    thread.join()
