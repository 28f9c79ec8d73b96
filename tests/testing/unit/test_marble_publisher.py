"""``marble``: a publisher that keeps to its diagram, to virtual time and to demand."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime import SystemClock, VirtualTime
from penstock.testing import ManualSubscriber, OnComplete, OnNext, OnSubscribe, marble
from penstock.testing.marbles import Frames, draw_marbles
from tests.testing.unit.diagrams import frames


def test_signals_come_at_their_frames() -> None:
    time = VirtualTime(start=10.0)
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=9, time=time)
    marble("a-b-(cd)|", time=time).subscribe(subscriber)
    time.run()
    assert [(str(signal), signal.at) for signal in subscriber.signals] == [
        ("on_subscribe()", 10.0),
        ("on_next('a')", 10.0),
        ("on_next('b')", 12.0),
        ("on_next('c')", 14.0),
        ("on_next('d')", 14.0),
        ("on_complete()", 15.0),
    ]


def test_letters_stand_for_values_and_frames_last_as_long_as_told() -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=9, time=time)
    marble("ab", {"a": 1, "b": 2}, time=time, frame=0.25).subscribe(subscriber)
    time.run()
    subscriber.assert_elements(1, 2)
    assert subscriber.signals[-1].at == 0.25


def test_the_stream_fails_with_the_given_error() -> None:
    time = VirtualTime()
    error = OSError("burst")
    subscriber: ManualSubscriber[str] = ManualSubscriber(time=time)
    marble("-#", time=time, error=error).subscribe(subscriber)
    time.run()
    assert subscriber.error is error
    other: ManualSubscriber[str] = ManualSubscriber(time=time)
    marble("#", time=time).subscribe(other)
    time.run()
    other.assert_failed(RuntimeError)


def test_nothing_but_on_subscribe_comes_before_time_passes() -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=9, time=time)
    marble("(a|)", time=time).subscribe(subscriber)
    assert subscriber.signals == (OnSubscribe(),)


def test_an_element_that_is_due_waits_for_demand_and_the_end_waits_after_it() -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=1, time=time)
    marble("ab(c|)", time=time).subscribe(subscriber)
    time.run()
    subscriber.assert_elements("a")
    subscriber.assert_not_ended()
    subscriber.request(1)
    subscriber.assert_elements("a", "b")
    subscriber.assert_not_ended()
    subscriber.request(1)
    assert subscriber.signals[-2:] == (OnNext("c"), OnComplete())


def test_demand_does_not_make_an_element_come_before_it_is_due() -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=9, time=time)
    marble("--a", time=time).subscribe(subscriber)
    time.advance(1.5)
    subscriber.assert_nothing_more()
    time.advance(0.5)
    subscriber.assert_elements("a")


def test_each_subscriber_starts_at_the_first_frame() -> None:
    time = VirtualTime()
    publisher = marble("a-b|", time=time)
    first: ManualSubscriber[str] = ManualSubscriber(request=9, time=time)
    second: ManualSubscriber[str] = ManualSubscriber(request=9, time=time)
    publisher.subscribe(first)
    time.advance(2)
    publisher.subscribe(second)
    time.advance(0)
    second.assert_elements("a")
    time.run()
    first.assert_elements("a", "b")
    second.assert_elements("a", "b")


def test_a_cancelled_stream_leaves_no_timer_behind() -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=9, time=time)
    marble("a--------b|", time=time).subscribe(subscriber)
    time.advance(1)
    subscriber.cancel()
    time.run()
    assert time.now() == 1.0
    subscriber.assert_elements("a")


@given(frames(), st.lists(st.integers(1, 3)))
def test_whatever_the_demand_the_elements_come_in_order_and_no_rule_is_broken(
    some: Frames, requests: list[int]
) -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[str] = ManualSubscriber(time=time)
    marble(draw_marbles(some), time=time).subscribe(subscriber)
    elements = [symbol for frame in some for symbol in frame if symbol.isalnum()]
    for n in requests:
        subscriber.request(n)
        time.advance(1)
    time.run()
    subscriber.assert_elements(*elements[: sum(requests)])
    subscriber.request(len(elements) + 1)
    subscriber.assert_elements(*elements)
    assert subscriber.ended == (some[-1][-1:] in {("|",), ("#",)})
    subscriber.assert_no_rule_broken()


def test_it_plays_in_real_time_as_well() -> None:
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=9)
    marble("a(bc)|", time=SystemClock(), frame=0.001).subscribe(subscriber)
    subscriber.await_end()
    subscriber.assert_elements("a", "b", "c")
    subscriber.assert_no_rule_broken()
    assert threading.current_thread().name not in str(subscriber.timeline).splitlines()[-1]


def test_arguments_that_make_no_sense_are_refused_at_once() -> None:
    time = VirtualTime()
    number: Any = 3
    nothing: Any = None
    with pytest.raises(TypeError, match=r"the subscriber is None \(rule 1\.9"):
        marble("a", time=time).subscribe(nothing)
    with pytest.raises(ValueError, match="values has no element for 'b'"):
        marble("ab", {"a": 1}, time=time)
    with pytest.raises(ValueError, match="values must have letters or digits as keys, not 'ab'"):
        marble("a", {"ab": 1}, time=time)
    with pytest.raises(TypeError, match="values must have no None, .* for 'a'"):
        marble("a", {"a": nothing}, time=time)
    with pytest.raises(TypeError, match=r"values must map letters to elements, .* not 3"):
        marble("a", number, time=time)
    with pytest.raises(TypeError, match=r"needs a clock, .* not 3"):
        marble("a", time=number)
    with pytest.raises(ValueError, match="frame must be above 0 seconds, not 0"):
        marble("a", time=time, frame=0)
