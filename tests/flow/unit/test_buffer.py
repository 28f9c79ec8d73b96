"""Batches: what closes them, and what becomes of an open one."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, VirtualTime, X
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.flow.unit.watched_time import WatchedTime


def live(
    request: int = UNBOUNDED, **options: Any
) -> tuple[ManualPublisher[int], ManualSubscriber[list[int]], list[Any]]:
    """A publisher led by hand, whose elements are buffered, and what is discarded of them."""
    publisher, subscriber = ManualPublisher[int](), ManualSubscriber[list[int]](request=request)
    discarded: list[Any] = []
    Flow.from_publisher(publisher).buffer(**options).do_on_discard(discarded.append).subscribe(
        subscriber
    )
    return publisher, subscriber, discarded


BY_SIZE: dict[str, dict[str, Any]] = {
    "fused": {"size": 3},
    "timed": {"size": 3, "every": 60, "clock": VirtualTime()},
    "signalled": {"size": 3, "until": Flow.never()},
}
EACH = pytest.mark.parametrize("options", BY_SIZE.values(), ids=list(BY_SIZE))


@EACH
def test_one_list_is_asked_for_as_its_elements(options: dict[str, Any]) -> None:
    publisher, subscriber, _ = live(request=0, **options)
    assert publisher.requests == []
    subscriber.request(1)
    assert publisher.requests == [3]
    publisher.next(1, 2, 3)
    subscriber.assert_elements([1, 2, 3])
    assert publisher.requests == [3]


@EACH
def test_the_open_list_comes_at_the_end_without_more_demand(options: dict[str, Any]) -> None:
    publisher, subscriber, discarded = live(request=1, **options)
    publisher.next(1)
    publisher.complete()
    subscriber.assert_elements([1])
    subscriber.assert_completed()
    assert discarded == []


@EACH
def test_the_open_list_comes_before_an_error(options: dict[str, Any]) -> None:
    publisher, subscriber, discarded = live(request=1, **options)
    publisher.next(1, 2)
    publisher.error(ValueError("broken"))
    subscriber.assert_elements([1, 2])
    subscriber.assert_failed(ValueError, match="broken")
    assert discarded == []


@EACH
def test_the_open_list_is_discarded_by_a_cancel(options: dict[str, Any]) -> None:
    publisher, subscriber, discarded = live(**options)
    publisher.next(1, 2)
    subscriber.cancel()
    assert discarded == [1, 2]
    assert publisher.cancelled


def test_every_closes_a_list_some_time_after_its_first_element() -> None:
    time = WatchedTime()
    publisher, subscriber, _ = live(every=10, clock=time)
    time.run(until=5)
    assert time.started == []
    publisher.next(1)
    time.run(until=14)
    publisher.next(2)
    time.run(until=15)
    subscriber.assert_elements([1, 2])
    publisher.next(3)
    time.run(until=25)
    subscriber.assert_elements([1, 2], [3])
    time.run(until=100)
    subscriber.assert_elements([1, 2], [3])
    subscriber.cancel()
    assert time.waiting == 0


def test_a_list_that_is_full_is_not_closed_by_time_as_well() -> None:
    time = WatchedTime()
    publisher, subscriber, _ = live(size=2, every=10, clock=time)
    publisher.next(1, 2)
    time.run(until=5)
    publisher.next(3)
    time.run(until=14)
    subscriber.assert_elements([1, 2])
    time.run(until=15)
    subscriber.assert_elements([1, 2], [3])


def test_no_list_comes_without_demand_and_nothing_is_lost() -> None:
    time = VirtualTime()
    publisher, subscriber, _ = live(request=1, size=4, every=10, clock=time)
    publisher.next(1)
    time.run(until=10)
    subscriber.assert_elements([1])
    publisher.next(2, 3, 4)
    time.run(until=1000)
    assert publisher.outstanding == 0
    subscriber.assert_elements([1])
    subscriber.request(1)
    time.run(until=1010)
    subscriber.assert_elements([1], [2, 3, 4])


def test_a_list_without_size_is_bounded() -> None:
    flow = Flow.range(2500).buffer(every=3600, clock=VirtualTime())
    assert [len(batch) for batch in flow.to_list().run_sync() or []] == [1000, 1000, 500]
    flow = Flow.range(2500).buffer(until=lambda x: False)
    assert [len(batch) for batch in flow.to_list().run_sync() or []] == [1000, 1000, 500]


def test_a_condition_closes_a_list_after_its_element() -> None:
    flow = Flow.of(1, 2, 0, 0, 3)
    assert flow.buffer(until=lambda x: x == 0).to_list().run_sync() == [[1, 2, 0], [0], [3]]
    assert flow.buffer(until=X == 0).to_list().run_sync() == [[1, 2, 0], [0], [3]]
    timed = flow.buffer(every=60, until=lambda x: x == 0, clock=VirtualTime())
    assert timed.to_list().run_sync() == [[1, 2, 0], [0], [3]]


def test_elements_of_a_publisher_close_the_open_list() -> None:
    bell = ManualPublisher[str]()
    publisher, subscriber, _ = live(until=bell)
    bell.next("nothing to close")
    publisher.next(1, 2)
    bell.next("now")
    subscriber.assert_elements([1, 2])
    publisher.next(3)
    subscriber.assert_elements([1, 2])
    bell.next("again")
    subscriber.assert_elements([1, 2], [3])
    subscriber.cancel()
    assert bell.cancelled


def test_a_publisher_that_completes_ends_the_flow_after_the_open_list() -> None:
    bell = ManualPublisher[str]()
    publisher, subscriber, discarded = live(size=3, until=bell)
    publisher.next(1, 2)
    bell.complete()
    subscriber.assert_elements([1, 2])
    subscriber.assert_completed()
    assert publisher.cancelled
    assert discarded == []


def test_a_publisher_that_completes_without_an_open_list_ends_the_flow_without_demand() -> None:
    bell = ManualPublisher[str]()
    publisher, subscriber, _ = live(request=1, size=2, until=bell)
    publisher.next(1, 2)
    bell.complete()
    subscriber.assert_elements([1, 2])
    subscriber.assert_completed()
    assert publisher.cancelled


def test_a_publisher_that_completes_cancels_upstream_before_the_open_list_is_wanted() -> None:
    bell = ManualPublisher[str]()
    publisher, subscriber, _ = live(request=1, size=2, until=bell)
    publisher.next(1, 2)
    assert publisher.requests == [2]
    subscriber.request(1)
    publisher.next(3)
    bell.next("now")
    subscriber.assert_elements([1, 2], [3])
    publisher.next(4)  # which was asked for, and no list is wanted
    bell.complete()
    assert publisher.cancelled
    subscriber.request(1)
    subscriber.assert_elements([1, 2], [3], [4])
    subscriber.assert_completed()


def test_a_publisher_that_fails_ends_the_flow_after_the_open_list() -> None:
    bell = ManualPublisher[str]()
    publisher, subscriber, _ = live(until=bell)
    publisher.next(1)
    bell.error(OSError("no bell"))
    subscriber.assert_elements([1])
    subscriber.assert_failed(OSError)
    assert publisher.cancelled


def test_a_publisher_is_left_when_the_flow_completes() -> None:
    bell = ManualPublisher[str]()
    publisher, subscriber, _ = live(until=bell)
    publisher.complete()
    subscriber.assert_completed()
    assert bell.cancelled


@pytest.mark.parametrize("every", [None, 60])
def test_a_condition_that_raises_is_named(every: float | None) -> None:
    flow = Flow.of(2, 1, 0).buffer(every=every, until=lambda x: 2 / x > 100)
    with pytest.raises(ZeroDivisionError) as caught:
        flow.run_sync()
    assert f"in buffer, assembled at {__file__}" in "".join(
        traceback.format_exception(caught.value)
    )


def test_a_buffer_is_one_loop_with_what_stands_around_it() -> None:
    flow = Flow.range(10).map(X + 1).buffer(4).map(sum)
    assert flow.to_list().run_sync() == [10, 26, 19]


def test_none_in_a_list_is_refused_like_any_other() -> None:
    with pytest.raises(TypeError, match="None is not an element"):
        Flow.from_iterable([1, None]).buffer(2).run_sync()


def test_buffer_says_what_it_needs() -> None:
    flow = Flow.of(1)
    with pytest.raises(TypeError, match="buffer needs size, every or until"):
        flow.buffer()
    with pytest.raises(ValueError, match="buffer: size must be at least 1, not 0"):
        flow.buffer(0)
    with pytest.raises(ValueError, match="buffer: every must be above 0 seconds, not 0"):
        flow.buffer(every=0)
    with pytest.raises(TypeError, match="buffer: until must be .* or a publisher, not 'now'"):
        flow.buffer(until="now")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="buffer needs a clock"):
        flow.buffer(every=1, clock="noon")  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_lists_that_begin_some_steps_apart_are_slices(step: int) -> None:
    flow = Flow.range(10).buffer(3, step=step)
    assert flow.to_list().run_sync() == [list(range(10))[at : at + 3] for at in range(0, 10, step)]


@pytest.mark.parametrize(("sent", "lost"), [((1, 2, 3), []), ((1, 2, 3, 4), [4])])
def test_only_elements_that_no_sliding_list_has_delivered_are_discarded(
    sent: tuple[int, ...], lost: list[int]
) -> None:
    publisher, subscriber, discarded = live(size=3, step=2)
    publisher.next(*sent)
    subscriber.assert_elements([1, 2, 3])
    subscriber.cancel()
    assert discarded == lost


@pytest.mark.parametrize("more", [{"every": 1}, {"until": bool}, {"size": None, "every": 1}])
def test_a_step_goes_with_size_alone(more: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="buffer: step, here 2, goes with size, and with nothing"):
        Flow.range(3).buffer(**{"size": 3, "step": 2, **more})
