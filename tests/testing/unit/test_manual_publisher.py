"""``ManualPublisher``: what it lets a test do, see and wait for, and what it refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import UNBOUNDED, AsyncSubscriber, SyncSubscriber
from penstock.runtime import ThreadPool, VirtualTime
from penstock.testing import ManualPublisher, ManualSubscriber, OnComplete, OnNext, OnSubscribe


class Numbers(SyncSubscriber[int]):
    """Wants another number until it gets a zero."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[int] = []

    def receive(self, element: int) -> bool:
        self.received.append(element)
        return element != 0


class Background(AsyncSubscriber[int]):
    """The same on an executor."""

    def receive(self, element: int) -> bool:
        return element != 0


def subscribed(
    *, request: int = 0, misbehave: bool = False
) -> tuple[ManualPublisher[int], ManualSubscriber[int]]:
    publisher: ManualPublisher[int] = ManualPublisher(misbehave=misbehave)
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=request)
    publisher.subscribe(subscriber)
    return publisher, subscriber


def test_what_the_test_sends_reaches_the_subscriber_in_order() -> None:
    publisher, subscriber = subscribed(request=3)
    publisher.next(1, 2)
    publisher.next(3)
    publisher.complete()
    assert subscriber.signals == (
        OnSubscribe(),
        OnNext(1),
        OnNext(2),
        OnNext(3),
        OnComplete(),
    )


def test_the_error_reaches_the_subscriber() -> None:
    publisher, subscriber = subscribed()
    error = ValueError("burst")
    publisher.error(error)
    assert subscriber.error is error


def test_it_shows_what_the_subscriber_asked_for() -> None:
    publisher, subscriber = subscribed(request=2)
    subscriber.request(3)
    publisher.next(1)
    assert publisher.requests == [2, 3]
    assert (publisher.requested, publisher.outstanding) == (5, 4)


def test_before_a_subscriber_comes_nothing_was_asked_for() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    assert not publisher.subscribed
    assert not publisher.cancelled
    assert (publisher.requests, publisher.requested, publisher.outstanding) == ([], 0, 0)
    with pytest.raises(AssertionError, match="nobody has subscribed"):
        publisher.next(1)


def test_unbounded_demand_stays_unbounded() -> None:
    publisher, _ = subscribed(request=UNBOUNDED)
    publisher.next(1)
    assert publisher.requested == publisher.outstanding == UNBOUNDED


def test_a_real_subscriber_can_be_driven_one_element_at_a_time() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber = Numbers()
    publisher.subscribe(subscriber)
    publisher.next(3, 2, 1)
    assert publisher.requests == [1, 1, 1, 1]
    publisher.next(0)
    assert publisher.cancelled
    assert subscriber.received == [3, 2, 1, 0]


def test_it_refuses_to_exceed_the_demand_and_names_rule_1_1() -> None:
    publisher, subscriber = subscribed(request=2)
    with pytest.raises(AssertionError) as refusal:
        publisher.next(1, 2, 3)
    assert "next(3) would exceed the demand: 2 requested, 2 sent (rule 1.1" in str(refusal.value)
    assert "on_next(2)" in str(refusal.value)  # the timeline
    subscriber.assert_elements(1, 2)


SENDINGS: dict[str, Callable[[ManualPublisher[int]], None]] = {
    "next(9)": lambda publisher: publisher.next(9),
    "complete()": lambda publisher: publisher.complete(),
    "error(OSError('burst'))": lambda publisher: publisher.error(OSError("burst")),
}


@pytest.mark.parametrize("late", SENDINGS)
@pytest.mark.parametrize("end", ["complete()", "error(OSError('burst'))"])
def test_it_refuses_to_signal_after_the_end_and_names_rule_1_7(late: str, end: str) -> None:
    publisher, subscriber = subscribed(request=5)
    SENDINGS[end](publisher)
    signals_before = subscriber.signals
    with pytest.raises(AssertionError) as refusal:
        SENDINGS[late](publisher)
    assert f"{late} would follow on_{end} (rule 1.7" in str(refusal.value)
    assert subscriber.signals == signals_before


def test_it_refuses_what_is_no_element_and_no_error() -> None:
    publisher, _ = subscribed(request=1)
    nothing: Any = None
    text: Any = "text"
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        publisher.next(nothing)
    with pytest.raises(TypeError, match="an exception, not 'text'"):
        publisher.error(text)
    assert publisher.outstanding == 1


def test_on_purpose_it_sends_whatever_the_test_says() -> None:
    publisher, subscriber = subscribed(misbehave=True)
    publisher.next(1)
    publisher.complete()
    publisher.next(2)
    publisher.complete()
    assert subscriber.signals[1:] == (OnNext(1), OnComplete(), OnNext(2), OnComplete())
    assert [broken.rule.number for broken in subscriber.violations] == ["1.1", "1.7", "1.7"]


def test_sending_without_demand_on_purpose_does_not_spoil_the_count() -> None:
    publisher, subscriber = subscribed(misbehave=True)
    publisher.next(1)
    subscriber.request(2)
    assert (publisher.requested, publisher.outstanding) == (2, 2)


def test_an_element_may_be_on_its_way_when_the_subscriber_cancels() -> None:
    publisher, subscriber = subscribed(request=1)
    subscriber.cancel()
    publisher.next(1)
    subscriber.assert_elements(1)
    subscriber.assert_no_rule_broken()


