"""Elements that come without demand, and demand in portions."""

from __future__ import annotations

import gc
import threading
import traceback
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, ThreadPool, VirtualTime
from penstock.flow import Overflow
from penstock.testing import ManualPublisher, ManualSubscriber


class Live:
    """A publisher led by hand, an operator downstream, and a subscriber at the end."""

    def __init__(self, apply: Callable[[Flow[Any]], Flow[Any]], request: int = 0) -> None:
        self.publisher = ManualPublisher[Any]()
        self.subscriber = ManualSubscriber[Any](request=request)
        self.discarded: list[Any] = []
        flow = apply(Flow.from_publisher(self.publisher))
        flow.do_on_discard(self.discarded.append).subscribe(self.subscriber)


OPERATORS: dict[str, Callable[[Flow[Any]], Flow[Any]]] = {
    "buffer": lambda flow: flow.on_backpressure_buffer(3),
    "drop_oldest": lambda flow: flow.on_backpressure_buffer(3, "drop_oldest"),
    "drop_newest": lambda flow: flow.on_backpressure_buffer(3, "drop_newest"),
    "drop": lambda flow: flow.on_backpressure_drop(),
    "latest": lambda flow: flow.on_backpressure_latest(),
    "conflate": lambda flow: flow.conflate(lambda waiting, newer: waiting + newer),
}
EACH = pytest.mark.parametrize("apply", OPERATORS.values(), ids=list(OPERATORS))


@EACH
def test_elements_are_asked_for_whatever_is_wanted(
    apply: Callable[[Flow[Any]], Flow[Any]],
) -> None:
    live = Live(apply)
    for number in range(1000):
        if live.publisher.cancelled:
            break  # it has overflowed
        assert live.publisher.outstanding > 0
        live.publisher.next(number)
    live.subscriber.assert_elements()


@EACH
def test_all_that_is_wanted_passes_at_once(apply: Callable[[Flow[Any]], Flow[Any]]) -> None:
    live = Live(apply, request=UNBOUNDED)
    for number in range(100):
        live.publisher.next(number)
        assert live.subscriber.elements[-1] == number
    live.publisher.complete()
    live.subscriber.assert_completed()
    assert live.discarded == []


@EACH
def test_completion_needs_no_demand_when_nothing_waits(
    apply: Callable[[Flow[Any]], Flow[Any]],
) -> None:
    live = Live(apply)
    live.publisher.complete()
    live.subscriber.assert_completed()


@EACH
def test_an_error_comes_after_what_waits(apply: Callable[[Flow[Any]], Flow[Any]]) -> None:
    live = Live(apply, request=1)
    live.publisher.next(1)
    live.subscriber.request(1)
    live.publisher.next(2)
    live.publisher.error(ValueError("broken"))
    live.subscriber.assert_elements(1, 2)
    live.subscriber.assert_failed(ValueError)


@EACH
def test_a_cancel_goes_up_and_discards_what_waits(
    apply: Callable[[Flow[Any]], Flow[Any]],
) -> None:
    live = Live(apply)
    live.publisher.next(1)
    live.subscriber.cancel()
    assert live.publisher.cancelled
    assert live.discarded == [1]


@EACH
def test_a_run_is_freed_when_it_is_cancelled(apply: Callable[[Flow[Any]], Flow[Any]]) -> None:
    class Element:
        pass

    gc.collect()
    gc.disable()
    try:
        live = Live(apply)
        element = Element()
        freed, subscriber = weakref.ref(element), weakref.ref(live.subscriber)
        live.publisher.next(element)
        live.subscriber.cancel()
        live.discarded.clear()
        publisher = live.publisher
        del element, live
        assert (freed(), subscriber()) == (None, None)
        assert publisher.cancelled
    finally:
        gc.enable()


