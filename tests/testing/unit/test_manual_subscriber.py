"""``ManualSubscriber``: what it records, asserts and waits for, and how it judges a publisher."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from penstock import ExecutorPublisher, IterablePublisher, Subscription
from penstock.runtime import ThreadPool, VirtualTime
from penstock.testing import (
    ManualPublisher,
    ManualSubscriber,
    OnComplete,
    OnError,
    OnNext,
    OnSubscribe,
)


def driven(*, request: int = 0) -> tuple[ManualPublisher[int], ManualSubscriber[int]]:
    """A subscriber and a publisher that does anything."""
    publisher: ManualPublisher[int] = ManualPublisher(misbehave=True)
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=request)
    publisher.subscribe(subscriber)
    return publisher, subscriber


def failure_of(call: Callable[[], object]) -> str:
    with pytest.raises(AssertionError) as failure:
        call()
    return str(failure.value)


def test_it_asks_for_nothing_unless_told_to() -> None:
    publisher, subscriber = driven()
    assert publisher.requests == []
    subscriber.request(3)
    assert publisher.requests == [3]
    assert subscriber.outstanding == 3


def test_it_can_ask_for_elements_as_soon_as_it_is_subscribed() -> None:
    publisher, subscriber = driven(request=2)
    assert publisher.requests == [2]
    assert subscriber.outstanding == 2


def test_it_records_all_signals() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=5)
    IterablePublisher([1, 2]).subscribe(subscriber)
    assert subscriber.signals == (OnSubscribe(), OnNext(1), OnNext(2), OnComplete())
    assert subscriber.elements == [1, 2]
    assert subscriber.completed
    assert subscriber.ended
    assert subscriber.error is None


def test_it_records_the_error() -> None:
    publisher, subscriber = driven()
    error = OSError("gone")
    publisher.error(error)
    assert subscriber.error is error
    assert subscriber.signals[-1] == OnError(error)
    assert not subscriber.completed


def test_it_records_when_each_signal_came() -> None:
    time = VirtualTime(start=10.0)
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=5, time=time)
    publisher: ManualPublisher[str] = ManualPublisher()
    publisher.subscribe(subscriber)
    time.advance(2.5)
    publisher.next("a")
    assert [signal.at for signal in subscriber.signals] == [10.0, 12.5]


def test_it_cancels_when_told_to() -> None:
    publisher, subscriber = driven()
    subscriber.cancel()
    assert publisher.cancelled
    assert subscriber.cancelled


def test_close_cancels_only_a_stream_that_goes_on() -> None:
    going_on, subscriber = driven()
    subscriber.close()
    subscriber.close()
    assert str(subscriber.timeline).count("cancel()") == 1
    assert going_on.cancelled
    ended, other = driven()
    ended.complete()
    other.close()
    assert not ended.cancelled
    ManualSubscriber().close()


def test_before_on_subscribe_there_is_no_subscription_to_use() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    assert not subscriber.subscribed
    assert "on_subscribe has not come" in failure_of(lambda: subscriber.request(1))
    assert "on_subscribe has not come" in failure_of(subscriber.cancel)
    subscriber.assert_no_rule_broken()


def test_assert_elements_compares_all_elements_so_far() -> None:
    publisher, subscriber = driven(request=9)
    subscriber.assert_elements()
    publisher.next(1, 2)
    subscriber.assert_elements(1, 2)
    publisher.next(3)
    subscriber.assert_elements(1, 2, 3)


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ((1, 9, 3), "but [1, 2, 3] came: at index 1, 2 instead of 9"),
        ((1, 2, 3, 4, 5), "the first that is missing is 4"),
        ((1, 2), "the first too many is 3"),
    ],
)
def test_assert_elements_says_where_the_difference_begins(
    expected: tuple[int, ...], reason: str
) -> None:
    publisher, subscriber = driven(request=9)
    publisher.next(1, 2, 3)
    assert reason in failure_of(lambda: subscriber.assert_elements(*expected))


def test_a_failed_assertion_prints_the_whole_timeline() -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=2, time=time)
    IterablePublisher(["a"]).subscribe(subscriber)
    assert failure_of(lambda: subscriber.assert_elements("b")) == (
        "expected the elements ['b'], but ['a'] came: at index 0, 'a' instead of 'b'\n"
        "\n"
        "Signals:\n"
        "    1  0.000 s  MainThread  on_subscribe()\n"
        "    2  0.000 s  MainThread  request(2)\n"
        "    3  0.000 s  MainThread  on_next('a')\n"
        "    4  0.000 s  MainThread  on_complete()"
    )


def test_assert_completed_tells_other_ends_and_no_end_apart() -> None:
    publisher, subscriber = driven(request=2)
    publisher.next(1)
    assert "but the stream goes on (2 requested, 1 came)" in failure_of(subscriber.assert_completed)
    publisher.error(ValueError("dry"))
    assert "ended with on_error(ValueError('dry'))" in failure_of(subscriber.assert_completed)
    assert "has not begun" in failure_of(ManualSubscriber().assert_completed)
    publisher, subscriber = driven()
    publisher.complete()
    subscriber.assert_completed()


def test_assert_failed_compares_type_and_text() -> None:
    publisher, subscriber = driven()
    publisher.error(ValueError("level 7 is too high"))
    subscriber.assert_failed()
    subscriber.assert_failed(ValueError)
    subscriber.assert_failed((OSError, ValueError), match=r"level \d")
    assert "expected on_error(OSError), but" in failure_of(
        lambda: subscriber.assert_failed(OSError)
    )
    assert "expected on_error(ValueError, match='low'), but" in failure_of(
        lambda: subscriber.assert_failed(ValueError, match="low")
    )


def test_assert_failed_is_not_met_by_a_completion() -> None:
    publisher, subscriber = driven()
    publisher.complete()
    assert "ended with on_complete()" in failure_of(subscriber.assert_failed)


def test_assert_not_ended_fails_at_either_end() -> None:
    publisher, subscriber = driven()
    subscriber.assert_not_ended()
    publisher.complete()
    assert "goes on, but it ended with on_complete()" in failure_of(subscriber.assert_not_ended)


def test_assert_nothing_more_counts_from_the_last_assertion() -> None:
    publisher, subscriber = driven(request=9)
    subscriber.assert_nothing_more()
    publisher.next(1)
    subscriber.assert_elements(1)
    subscriber.assert_nothing_more()
    publisher.next(2)
    publisher.complete()
    assert "expected no more signals, but on_next(2), on_complete() came" in failure_of(
        subscriber.assert_nothing_more
    )


def test_a_failed_assertion_does_not_count_as_a_check() -> None:
    publisher, subscriber = driven(request=9)
    publisher.next(1)
    failure_of(lambda: subscriber.assert_elements(2))
    assert "on_next(1) came" in failure_of(subscriber.assert_nothing_more)


@pytest.mark.parametrize(
    ("rule", "misbehaviour", "detail"),
    [
        (
            "1.1",
            lambda it: it.next(1, 2),
            "sent element number 2, beyond a demand of 1: on_next(2)",
        ),
        (
            "1.7",
            lambda it: (it.complete(), it.next(1)),
            "called on_next after on_complete: on_next(1)",
        ),
        (
            "1.7",
            lambda it: (it.error(OSError()), it.complete()),
            "called on_complete after on_error: on_complete()",
        ),
    ],
)
def test_a_publisher_that_breaks_a_rule_is_told_which(
    rule: str, misbehaviour: Callable[[ManualPublisher[int]], object], detail: str
) -> None:
    publisher, subscriber = driven(request=1)
    misbehaviour(publisher)
    assert [broken.rule.number for broken in subscriber.violations] == [rule]
    failure = failure_of(subscriber.assert_no_rule_broken)
    assert f"the publisher broke rule {rule}: {detail}" in failure
    assert f"<- breaks rule {rule}" in failure


def test_rule_1_09_a_signal_before_on_subscribe_is_noticed() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    subscriber.on_complete()
    assert "rule 1.9: called on_complete before on_subscribe" in failure_of(
        subscriber.assert_no_rule_broken
    )


def test_rule_2_05_a_second_subscription_is_noticed_and_cancelled() -> None:
    publisher, subscriber = driven()
    publisher.subscribe(subscriber)
    assert [each.cancelled for each in publisher.subscriptions] == [False, True]
    assert [broken.rule.number for broken in subscriber.violations] == ["2.12"]
    publisher.subscriptions[0].complete()
    subscriber.assert_completed()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_rule_2_13_none_raises_and_is_noticed(signal: str) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        getattr(subscriber, signal)(None)
    assert f"rule 2.13: {signal} got None" in failure_of(subscriber.assert_no_rule_broken)
    assert subscriber.signals == ()


class Raising:
    """A subscription that breaks rules 3.15 and 3.16."""

    def request(self, n: int) -> None:
        raise ArithmeticError("no request")

    def cancel(self) -> None:
        raise ArithmeticError("no cancel")


def test_a_subscription_that_raises_is_noticed_and_the_test_sees_the_error() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    subscriber.on_subscribe(Raising())
    with pytest.raises(ArithmeticError, match="no request"):
        subscriber.request(1)
    with pytest.raises(ArithmeticError, match="no cancel"):
        subscriber.cancel()
    assert [broken.rule.number for broken in subscriber.violations] == ["3.16", "3.15"]
    assert "request(1) raised ArithmeticError('no request')  <- breaks rule 3.16" in str(
        subscriber.timeline
    )


def test_rule_2_13_on_subscribe_returns_normally_even_if_the_subscription_raises() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    subscriber.on_subscribe(Raising())
    subscriber.on_subscribe(Raising())
    assert [broken.rule.number for broken in subscriber.violations] == ["3.16", "2.12", "3.15"]


def test_requests_that_have_no_effect_do_not_excuse_an_element() -> None:
    publisher, subscriber = driven()
    subscriber.request(0)
    subscriber.cancel()
    subscriber.request(1)
    publisher.next(1)
    assert [broken.rule.number for broken in subscriber.violations] == ["1.1"]


def test_it_waits_for_a_publisher_on_another_thread() -> None:
    with ThreadPool() as pool:
        subscriber: ManualSubscriber[int] = ManualSubscriber()
        ExecutorPublisher(range(5), pool).subscribe(subscriber)
        subscriber.await_subscription()
        subscriber.request(3)
        subscriber.await_elements(3)
        subscriber.assert_elements(0, 1, 2)
        subscriber.request(3)
        subscriber.await_end()
    subscriber.assert_elements(0, 1, 2, 3, 4)
    subscriber.assert_completed()
    subscriber.assert_no_rule_broken()


def test_a_wait_in_vain_says_how_the_stream_stands() -> None:
    publisher, subscriber = driven(request=3)
    publisher.next(1)
    assert (
        "expected 2 elements within 0 s, but the stream goes on (3 requested, 1 came)"
        in failure_of(lambda: subscriber.await_elements(2, timeout=0))
    )
    assert "expected the end within 0 s, but the stream goes on" in failure_of(
        lambda: subscriber.await_end(timeout=0)
    )
    assert "on_subscribe() has not come within 0 s" in failure_of(
        lambda: ManualSubscriber().await_subscription(timeout=0)
    )


def test_waiting_for_elements_is_over_when_the_stream_is() -> None:
    with ThreadPool() as pool:
        subscriber: ManualSubscriber[int] = ManualSubscriber(request=5)
        ExecutorPublisher([1], pool).subscribe(subscriber)
        failure = failure_of(lambda: subscriber.await_elements(2, timeout=600))
    assert "but the stream ended with on_complete() (5 requested, 1 came)" in failure


def test_signals_from_many_threads_are_all_recorded() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()

    class Endless:
        def request(self, n: int) -> None:
            """Nothing to do: the threads started further down send unasked."""

        def cancel(self) -> None:
            """Nothing to do."""

    subscription: Subscription = Endless()
    subscriber.on_subscribe(subscription)
    subscriber.request(400)
    with ThreadPool(4) as pool:
        for element in range(400):
            pool.execute(partial(subscriber.on_next, element))
    assert sorted(subscriber.elements) == list(range(400))
    subscriber.assert_no_rule_broken()


def test_options_that_make_no_sense_are_refused_by_name() -> None:
    text: Any = "text"
    interrupt: Any = KeyboardInterrupt
    _, subscriber = driven()
    with pytest.raises(ValueError, match="request must be at least 0, not -1"):
        ManualSubscriber(request=-1)
    with pytest.raises(TypeError, match="request must be an int of at least 0, not 'text'"):
        ManualSubscriber(request=text)
    with pytest.raises(TypeError, match=r"needs a clock, .* not 'text'"):
        ManualSubscriber(time=text)
    with pytest.raises(TypeError, match="timeout must be seconds or a timedelta, not 'text'"):
        subscriber.await_end(timeout=text)
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        subscriber.await_elements(0)
    with pytest.raises(TypeError, match=r"a subclass of Exception, .* not <class 'KeyboardInt"):
        subscriber.assert_failed(interrupt)
    with pytest.raises(ValueError, match=r"'\(' is none: .*; re\.escape takes a text as it is"):
        subscriber.assert_failed(match="(")
