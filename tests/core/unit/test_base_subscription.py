"""The publisher's end: what goes out, in which order, and what the subscriber can do."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

from penstock.api import UNBOUNDED, Subscription
from penstock.core import BaseSubscription
from penstock.examples import IterablePublisher
from penstock.rules import cite
from penstock.runtime import Undelivered, collect_undelivered, set_undelivered_hook
from tests.core.unit.parties import Elements, LockWatch, RecordingSubscriber, cancel, interrupted
from tests.runtime.unit.threads import LIMIT, frequent_switches, run_together, running

INTERRUPTS = [KeyboardInterrupt, SystemExit]
SIGNALS = ["on_subscribe", "on_next", "on_error", "on_complete"]


def opened(
    *elements: object, **at: Callable[[], object]
) -> tuple[Elements[object], RecordingSubscriber]:
    """A stream of the elements, of which nothing was requested yet."""
    subscriber = RecordingSubscriber(**at)
    stream = Elements(elements, subscriber)
    stream.wake()
    return stream, subscriber


def breaking_after(*elements: object) -> Iterator[object]:
    yield from elements
    raise ValueError("the source broke")


# The order of signals.


def test_rule_1_9_on_subscribe_comes_first_and_alone() -> None:
    stream, subscriber = opened(1, 2)
    assert subscriber.signals == ["on_subscribe"]
    assert subscriber.subscription is stream


def test_rule_1_1_never_more_elements_than_requested() -> None:
    stream, subscriber = opened(*"abcdef")
    stream.request(1)
    assert subscriber.signals == ["on_subscribe", "a"]
    stream.request(3)
    assert subscriber.signals == ["on_subscribe", *"abcd"]


def test_rule_1_5_completion_follows_the_last_element() -> None:
    stream, subscriber = opened(1, 2)
    stream.request(10)
    assert subscriber.signals == ["on_subscribe", 1, 2, "on_complete"]
    assert stream.released == 1


def test_rule_3_8_requests_from_within_on_next_add_up() -> None:
    def request_two() -> None:
        stream.request(2)

    stream, subscriber = opened(*range(20), on_next=request_two)
    stream.request(1)
    assert subscriber.signals == ["on_subscribe", *range(20), "on_complete"]


def test_a_request_from_within_on_subscribe_is_served_after_it_returned() -> None:
    log: list[object] = []

    class Eager:
        def on_subscribe(self, subscription: Subscription) -> None:
            log.append("on_subscribe begins")
            subscription.request(1)
            log.append("on_subscribe ends")

        def on_next(self, element: object) -> None:
            log.append(element)

        def on_error(self, error: Exception) -> None:
            log.append(error)

        def on_complete(self) -> None:
            log.append("on_complete")

    Elements("ab", Eager()).wake()
    assert log == ["on_subscribe begins", "on_subscribe ends", "a"]


def test_rule_3_3_ten_thousand_requests_from_within_on_next_do_not_grow_the_stack() -> None:
    depths: set[int] = set()

    def request_one() -> None:
        depths.add(stack_depth())
        stream.request(1)

    stream, subscriber = opened(*range(10_000), on_next=request_one)
    stream.request(1)
    assert subscriber.signals[-1] == "on_complete"
    assert len(depths) == 1


def test_rule_3_17_demand_without_limit_is_served_to_the_end() -> None:
    stream, subscriber = opened(*range(100))
    stream.request(UNBOUNDED)
    stream.request(UNBOUNDED)
    assert subscriber.signals == ["on_subscribe", *range(100), "on_complete"]


def test_rule_1_4_an_error_of_the_source_follows_the_elements_before_it() -> None:
    subscriber = RecordingSubscriber()
    stream = Elements(breaking_after(1, 2), subscriber)
    stream.wake()
    stream.request(5)
    assert subscriber.signals[:-1] == ["on_subscribe", 1, 2]
    assert str(subscriber.error) == "the source broke"
    assert stream.demand.delivered == 2
    assert stream.released == 1


def test_the_error_that_is_signalled_begins_with_the_users_code() -> None:
    subscriber = RecordingSubscriber(on_subscribe=lambda: subscriber.subscription.request(5))
    IterablePublisher(breaking_after(1)).subscribe(subscriber)
    frames = traceback.extract_tb(subscriber.error.__traceback__)
    assert [frame.name for frame in frames] == ["breaking_after"]


def test_rule_1_7_nothing_follows_a_terminal_signal() -> None:
    stream, subscriber = opened()
    stream.request(1)
    stream.request(1)
    stream.request(0)
    stream.fail_soon(ValueError("late"))
    stream.cancel()
    stream.wake()
    assert subscriber.signals == ["on_subscribe", "on_complete"]
    assert stream.released == 1


def test_a_second_end_from_within_the_drain_is_ignored() -> None:
    class EndsTwice(BaseSubscription[int]):
        def _serve(self) -> None:
            self._complete()
            self._fail(ValueError("second"))
            self._complete()
            self._emit([1])

    subscriber = RecordingSubscriber()
    with collect_undelivered() as lost:
        EndsTwice(subscriber).wake()
    assert subscriber.signals == ["on_subscribe", "on_complete"]
    assert [str(each.error) for each in lost] == ["second"]


def test_an_illegal_request_goes_ahead_of_an_error_of_the_source() -> None:
    class AsksWronglyAndFails(BaseSubscription[int]):
        def _serve(self) -> None:
            self.request(0)
            self._fail(LookupError("of the source"))

    subscriber = RecordingSubscriber()
    AsksWronglyAndFails(subscriber).wake()
    assert len(subscriber.signals) == 2
    assert type(subscriber.error) is ValueError


def test_an_element_that_is_none_is_a_type_error_with_its_number() -> None:
    stream, subscriber = opened("a", "b", "c", None, "d")
    stream.request(2)
    stream.request(5)
    assert subscriber.signals[:-1] == ["on_subscribe", "a", "b", "c"]
    assert type(subscriber.error) is TypeError
    assert str(subscriber.error) == cite("2.13", "element 3 is None")


def test_falsy_elements_are_elements() -> None:
    elements = [0, "", False, 0.0, ()]
    stream, subscriber = opened(*elements)
    stream.request(5)
    assert subscriber.signals == ["on_subscribe", *elements]


# Illegal requests.


@pytest.mark.parametrize("n", [0, -1, -(2**63)])
def test_rule_3_9_a_request_below_one_is_answered_by_a_value_error(n: int) -> None:
    stream, subscriber = opened(1, 2)
    stream.request(n)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert type(subscriber.error) is ValueError
    assert f"request({n})" in str(subscriber.error)
    assert "rule 3.9" in str(subscriber.error)
    assert stream.released == 1


@pytest.mark.parametrize("n", [True, 1.0, "1", None])
def test_rule_3_9_a_request_of_no_int_is_answered_by_a_type_error(n: Any) -> None:
    stream, subscriber = opened(1, 2)
    stream.request(n)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert type(subscriber.error) is TypeError
    assert f"request({n!r})" in str(subscriber.error)
    assert "rule 3.9" in str(subscriber.error)


class BadRepr:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise KeyError("of the repr")


@pytest.mark.parametrize("n", [-(10**5_000), BadRepr()], ids=["too long", "without a repr"])
def test_rule_3_16_a_request_that_cannot_be_shown_is_answered_and_raises_nothing(n: Any) -> None:
    stream, subscriber = opened(1, 2)
    stream.request(n)
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert "rule 3.9" in str(subscriber.error)
    assert stream.released == 1


def test_rule_3_9_an_illegal_request_from_within_on_next_stops_the_elements() -> None:
    stream, subscriber = opened(*"abc", on_next=lambda: stream.request(-1))
    stream.request(3)
    assert subscriber.signals[:-1] == ["on_subscribe", "a"]
    assert type(subscriber.error) is ValueError


def test_rule_3_9_an_illegal_request_from_within_on_subscribe_follows_it() -> None:
    subscriber = RecordingSubscriber(on_subscribe=lambda: subscriber.subscription.request(0))
    Elements("ab", subscriber).wake()
    assert subscriber.signals[:-1] == ["on_subscribe"]
    assert type(subscriber.error) is ValueError


def test_rule_3_9_illegal_requests_from_many_threads_are_answered_once() -> None:
    stream, subscriber = opened(1)
    with frequent_switches():
        run_together(*[lambda: stream.request(0)] * 4)
    assert len(subscriber.signals) == 2
    assert type(subscriber.error) is ValueError


@pytest.mark.parametrize("n", [1, 0, "nonsense"])
def test_rule_3_6_a_request_after_cancel_does_nothing_whatever_it_asks(n: Any) -> None:
    stream, subscriber = opened(1, 2)
    stream.cancel()
    stream.request(n)
    assert subscriber.signals == ["on_subscribe"]
    assert stream.demand.requested == 0


# Cancelling.


def test_rule_3_7_cancelling_again_does_nothing() -> None:
    stream, subscriber = opened(1, 2)
    stream.cancel()
    stream.cancel()
    assert subscriber.signals == ["on_subscribe"]
    assert stream.released == 1


def test_rule_3_12_cancelling_from_within_on_next_stops_at_that_element() -> None:
    stream, subscriber = opened(*"abcdef", on_next=lambda: cancel(subscriber))
    stream.request(6)
    assert subscriber.signals == ["on_subscribe", "a"]
    assert stream.emitted == [0, 1]
    assert stream.demand.delivered == 1
    assert stream.released == 1


def test_cancelling_from_within_on_subscribe_stops_before_the_first_element() -> None:
    subscriber = RecordingSubscriber(on_subscribe=lambda: request_and_cancel(subscriber))
    stream = Elements("ab", subscriber)
    stream.wake()
    assert subscriber.signals == ["on_subscribe"]
    assert stream.released == 1


def test_cancelling_while_another_thread_sends_stops_after_that_element() -> None:
    sending, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        sending.set()
        assert go_on.wait(LIMIT)

    stream, subscriber = opened(*"abc", on_next=wait)
    with running(lambda: stream.request(3)):
        assert sending.wait(LIMIT)
        stream.cancel()
        assert stream.released == 0, "the source is in use on the other thread"
        go_on.set()
    assert subscriber.signals == ["on_subscribe", "a"]
    assert stream.released == 1


def test_rule_3_5_many_threads_that_cancel_release_the_source_once() -> None:
    for _ in range(50):
        stream, subscriber = opened(1)
        with frequent_switches():
            run_together(stream.cancel, stream.cancel, stream.cancel)
        assert stream.released == 1
        assert subscriber.signals == ["on_subscribe"]


def test_rule_3_15_a_source_that_cannot_be_closed_is_reported_and_cancel_returns() -> None:
    error = OSError("cannot close")
    subscriber = RecordingSubscriber()
    stream = Elements("ab", subscriber, at_release=raising(error))
    stream.wake()
    with collect_undelivered() as lost:
        stream.cancel()
        stream.cancel()
    assert lost == [Undelivered(error, cite("3.15", "closing the source of a stream raised"))]


def test_an_error_of_the_source_after_the_subscriber_cancelled_goes_to_the_hook() -> None:
    error = ValueError("the source broke")

    class BreaksOnCancel(BaseSubscription[int]):
        def _serve(self) -> None:
            self.cancel()
            self._fail(error)

    subscriber = RecordingSubscriber()
    with collect_undelivered() as lost:
        BreaksOnCancel(subscriber).wake()
    assert subscriber.signals == ["on_subscribe"]
    assert lost == [Undelivered(error, "a stream failed after its subscriber had ended it")]


def test_a_source_is_released_only_after_the_terminal_signal() -> None:
    log: list[str] = []
    subscriber = RecordingSubscriber(on_complete=lambda: log.append("completed"))
    stream = Elements("", subscriber, at_release=lambda: log.append("released"))
    stream.wake()
    stream.request(1)
    assert log == ["completed", "released"]


# Failures that come from outside the drain.


def test_a_failure_goes_ahead_of_elements_that_are_still_to_come() -> None:
    stream, subscriber = opened(1, 2, 3)
    stream.request(1)
    error = ValueError("from upstream")
    stream.fail_soon(error)
    stream.request(2)
    assert subscriber.signals == ["on_subscribe", 1, error]


def test_a_failure_before_the_first_wake_still_comes_after_on_subscribe() -> None:
    subscriber = RecordingSubscriber()
    stream = Elements("ab", subscriber)
    error = ValueError("from upstream")
    stream.fail_soon(error)
    assert subscriber.signals == ["on_subscribe", error]


def test_a_failure_needs_no_demand() -> None:
    stream, subscriber = opened(1)
    error = ValueError("from upstream")
    stream.fail_soon(error)
    assert subscriber.signals == ["on_subscribe", error]
    assert stream.released == 1


def test_only_the_first_failure_is_signalled() -> None:
    stream, subscriber = opened(1)
    first = ValueError("first")
    assert stream.fail_soon(first)
    assert not stream.fail_soon(ValueError("second"))
    assert subscriber.signals == ["on_subscribe", first]


def test_a_failure_after_cancel_is_not_signalled() -> None:
    stream, subscriber = opened(1)
    stream.cancel()
    assert not stream.fail_soon(ValueError("late"))
    assert subscriber.signals == ["on_subscribe"]


def test_a_failure_while_another_thread_sends_comes_after_that_element() -> None:
    sending, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        sending.set()
        assert go_on.wait(LIMIT)

    stream, subscriber = opened(*"abc", on_next=wait)
    error = ValueError("from upstream")
    with running(lambda: stream.request(3)):
        assert sending.wait(LIMIT)
        stream.fail_soon(error)
        go_on.set()
    assert subscriber.signals == ["on_subscribe", "a", error]


# Subscribers that raise.


@pytest.mark.parametrize(
    ("signal", "seen"),
    [
        ("on_subscribe", ["on_subscribe"]),
        ("on_next", ["on_subscribe", 1]),
        ("on_complete", ["on_subscribe", 1, "on_complete"]),
    ],
)
def test_rule_2_13_a_subscriber_that_raises_is_cancelled_and_reported_once(
    signal: str, seen: list[object]
) -> None:
    error = ValueError("of the subscriber")
    subscriber = RecordingSubscriber(**{signal: raising(error)})
    stream = Elements([1], subscriber)
    with collect_undelivered() as lost:
        stream.wake()
        stream.request(5)
        stream.request(5)
        stream.cancel()
    assert lost == [Undelivered(error, cite("2.13", f"{signal} of a subscriber raised"))]
    assert subscriber.signals == seen
    assert stream.released == 1


def test_rule_2_13_an_on_error_that_raises_is_reported_once() -> None:
    error = ValueError("of the subscriber")
    stream, subscriber = opened(1, on_error=raising(error))
    with collect_undelivered() as lost:
        stream.request(0)
        stream.request(1)
        stream.cancel()
    assert lost == [Undelivered(error, cite("2.13", "on_error of a subscriber raised"))]
    assert len(subscriber.signals) == 2
    assert stream.released == 1


def test_an_element_whose_on_next_raised_counts_as_delivered() -> None:
    stream, _ = opened(*"abc", on_next=raising(ValueError("of the subscriber")))
    with collect_undelivered():
        stream.request(3)
    assert stream.demand.delivered == 1


@pytest.mark.parametrize("kind", INTERRUPTS)
@pytest.mark.parametrize("signal", SIGNALS)
def test_an_interrupt_in_a_signal_passes_through_and_ends_the_stream(
    signal: str, kind: type[BaseException]
) -> None:
    source: Iterator[object] = breaking_after(1) if signal == "on_error" else iter([1])
    subscriber = RecordingSubscriber(**{signal: raising(kind())})
    stream = Elements(source, subscriber)
    with collect_undelivered() as lost:
        with pytest.raises(kind):
            wake_and_request(stream)
        seen = len(subscriber.signals)
        stream.request(5)
        stream.cancel()
    assert lost == []
    assert len(subscriber.signals) == seen
    assert stream.released == 1


@pytest.mark.parametrize("kind", INTERRUPTS)
def test_an_interrupt_in_the_source_passes_through_and_ends_the_stream(
    kind: type[BaseException],
) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise kind

    subscriber = RecordingSubscriber()
    stream = Elements(source(), subscriber)
    stream.wake()
    with pytest.raises(kind):
        stream.request(5)
    stream.request(5)
    assert subscriber.signals == ["on_subscribe", 1]
    assert stream.released == 1


# References.


def end_by_cancel(stream: Elements[int]) -> None:
    stream.cancel()


def end_by_completion(stream: Elements[int]) -> None:
    stream.request(10)


def end_by_failure(stream: Elements[int]) -> None:
    stream.fail_soon(ValueError("from upstream"))


def end_by_illegal_request(stream: Elements[int]) -> None:
    stream.request(0)


@pytest.mark.parametrize(
    "end", [end_by_cancel, end_by_completion, end_by_failure, end_by_illegal_request]
)
def test_rule_3_13_no_reference_to_the_subscriber_is_kept_after_the_end(
    end: Callable[[Elements[int]], None],
) -> None:
    subscriber = RecordingSubscriber()
    stream = Elements([1, 2], subscriber)
    stream.wake()
    end(stream)
    reference = weakref.ref(subscriber)
    del subscriber
    gc.collect()
    assert reference() is None


def test_rule_3_13_none_is_kept_either_of_a_subscriber_that_raised() -> None:
    subscriber = RecordingSubscriber(on_next=raising(ValueError("of the subscriber")))
    stream = Elements([1, 2], subscriber)
    with collect_undelivered():
        stream.wake()
        stream.request(1)
    reference = weakref.ref(subscriber)
    del subscriber
    gc.collect()
    assert reference() is None


# Threads and locks.


def test_rule_1_3_requests_from_many_threads_lead_to_one_signal_at_a_time() -> None:
    inside = 0
    overlaps = 0

    def enter_and_leave() -> None:
        nonlocal inside, overlaps
        inside += 1
        overlaps += inside > 1
        inside -= 1

    subscriber = RecordingSubscriber(on_next=enter_and_leave)
    stream = Elements(count(), subscriber)
    stream.wake()
    with frequent_switches():
        run_together(*[lambda: request_one_by_one(stream, 700)] * 3)
    assert subscriber.signals == ["on_subscribe", *range(2_100)]
    assert overlaps == 0
    assert stream.demand.outstanding == 0


def test_a_signal_handler_may_cancel_at_any_place() -> None:
    for place in count(1):
        stream, subscriber = opened(1, 2, 3)
        if not interrupted(place, stream.cancel, partial(stream.request, 2)):
            break
        assert subscriber.signals in (["on_subscribe", 1, 2][:n] for n in (1, 2, 3))
        assert stream.released == 1
    assert place > 10


def test_no_lock_is_held_while_anybody_is_called() -> None:
    watch = LockWatch()
    held: list[tuple[str, int]] = []

    def note(place: str) -> Callable[[], None]:
        return lambda: held.append((place, watch.held_here))

    def source() -> Iterator[int]:
        note("source")()
        yield 1
        note("source")()
        raise ValueError("the source broke")

    subscriber = RecordingSubscriber(**{signal: note(signal) for signal in SIGNALS})
    stream = Elements(source(), subscriber, new_lock=watch, at_release=note("release"))
    stream.wake()
    stream.request(2)
    places = ["on_subscribe", "source", "on_next", "source", "on_error", "release"]
    assert held == [(place, 0) for place in places]
    assert watch.entered > 0


def test_no_lock_is_held_while_the_hook_is_called() -> None:
    watch = LockWatch()
    held: list[int] = []

    subscriber = RecordingSubscriber(on_next=raising(ValueError("of the subscriber")))
    stream = Elements([1], subscriber, new_lock=watch, at_release=raising(OSError()))
    previous = set_undelivered_hook(lambda _: held.append(watch.held_here))
    try:
        stream.wake()
        stream.request(1)
    finally:
        set_undelivered_hook(previous)
    assert held == [0, 0]


def request_and_cancel(subscriber: RecordingSubscriber) -> None:
    subscriber.subscription.request(2)
    subscriber.subscription.cancel()


def wake_and_request(stream: Elements[object]) -> None:
    stream.wake()
    stream.request(5)


def request_one_by_one(stream: Elements[int], times: int) -> None:
    for _ in range(times):
        stream.request(1)


def raising(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def stack_depth() -> int:
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