@EACH
def test_a_fast_producer_and_no_demand_take_no_memory(
    apply: Callable[[Flow[Any]], Flow[Any]],
) -> None:
    subscriber = ManualSubscriber[Any]()
    flow = apply(Flow.range(1_000_000, 1_030_000).map(float))
    tracemalloc.start()
    try:
        flow.subscribe(subscriber)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500_000
    subscriber.close()


def test_a_full_buffer_is_an_error_after_what_waits() -> None:
    live = Live(lambda flow: flow.on_backpressure_buffer(2))
    live.publisher.next(1, 2)
    live.subscriber.assert_not_ended()
    live.publisher.next(3)
    assert live.publisher.cancelled
    assert live.discarded == [3]
    live.subscriber.assert_not_ended()
    live.subscriber.request(2)
    live.subscriber.assert_elements(1, 2)
    live.subscriber.assert_failed(Overflow)


def test_an_overflow_names_the_operator_its_capacity_and_ways_out() -> None:
    with pytest.raises(Overflow) as caught:
        Flow.range(9).on_backpressure_buffer(2).run_sync()
    text = "".join(traceback.format_exception(caught.value))
    for part in (
        "on_backpressure_buffer: ", "while 2 waited",
        "Request more", "raise the capacity", "drop_oldest",
        f"in on_backpressure_buffer, assembled at {__file__}",
    ):  # fmt: skip
        assert part in text


def test_drop_oldest_makes_room() -> None:
    live = Live(lambda flow: flow.on_backpressure_buffer(2, "drop_oldest"))
    live.publisher.next(1, 2, 3, 4)
    assert live.discarded == [1, 2]
    live.subscriber.request(1)
    live.publisher.next(5)
    live.subscriber.request(5)
    live.subscriber.assert_elements(3, 4, 5)


def test_drop_newest_drops_what_came() -> None:
    live = Live(lambda flow: flow.on_backpressure_buffer(2, "drop_newest"))
    live.publisher.next(1, 2, 3, 4)
    assert live.discarded == [3, 4]
    live.subscriber.request(5)
    live.subscriber.assert_elements(1, 2)


def test_drop_keeps_what_was_wanted_when_it_came() -> None:
    dropped: list[Any] = []
    live = Live(lambda flow: flow.on_backpressure_drop(dropped.append), request=1)
    live.publisher.next(1, 2, 3)
    live.subscriber.request(1)
    live.subscriber.assert_elements(1)
    live.publisher.next(4, 5)
    live.subscriber.assert_elements(1, 4)
    assert dropped == live.discarded == [2, 3, 5]


def test_drop_bounds_what_waits_for_a_busy_subscriber() -> None:
    flow = Flow.range(1000).on_backpressure_drop()
    assert flow.to_list().run_sync() == list(range(256))


def test_a_function_for_drops_that_raises_ends_the_stream() -> None:
    live = Live(lambda flow: flow.on_backpressure_drop(lambda x: 1 / 0))
    live.publisher.next(1)
    live.subscriber.assert_failed(ZeroDivisionError)
    assert live.publisher.cancelled
    assert live.subscriber.error is not None
    assert any("in on_backpressure_drop" in note for note in live.subscriber.error.__notes__)


def test_latest_replaces_what_waits() -> None:
    live = Live(lambda flow: flow.on_backpressure_latest())
    live.publisher.next(1, 2, 3)
    live.subscriber.request(1)
    live.subscriber.assert_elements(3)
    live.publisher.next(4, 5)
    live.publisher.complete()
    live.subscriber.request(1)
    live.subscriber.assert_elements(3, 5)
    live.subscriber.assert_completed()
    assert live.discarded == [1, 2, 4]


def test_conflate_combines_what_waits() -> None:
    live = Live(lambda flow: flow.conflate(lambda waiting, newer: waiting + newer))
    live.publisher.next("a", "b", "c")
    live.subscriber.request(1)
    live.publisher.next("d", "e")
    live.subscriber.request(1)
    live.subscriber.assert_elements("abc", "de")
    assert live.discarded == []


