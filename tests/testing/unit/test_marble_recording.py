"""``record`` and ``to_marble``: from signals back to a diagram."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from penstock import ExecutorPublisher, IdentityProcessor, IterablePublisher
from penstock.runtime import VirtualTime
from penstock.testing import (
    ManualPublisher,
    OnComplete,
    OnError,
    OnNext,
    OnSubscribe,
    Signal,
    marble,
    record,
    to_marble,
)
from penstock.testing.marbles import Frames, draw_marbles
from tests.testing.unit.diagrams import frames


@given(frames())
def test_a_diagram_that_is_played_and_recorded_is_the_same(some: Frames) -> None:
    diagram = draw_marbles(some)
    time = VirtualTime()
    assert record(marble(diagram, time=time), time) == diagram


@pytest.mark.parametrize("frame", [0.001, 0.1, 3600.0])
def test_the_length_of_a_frame_does_not_matter_if_both_sides_know_it(frame: float) -> None:
    time = VirtualTime(start=0.3)
    diagram = "a--b-(cd)---e----|"
    assert record(marble(diagram, time=time, frame=frame), time, frame=frame) == diagram


def test_a_recording_starts_at_the_moment_of_the_subscription() -> None:
    time = VirtualTime()
    time.advance(7)
    assert record(marble("-a|", time=time), time) == "-a|"


def test_elements_are_drawn_by_the_letters_of_their_values() -> None:
    time = VirtualTime()
    publisher = marble("a-b|", {"a": [1], "b": [2]}, time=time)
    assert record(publisher, time, values={"x": [1], "y": [2]}) == "x-y|"


def test_what_is_not_asked_for_is_not_drawn() -> None:
    time = VirtualTime()
    assert record(marble("a-b-c|", time=time), time, request=2) == "a-b---"


def test_a_stream_that_goes_on_is_recorded_for_so_many_frames_and_cancelled() -> None:
    time = VirtualTime()
    publisher: ManualPublisher[str] = ManualPublisher()
    assert record(publisher, time, frames=4) == "----"
    assert time.now() == 3.0
    assert publisher.cancelled
    assert record(marble("a-b-c-d", time=time), time, frames=3) == "a-b"


def test_a_recording_leaves_no_task_behind() -> None:
    time = VirtualTime()
    assert record(ExecutorPublisher("abc", time), time, request=1) == "a"
    assert time.idle


def test_a_stream_that_ends_before_is_drawn_no_further() -> None:
    time = VirtualTime()
    assert record(marble("a|", time=time), time, frames=10) == "a|"


def test_processors_and_executors_can_be_recorded() -> None:
    time = VirtualTime()
    processor: IdentityProcessor[str] = IdentityProcessor(executor=time)
    marble("a-(bc)-|", time=time).subscribe(processor)
    assert record(processor, time) == "a-(bc)-|"
    assert record(ExecutorPublisher("ab", time), time) == "(ab|)"
    assert record(IterablePublisher("a"), time) == "(a|)"


def test_a_publisher_that_breaks_a_rule_fails_the_recording() -> None:
    time = VirtualTime()
    publisher: ManualPublisher[str] = ManualPublisher(misbehave=True)
    time.call_later(1, lambda: publisher.next("a"))
    with pytest.raises(
        AssertionError, match=r"broke rule 1\.1: sent element number 1, beyond a demand of 0"
    ):
        record(publisher, time, request=0)


def test_signals_are_drawn_with_or_without_an_end() -> None:
    assert to_marble([]) == "-"
    assert to_marble([], frames=3) == "---"
    going_on: list[Signal[str]] = [OnSubscribe(), OnNext("a", at=1.0)]
    assert to_marble(going_on, frames=3) == "-a-"
    assert to_marble([*going_on, OnError(OSError(), at=1.0)], frames=9) == "-(a#)"
    assert to_marble([OnComplete(at=4.0)], start=3.0, frame=0.5) == "--|"


def test_a_signal_between_two_frames_is_refused() -> None:
    with pytest.raises(ValueError, match=r"on_next\('a'\) came 0.5 s after the start, .* of 1 s;"):
        to_marble([OnNext("a", at=0.5)])
    with pytest.raises(ValueError, match="came -1 s after the start"):
        to_marble([OnNext("a", at=0.0)], start=1.0)


def test_signals_out_of_order_are_refused() -> None:
    after_the_end: list[Signal[str]] = [OnComplete(at=1.0), OnNext("b", at=2.0)]
    with pytest.raises(ValueError, match=r"on_next\('b'\) at 1 s is out of order"):
        to_marble([OnNext("a", at=2.0), OnNext("b", at=1.0)])
    with pytest.raises(ValueError, match=r"on_next\('b'\) at 2 s is out of order"):
        to_marble(after_the_end)


def test_an_element_without_a_letter_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the element 3; name one, as in values=\{'a': 3\}"):
        to_marble([OnNext(3)])
    with pytest.raises(ValueError, match="no letter stands for the element 'ab'"):
        to_marble([OnNext("ab")])
    with pytest.raises(ValueError, match="no letter stands for the element 3"):
        to_marble([OnNext(3)], values={"a": 1})


def test_arguments_that_make_no_sense_are_refused_before_anybody_subscribes() -> None:
    number: Any = 3
    publisher: ManualPublisher[str] = ManualPublisher()
    time = VirtualTime()
    with pytest.raises(TypeError, match="time must be a VirtualTime, not 3"):
        record(publisher, number)
    with pytest.raises(ValueError, match="frames must be at least 1, not 0"):
        record(publisher, time, frames=0)
    with pytest.raises(ValueError, match="frames must be at least 1, not 0"):
        to_marble([], frames=0)
    with pytest.raises(ValueError, match=r"frame must be .* not -1"):
        record(publisher, time, frame=-1)
    with pytest.raises(ValueError, match="request must be at least 0, not -1"):
        record(publisher, time, request=-1)
    with pytest.raises(ValueError, match="letters or digits as keys, not '-'"):
        record(publisher, time, values={"-": "a"})
    assert not publisher.subscribed