@pytest.mark.parametrize("n", [0, -1])
def test_rule_3_09_an_illegal_request_is_answered_by_an_error(n: int) -> None:
    publisher, subscriber = subscribed()
    subscriber.request(n)
    subscriber.assert_failed(ValueError, match="rule 3.9")
    assert (publisher.requests, publisher.requested) == ([n], 0)


def test_rule_3_09_is_ignored_on_purpose() -> None:
    publisher, subscriber = subscribed(misbehave=True)
    subscriber.request(0)
    subscriber.assert_not_ended()
    assert publisher.requests == [0]


def test_requests_after_the_end_are_seen_but_do_not_count() -> None:
    publisher, subscriber = subscribed()
    subscriber.cancel()
    subscriber.request(1)
    subscriber.request(0)
    assert (publisher.requests, publisher.requested) == ([1, 0], 0)
    subscriber.assert_not_ended()


def test_what_the_subscriber_raises_comes_out_where_the_test_sends() -> None:
    class Brittle(ManualSubscriber[int]):
        def on_next(self, element: int) -> None:
            raise ArithmeticError("brittle")

    publisher: ManualPublisher[int] = ManualPublisher()
    publisher.subscribe(Brittle(request=1))
    with pytest.raises(ArithmeticError, match="brittle"):
        publisher.next(1)


def test_all_members_speak_of_the_latest_subscriber_and_the_others_stay_in_reach() -> None:
    publisher, first = subscribed(request=1)
    second: ManualSubscriber[int] = ManualSubscriber(request=2)
    publisher.subscribe(second)
    publisher.next(20)
    assert publisher.requested == 2
    publisher.subscriptions[0].next(10)
    assert publisher.subscriptions[0].requested == 1
    first.assert_elements(10)
    second.assert_elements(20)


def test_rule_1_09_none_is_no_subscriber() -> None:
    nobody: Any = None
    with pytest.raises(TypeError, match=r"rule 1\.9"):
        ManualPublisher[int]().subscribe(nobody)


def test_a_test_can_wait_for_a_subscriber_on_another_thread() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    with ThreadPool() as pool:
        subscriber = Background(pool, prefetch=4)
        publisher.subscribe(subscriber)
        publisher.await_requested(4)
        publisher.next(1, 2, 0)
        publisher.await_cancelled()
    assert publisher.cancelled


def test_a_test_can_wait_until_somebody_subscribes() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    with ThreadPool() as pool:
        pool.execute(lambda: publisher.subscribe(ManualSubscriber(request=1)))
        pool.execute(lambda: publisher.subscribe(ManualSubscriber(request=2)))
        publisher.await_subscriber(2)
        assert [each.requested for each in publisher.subscriptions] == [1, 2]


def test_a_wait_is_over_as_soon_as_its_reason_is() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    waiting = [threading.Event() for _ in range(3)]
    with ThreadPool() as pool:
        pool.execute(lambda: waiting[0].wait(600) and publisher.subscribe(subscriber))
        pool.execute(lambda: waiting[1].wait(600) and subscriber.request(1))
        pool.execute(lambda: waiting[2].wait(600) and subscriber.cancel())
        waiting[0].set()
        publisher.await_subscriber(timeout=600)
        waiting[1].set()
        publisher.await_requested(1, timeout=600)
        waiting[2].set()
        publisher.await_cancelled(timeout=600)


def test_a_failure_prints_all_calls_in_both_directions() -> None:
    time = VirtualTime()
    publisher: ManualPublisher[int] = ManualPublisher(time=time)
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    publisher.subscribe(subscriber)
    publisher.next(1)
    subscriber.cancel()
    publisher.complete()
    with pytest.raises(AssertionError) as refusal:
        publisher.next(2)
    assert str(refusal.value) == (
        "next(2) would follow on_complete() (rule 1.7: nothing follows on_error or on_complete).\n"
        "ManualPublisher(misbehave=True) sends it all the same.\n"
        "\n"
        "Signals:\n"
        "    1  0.000 s  MainThread  on_subscribe()\n"
        "    2  0.000 s  MainThread  request(2)\n"
        "    3  0.000 s  MainThread  on_next(1)\n"
        "    4  0.000 s  MainThread  cancel()\n"
        "    5  0.000 s  MainThread  on_complete()"
    )
    failed, _ = subscribed()
    failed.error(OSError("burst"))
    assert str(failed.subscription.timeline).endswith("on_error(OSError('burst'))")


def test_a_wait_in_vain_says_what_was_there_instead() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    with pytest.raises(AssertionError, match="waited 0 s for a subscriber, but 0 came"):
        publisher.await_subscriber(timeout=0)
    publisher.subscribe(ManualSubscriber(request=2))
    with pytest.raises(AssertionError, match="for 2 subscribers, but 1 came"):
        publisher.await_subscriber(2, timeout=0)
    with pytest.raises(AssertionError, match="for 3 elements to be requested, but 2 were"):
        publisher.await_requested(3, timeout=0)
    with pytest.raises(AssertionError, match=r"for a cancel, but none came(.|\n)*request\(2\)"):
        publisher.await_cancelled(timeout=0)


def test_options_that_make_no_sense_are_refused_by_name() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    number: Any = 3
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        publisher.await_subscriber(0)
    with pytest.raises(ValueError, match="total must be at least 1, not 0"):
        publisher.await_requested(0)
    with pytest.raises(ValueError, match="timeout must be 0 seconds or more, not -1"):
        publisher.await_cancelled(timeout=-1)
    with pytest.raises(TypeError, match=r"needs a clock, such as VirtualTime\(\), .* not 3"):
        ManualPublisher(time=number)
