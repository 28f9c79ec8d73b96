"""The bounded buffer: its bound, its order, its chunks."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core import BoundedBuffer
from tests.core.unit.parties import LockWatch
from tests.runtime.unit.threads import frequent_switches, run_together


def filled(capacity: int, *elements: int) -> BoundedBuffer[int]:
    buffer: BoundedBuffer[int] = BoundedBuffer(capacity)
    for element in elements:
        buffer.put(element)
    return buffer


def test_elements_come_out_oldest_first() -> None:
    assert filled(3, 1, 2, 3).take() == [1, 2, 3]


def test_a_chunk_holds_no_more_than_was_asked_for() -> None:
    buffer = filled(5, 1, 2, 3, 4, 5)
    assert buffer.take(2) == [1, 2]
    assert buffer.take(0) == []
    assert buffer.take(2) == [3, 4]
    assert buffer.take(2) == [5]
    assert buffer.take(2) == []


def test_taking_exactly_all_empties_the_buffer() -> None:
    buffer = filled(3, 1, 2)
    assert buffer.take(2) == [1, 2]
    assert len(buffer) == 0


def test_a_full_buffer_refuses_an_offer_and_stays_as_it_was() -> None:
    buffer = filled(2, 1, 2)
    assert not buffer.offer(3)
    assert buffer.take() == [1, 2]


def test_an_offer_is_taken_as_long_as_there_is_room() -> None:
    buffer = filled(2, 1)
    assert buffer.offer(2)
    assert buffer.take() == [1, 2]


def test_putting_into_a_full_buffer_is_an_overflow_error_that_names_the_bound() -> None:
    buffer = filled(2, 1, 2)
    with pytest.raises(OverflowError, match=r"BoundedBuffer\(2 of 2\) is full"):
        buffer.put(3)
    assert buffer.take() == [1, 2]


def test_what_was_taken_out_makes_room() -> None:
    buffer = filled(2, 1, 2)
    buffer.take(1)
    assert buffer.room == 1
    assert buffer.offer(3)
    assert buffer.room == 0
    assert buffer.take() == [2, 3]


def test_the_peak_is_the_most_that_was_ever_inside() -> None:
    buffer = filled(5, 1, 2, 3)
    assert buffer.peak == 3
    buffer.take()
    buffer.put(4)
    assert buffer.peak == 3


def test_a_refused_element_does_not_raise_the_peak() -> None:
    buffer = filled(1, 1)
    buffer.offer(2)
    assert buffer.peak == 1


def test_falsy_elements_and_none_are_kept_like_all_others() -> None:
    buffer: BoundedBuffer[object] = BoundedBuffer(4)
    for element in (0, "", False, None):
        buffer.put(element)
    assert buffer.take() == [0, "", False, None]


def test_the_chunk_belongs_to_the_reader_that_took_it() -> None:
    buffer = filled(3, 1, 2)
    chunk = buffer.take()
    buffer.put(3)
    chunk.append(9)
    assert buffer.take() == [3]


@pytest.mark.parametrize(
    ("capacity", "kind", "message"),
    [
        (0, ValueError, "BoundedBuffer: capacity must be at least 1, not 0"),
        (-1, ValueError, "BoundedBuffer: capacity must be at least 1, not -1"),
        (True, TypeError, "BoundedBuffer: capacity must be an int of at least 1, not True"),
        (2.0, TypeError, "BoundedBuffer: capacity must be an int of at least 1, not 2.0"),
        (None, TypeError, "BoundedBuffer: capacity must be an int of at least 1, not None"),
    ],
)
def test_a_bad_capacity_is_an_error_at_once(
    capacity: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        BoundedBuffer(capacity)
    assert str(caught.value) == message


def test_between_two_threads_nothing_is_lost_doubled_or_reordered() -> None:
    buffer: BoundedBuffer[int] = BoundedBuffer(7)
    accepted: list[int] = []
    received: list[int] = []

    def write() -> None:
        accepted.extend(each for each in range(5_000) if buffer.offer(each))

    def read() -> None:
        for _ in range(3_000):
            received.extend(buffer.take(3))

    with frequent_switches():
        run_together(write, read)
    assert received + buffer.take() == accepted
    assert buffer.peak <= 7


def test_many_writers_never_push_it_over_its_bound() -> None:
    buffer: BoundedBuffer[int] = BoundedBuffer(100)
    accepted: list[int] = []

    def write() -> None:
        accepted.append(sum(buffer.offer(each) for each in range(80)))

    with frequent_switches():
        run_together(write, write, write)
    assert sum(accepted) == 100
    assert (len(buffer), buffer.peak, buffer.room) == (100, 100, 0)


def test_its_lock_can_be_handed_in() -> None:
    watch = LockWatch()
    buffer: BoundedBuffer[int] = BoundedBuffer(2, watch)
    buffer.put(1)
    buffer.take()
    assert watch.entered == 2
    assert watch.held_here == 0


def test_it_shows_how_full_it_is() -> None:
    assert repr(filled(8, 1, 2)) == "BoundedBuffer(2 of 8)"