def test_conflate_that_raises_ends_the_stream_and_discards_both() -> None:
    live = Live(lambda flow: flow.conflate(lambda waiting, newer: waiting / newer))
    live.publisher.next(1, 0)
    live.subscriber.assert_failed(ZeroDivisionError)
    assert live.discarded == [1, 0]
    assert live.publisher.cancelled


def test_conflate_into_nothing_is_refused() -> None:
    live = Live(lambda flow: flow.conflate(lambda waiting, newer: None))
    live.publisher.next(1, 2)
    live.subscriber.assert_failed(TypeError, match="conflate: the function returned None")


def test_a_tick_that_comes_too_late_is_left_out() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[int](request=1)
    Flow.interval(1, clock=time).on_backpressure_latest().subscribe(subscriber)
    time.run(until=5)
    subscriber.assert_elements(0)
    subscriber.request(1)
    subscriber.assert_elements(0, 4)
    subscriber.cancel()


def test_what_follows_runs_where_it_ran() -> None:
    with ThreadPool() as threads:
        flow = Flow.range(3).publish_on(threads).on_backpressure_buffer(10)
        names = flow.map(lambda x: threading.current_thread().name).to_list().run_sync()
    assert names is not None
    assert threading.current_thread().name not in names


def test_elements_may_come_from_another_thread_while_others_are_taken() -> None:
    with ThreadPool() as threads:
        flow = Flow.range(20_000).subscribe_on(threads).on_backpressure_buffer(20_000)
        assert flow.reduce(0, lambda a, x: a + x).run_sync() == sum(range(20_000))


def test_a_publisher_that_cannot_be_subscribed_to_is_an_error() -> None:
    class Broken:
        def subscribe(self, subscriber: object) -> None:
            raise OSError("closed")

    flow: Flow[Any] = Flow.from_publisher(Broken())
    with pytest.raises(Exception, match="subscribe of"):
        flow.on_backpressure_buffer(3).run_sync()


def test_limit_rate_asks_in_portions() -> None:
    live = Live(lambda flow: flow.limit_rate(8), request=UNBOUNDED)
    live.publisher.next(*range(5))
    assert live.publisher.requests == [8]
    live.publisher.next(5)
    assert live.publisher.requests == [8, 6]
    live.publisher.next(*range(6, 12))
    assert live.publisher.requests == [8, 6, 6]
    live.subscriber.assert_elements(*range(12))


@pytest.mark.parametrize(
    ("low", "requests"), [(0, [4, 4, 4]), (1, [4, 3, 3]), (3, [4, 1, 1, 1, 1, 1, 1, 1])]
)
def test_limit_rate_asks_again_when_low_are_left(low: int, requests: list[int]) -> None:
    live = Live(lambda flow: flow.limit_rate(4, low), request=UNBOUNDED)
    live.publisher.next(*range(4))
    live.publisher.next(*range(4, 7 if low else 8))
    assert live.publisher.requests == requests


def test_limit_rate_asks_for_no_more_than_is_wanted() -> None:
    live = Live(lambda flow: flow.limit_rate(8), request=3)
    assert live.publisher.requests == [3]
    live.publisher.next(1, 2, 3)
    live.subscriber.request(2)
    assert live.publisher.requests == [3, 2]


def test_pressure_operators_say_what_they_need() -> None:
    flow = Flow.of(1)
    with pytest.raises(ValueError, match="on_backpressure_buffer: capacity must be at least 1"):
        flow.on_backpressure_buffer(0)
    with pytest.raises(ValueError, match=r"overflow must be one of 'error', .* not 'spill'"):
        flow.on_backpressure_buffer(1, "spill")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="on_backpressure_drop needs a function, not 5"):
        flow.on_backpressure_drop(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="conflate needs a function, not None"):
        flow.conflate(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit_rate: high must be at least 1, not 0"):
        flow.limit_rate(0)
    with pytest.raises(ValueError, match="limit_rate: low must be below high, which is 4, not 4"):
        flow.limit_rate(4, 4)
