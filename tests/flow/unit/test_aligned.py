"""Batches and windows that end when the time of day is a whole multiple of a period."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, VirtualTime
from penstock.flow.operators.timing import next_multiple
from penstock.runtime import SystemClock
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.flow.unit.watched_time import WatchedTime

Batch = Callable[[Flow[Any], Any], Flow[Any]]
BATCHES: dict[str, Batch] = {
    "buffer": lambda flow, time: flow.buffer(every=60, aligned=True, clock=time),
    "window": lambda flow, time: flow.window(every=60, aligned=True, clock=time).flat_map(
        lambda window: window.to_list()
    ),
}
EVERY_BATCH = pytest.mark.parametrize("batch", BATCHES.values(), ids=list(BATCHES))


class Aligned:
    """A publisher led by hand, batches by whole minutes, and a subscriber at the end."""

    def __init__(self, batch: Batch, request: int = UNBOUNDED) -> None:
        self.time = WatchedTime()
        self.publisher = ManualPublisher[Any]()
        self.subscriber = ManualSubscriber[Any](request=request, time=self.time)
        batch(Flow.from_publisher(self.publisher), self.time).subscribe(self.subscriber)

    def send(self, element: Any, at: float) -> None:
        """Send an element at a moment."""
        self.time.run(until=at)
        self.publisher.next(element)


@EVERY_BATCH
def test_a_batch_is_closed_at_the_end_of_the_period_in_which_it_began(batch: Batch) -> None:
    aligned = Aligned(batch)
    aligned.send("a", at=50)
    aligned.send("b", at=59)
    aligned.time.run(until=60)
    assert aligned.subscriber.elements == [["a", "b"]]
    aligned.send("c", at=61)
    aligned.send("d", at=119)
    aligned.time.run(until=119.9)
    assert aligned.subscriber.elements == [["a", "b"]]
    aligned.time.run(until=120)
    assert aligned.subscriber.elements == [["a", "b"], ["c", "d"]]
    assert aligned.time.waiting == 0


@EVERY_BATCH
def test_an_element_that_comes_at_a_boundary_begins_the_next_batch(batch: Batch) -> None:
    time, publisher = VirtualTime(), ManualPublisher[str]()
    subscriber = ManualSubscriber[Any](request=UNBOUNDED)
    time.call_later(60, lambda: publisher.next("b"))  # before the timer of the batch
    batch(Flow.from_publisher(publisher), time).subscribe(subscriber)
    time.advance(10)
    publisher.next("a")
    time.run(until=61)
    publisher.next("c")
    time.run(until=120)
    assert subscriber.elements == [["a"], ["b", "c"]]


@EVERY_BATCH
def test_a_source_that_blocks_past_a_boundary_begins_the_next_batch(batch: Batch) -> None:
    """Nothing is pulled meanwhile, and no timer has a chance."""
    now = 0.0

    class Blocked(VirtualTime):
        def now(self) -> float:
            return now

    def slow() -> Any:
        nonlocal now
        for element, moment in (("a", 10.0), ("b", 50.0), ("c", 70.0), ("d", 190.0)):
            now = moment
            yield element

    flow = batch(Flow.defer(lambda: Flow.from_iterable(slow())), Blocked())
    assert flow.to_list().run_sync() == [["a", "b"], ["c"], ["d"]]


@EVERY_BATCH
def test_no_batch_is_empty(batch: Batch) -> None:
    aligned = Aligned(batch)
    aligned.send("a", at=30)
    aligned.send("b", at=1000)
    aligned.time.run(until=2000)
    assert aligned.subscriber.elements == [["a"], ["b"]]


@EVERY_BATCH
def test_the_end_does_not_wait_for_the_clock(batch: Batch) -> None:
    aligned = Aligned(batch)
    aligned.send("a", at=30)
    aligned.publisher.complete()
    assert aligned.subscriber.elements == [["a"]]
    assert aligned.subscriber.completed
    assert aligned.time.waiting == 0


def test_a_batch_that_is_full_is_closed_and_the_next_one_ends_at_the_same_boundary() -> None:
    aligned = Aligned(lambda flow, time: flow.buffer(2, every=60, aligned=True, clock=time))
    for element, at in (("a", 10), ("b", 20), ("c", 30)):
        aligned.send(element, at=at)
    aligned.time.run(until=60)
    assert aligned.subscriber.elements == [["a", "b"], ["c"]]


def test_a_batch_of_one_is_given_at_once_also_at_a_boundary() -> None:
    aligned = Aligned(lambda flow, time: flow.buffer(1, every=60, aligned=True, clock=time))
    aligned.send("a", at=59)
    aligned.send("b", at=60)
    assert aligned.subscriber.elements == [["a"], ["b"]]


def test_what_comes_in_the_next_period_is_discarded_if_the_batch_before_was_the_last() -> None:
    time, publisher = VirtualTime(), ManualPublisher[str]()
    discarded: list[Any] = []
    subscriber = ManualSubscriber[Any](request=UNBOUNDED)
    time.call_later(60, lambda: publisher.next("b"))
    flow = BATCHES["buffer"](Flow.from_publisher(publisher), time).take(1)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    publisher.next("a")
    time.run(until=60)
    assert subscriber.elements == [["a"]]
    assert subscriber.completed
    assert discarded in (["b"], [])  # or it was cancelled before


class WallTime(VirtualTime):
    """A time of day that runs with virtual time, from a moment of its own."""

    def unix_time(self) -> float:
        return 1_000_000_010 + self.now()


@EVERY_BATCH
def test_the_time_of_day_counts_where_the_clock_has_one(batch: Batch) -> None:
    time, publisher = WallTime(), ManualPublisher[str]()
    subscriber = ManualSubscriber[Any](request=UNBOUNDED, time=time)
    batch(Flow.from_publisher(publisher), time).subscribe(subscriber)
    publisher.next("a")  # at 1,000,000,010, which is 50 s after a whole minute
    time.run(until=9.9)
    assert subscriber.elements == []
    time.run(until=10)
    assert subscriber.elements == [["a"]]


def test_real_time_has_a_time_of_day() -> None:
    flow = Flow.of("a").buffer(every=3600, aligned=True, clock=SystemClock())
    assert flow.to_list().run_sync() == [["a"]]


@pytest.mark.parametrize("seconds", [0.1, 0.3, 1 / 3, 0.7, 1, 60, 86_400])
@pytest.mark.parametrize("start", [0, 7, 1_763_370_000])
def test_the_next_multiple_of_a_multiple_is_the_one_after_it(seconds: float, start: int) -> None:
    first = round(start / seconds)
    for number in range(first, first + 1000):
        assert next_multiple(number * seconds, seconds) == (number + 1) * seconds
        assert next_multiple((number + 0.5) * seconds, seconds) == (number + 1) * seconds


@pytest.mark.parametrize("operator", ["buffer", "window"])
def test_aligned_goes_with_every(operator: str) -> None:
    with pytest.raises(TypeError, match=f"^{operator}: aligned goes with every"):
        getattr(Flow.range(3), operator)(3, aligned=True)
