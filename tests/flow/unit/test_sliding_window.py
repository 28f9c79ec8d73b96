"""Windows that overlap, or leave out elements between them: who gets what, and what is let go."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNBOUNDED, Flow, ThreadPool
from penstock.flow.operators.sliding_window import SlidingSubstream
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.rules.parties import PATIENCE


class Windowed:
    """A publisher led by hand, windows of it, and a subscriber that reads none of them itself."""

    def __init__(self, size: int, step: int, prefetch: int = 256) -> None:
        self.publisher = ManualPublisher[int]()
        self.windows = ManualSubscriber[Flow[int]](request=UNBOUNDED)
        self.discarded: list[int] = []
        flow = Flow.from_publisher(self.publisher).window(size, step=step, prefetch=prefetch)
        flow.do_on_discard(self.note).subscribe(self.windows)

    def note(self, element: Any) -> None:
        if isinstance(element, int):
            self.discarded.append(element)

    def read(self, number: int, request: int = UNBOUNDED) -> ManualSubscriber[int]:
        """A reader of a window that has come."""
        reader = ManualSubscriber[int](request=request)
        self.windows.elements[number].do_on_discard(self.note).subscribe(reader)
        return reader


def test_an_element_goes_to_all_windows_that_are_open() -> None:
    windowed = Windowed(3, 1)
    windowed.publisher.next(0, 1)
    first, second = windowed.read(0), windowed.read(1)
    windowed.publisher.next(2, 3)
    assert (first.elements, first.completed) == ([0, 1, 2], True)
    assert (second.elements, second.completed) == ([1, 2, 3], True)
    assert len(windowed.windows.elements) == 4


def test_elements_between_windows_are_left_out_and_make_room() -> None:
    windowed = Windowed(1, 4, prefetch=4)
    windowed.publisher.next(0, 1, 2, 3)
    assert windowed.publisher.outstanding == 3  # the first one waits in its window
    windowed.publisher.next(4)
    assert [windowed.read(0).elements, windowed.read(1).elements] == [[0], [4]]
    assert windowed.discarded == []


def test_what_waits_is_bounded_however_many_windows_it_waits_in() -> None:
    windowed = Windowed(10, 1, prefetch=4)
    while windowed.publisher.outstanding:
        windowed.publisher.next(len(windowed.windows.elements))
    assert windowed.publisher.requested == 4 + 9
    assert len(windowed.windows.elements) == 13


def test_a_window_that_is_read_alone_does_not_wait_for_the_others() -> None:
    """Whatever the size, the step and the prefetch."""
    for size, step, prefetch in [(50, 1, 1), (50, 49, 1), (7, 3, 2), (300, 7, 16)]:
        flow = Flow.range(400).window(size, step=step, prefetch=prefetch)
        lists = flow.concat_map(lambda window: window.to_list()).to_list().run_sync()
        assert lists == [list(range(at, min(at + size, 400))) for at in range(0, 400, step)]


def test_an_element_is_discarded_if_no_window_has_delivered_it() -> None:
    windowed = Windowed(9, 1)
    windowed.publisher.next(0, 1, 2)
    first, second = windowed.read(0), windowed.read(1, request=0)
    windowed.windows.cancel()  # the third one has no reader
    first.cancel()
    assert first.elements == [0, 1, 2]
    windowed.publisher.next(3)
    assert windowed.discarded == []
    second.cancel()
    assert windowed.discarded == [3]
    assert windowed.publisher.cancelled


def test_a_window_that_was_left_is_not_filled_any_more_and_not_kept() -> None:
    publisher, subscriber = ManualPublisher[int](), ManualSubscriber[int](request=UNBOUNDED)
    windows = Flow.from_publisher(publisher).window(100, step=1, prefetch=4)
    windows.flat_map(lambda window: window.take(1)).subscribe(subscriber)
    publisher.next(*range(80))
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, SlidingSubstream)]
    assert len(kept) <= 2
    assert subscriber.elements == list(range(80))
    subscriber.cancel()


def test_an_error_goes_to_all_windows_that_are_open() -> None:
    windowed = Windowed(3, 1)
    windowed.publisher.next(0, 1)
    readers = [windowed.read(0), windowed.read(1)]
    windowed.publisher.error(OSError("lost"))
    assert [reader.elements for reader in readers] == [[0, 1], [1]]
    assert all(isinstance(each.error, OSError) for each in readers)
    assert isinstance(windowed.windows.error, OSError)


def test_windows_are_read_on_several_threads() -> None:
    with ThreadPool(4) as pool:
        windows = Flow.range(2_000).window(8, step=2, prefetch=16)
        sums = windows.flat_map(lambda window: window.publish_on(pool).reduce(0, max))
        done = threading.Event()
        found: list[int] = []
        subscriber = ManualSubscriber[int](request=UNBOUNDED)
        sums.do_on_next(found.append).do_finally(lambda _: done.set()).subscribe(subscriber)
        assert done.wait(PATIENCE)
    assert sorted(found) == sorted(min(at + 7, 1_999) for at in range(0, 2_000, 2))


@given(
    size=st.integers(1, 5),
    step=st.integers(1, 6),
    prefetch=st.integers(1, 6),
    elements=st.integers(0, 15),
    requests=st.lists(st.integers(1, 4), max_size=8),
    leaving=st.sets(st.integers(0, 15)),
    ending=st.sampled_from(["complete", "cancel"]),
)
def test_each_element_is_delivered_or_discarded_or_between_two_windows(
    size: int,
    step: int,
    prefetch: int,
    elements: int,
    requests: list[int],
    leaving: set[int],
    ending: str,
) -> None:
    delivered: set[int] = set()
    discarded: list[int] = []
    publisher = ManualPublisher[int]()
    subscriber = ManualSubscriber[int]()

    def read(window: Flow[int]) -> Flow[int]:
        flow = window.take(2) if number_of.pop(0) in leaving else window
        return flow.do_on_next(delivered.add)

    number_of = list(range(100))
    flow = Flow.from_publisher(publisher).window(size, step=step, prefetch=prefetch)
    flow.flat_map(read).do_on_discard(
        lambda x: discarded.append(x) if isinstance(x, int) else None
    ).subscribe(subscriber)
    sent = 0
    for n in [*requests, 1]:
        while sent < elements and publisher.outstanding:
            publisher.next(sent)
            sent += 1
        subscriber.request(n)
    if ending == "complete":
        if not publisher.cancelled:
            publisher.complete()
        subscriber.request(1_000)
        assert subscriber.completed
    subscriber.cancel()
    assert len(discarded) == len(set(discarded))
    assert not delivered & set(discarded) or ending == "cancel"
    between = {x for x in range(sent) if x % step >= size}
    assert delivered | set(discarded) | between == set(range(sent))


@pytest.mark.parametrize("operator", ["buffer", "window"])
def test_a_step_goes_with_a_size_alone(operator: str) -> None:
    for arguments in ({"every": 1}, {"size": 3, "every": 1}, {"size": 3, "until": bool}):
        with pytest.raises(TypeError, match=f"^{operator}: step, here 2, goes with size, and with"):
            getattr(Flow.range(3), operator)(**arguments, step=2)
