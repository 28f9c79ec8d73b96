"""Ticks, delays, quiet times and ends to waiting, in virtual time."""

from __future__ import annotations

import gc
import threading
import time as real_time
import traceback
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock import UNBOUNDED, ThreadPool, VirtualTime
from penstock.flow import Flow
from penstock.runtime import SystemClock, Task, Timer
from penstock.tck import verify_publisher
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.flow.hurrying import Hurrying
from tests.flow.unit.watched_time import WatchedTime

MANY = 5_000


class Live:
    """A publisher led by hand, an operator downstream, and a subscriber at the end."""

    def __init__(
        self, apply: Callable[[Flow[Any], WatchedTime], Flow[Any]], request: int = UNBOUNDED
    ) -> None:
        self.time = WatchedTime()
        self.publisher = ManualPublisher[Any]()
        self.subscriber = ManualSubscriber[Any](request=request)
        self.discarded: list[Any] = []
        flow = apply(Flow.from_publisher(self.publisher), self.time)
        flow.do_on_discard(self.discarded.append).subscribe(self.subscriber)

    def send(self, *elements: Any, at: float) -> None:
        """Send elements at a moment."""
        self.time.run(until=at)
        self.publisher.next(*elements)

    def got(self, at: float) -> list[Any]:
        """What has come by then."""
        self.time.run(until=at)
        return self.subscriber.elements


# interval


def test_interval_ticks_at_its_moments() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[tuple[int, float]](request=UNBOUNDED)
    Flow.interval(10, clock=time).map(lambda n: (n, time.now())).subscribe(subscriber)
    time.run(until=35)
    subscriber.assert_elements((0, 10.0), (1, 20.0), (2, 30.0))
    subscriber.cancel()


def test_interval_starts_after_a_delay_of_its_own() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[tuple[int, float]](request=UNBOUNDED)
    flow = Flow.interval(timedelta(seconds=10), delay=timedelta(seconds=1), clock=time)
    flow.map(lambda n: (n, time.now())).subscribe(subscriber)
    time.run(until=15)
    subscriber.assert_elements((0, 1.0), (1, 11.0))
    subscriber.cancel()


def test_interval_without_delay_ticks_at_once() -> None:
    subscriber = ManualSubscriber[int](request=2)
    Flow.interval(10, delay=0, clock=VirtualTime()).subscribe(subscriber)
    subscriber.assert_elements(0)
    subscriber.cancel()


def test_ticks_that_nobody_wanted_come_when_they_are_wanted() -> None:
    time, subscriber = WatchedTime(), ManualSubscriber[int]()
    Flow.interval(1, clock=time).subscribe(subscriber)
    time.run(until=5.5)
    assert (subscriber.elements, time.started) == ([], [])
    subscriber.request(3)
    subscriber.assert_elements(0, 1, 2)
    subscriber.request(3)
    subscriber.assert_elements(0, 1, 2, 3, 4)
    time.run(until=6)
    subscriber.assert_elements(0, 1, 2, 3, 4, 5)
    subscriber.cancel()


def test_a_cancelled_interval_leaves_no_timer() -> None:
    time, subscriber = WatchedTime(), ManualSubscriber[int](request=UNBOUNDED)
    Flow.interval(1, clock=time).subscribe(subscriber)
    time.run(until=3)
    assert time.waiting == 1
    subscriber.cancel()
    assert time.waiting == 0


def test_odd_periods_do_not_stall_by_rounding() -> None:
    time, subscriber = VirtualTime(0.1), ManualSubscriber[int](request=UNBOUNDED)
    Flow.interval(0.1, delay=0.7, clock=time).take(1000).subscribe(subscriber)
    time.run()
    subscriber.assert_completed()
    assert time.now() == pytest.approx(0.1 + 0.7 + 99.9)


class Early:
    """A clock whose timers go off a little before their time, as those of an event loop may."""

    def __init__(self) -> None:
        self.time = VirtualTime()

    def now(self) -> float:
        return self.time.now()

    def call_later(self, seconds: float, task: Task) -> Timer:
        return self.time.call_later(seconds - 1e-9, task)


def test_a_clock_may_ring_a_little_early() -> None:
    clock, subscriber = Early(), ManualSubscriber[int](request=3)
    Flow.interval(1, clock=clock).subscribe(subscriber)
    clock.time.run(until=5)
    subscriber.assert_elements(0, 1, 2)
    subscriber.cancel()


def test_in_real_time_no_thread_is_left_running() -> None:
    before = set(threading.enumerate())
    ticks = Flow.interval(0.001, clock=SystemClock()).take(3)
    assert ticks.to_list().run_sync() == [0, 1, 2]
    for thread in set(threading.enumerate()) - before:
        if thread.name == "penstock-clock":
            thread.join(60)
            assert not thread.is_alive()


# delay


def test_delay_keeps_order_and_distance() -> None:
    live = Live(lambda flow, time: flow.delay(10, clock=time).map(lambda x: (x, time.now())))
    live.send("a", at=1)
    live.send("b", "c", at=3)
    assert live.got(at=100) == [("a", 11.0), ("b", 13.0), ("c", 13.0)]
    live.publisher.complete()
    live.subscriber.assert_completed()


def test_delay_holds_no_more_than_is_wanted() -> None:
    pulled: list[int] = []
    time, subscriber = VirtualTime(), ManualSubscriber[int](request=2)
    flow = Flow.range(10).do_on_next(pulled.append)
    flow.delay(10, clock=time).subscribe(subscriber)
    assert pulled == [0, 1]
    time.run(until=10)
    subscriber.assert_elements(0, 1)
    assert pulled == [0, 1]
    subscriber.cancel()


def test_delay_holds_a_bounded_number_whatever_is_wanted() -> None:
    pulled: list[int] = []
    time, subscriber = WatchedTime(), ManualSubscriber[int](request=UNBOUNDED)
    flow = Flow.range(1_000_000).do_on_next(pulled.append)
    flow.delay(1, clock=time).subscribe(subscriber)
    assert len(pulled) == 256
    time.run(until=1)
    assert len(subscriber.elements) == 256
    assert len(pulled) == 512
    subscriber.cancel()
    assert time.waiting == 0


def test_delay_gives_elements_before_the_error_after_them() -> None:
    live = Live(lambda flow, time: flow.delay(10, clock=time))
    live.send("a", at=0)
    live.publisher.error(ValueError("late"))
    live.subscriber.assert_not_ended()
    assert live.got(at=10) == ["a"]
    live.subscriber.assert_failed(ValueError)


def test_delay_completes_after_its_last_element_without_more_demand() -> None:
    live = Live(lambda flow, time: flow.delay(10, clock=time), request=1)
    live.send("a", at=0)
    live.publisher.complete()
    assert live.got(at=10) == ["a"]
    live.subscriber.assert_completed()


def test_delay_discards_what_it_holds_when_cancelled() -> None:
    live = Live(lambda flow, time: flow.delay(10, clock=time))
    live.send("a", "b", at=0)
    live.subscriber.cancel()
    assert (live.discarded, live.time.waiting) == (["a", "b"], 0)
    assert live.publisher.cancelled


# delay_subscription


class Late:
    """A flow that is subscribed to late, by a clock or when a publisher says so."""

    def __init__(self, signal: bool, request: int = UNBOUNDED) -> None:
        self.time, self.signal = WatchedTime(), ManualPublisher[str]()
        self.publisher, self.subscriber = ManualPublisher[int](), ManualSubscriber[int]()
        self._by_signal = signal
        flow = Flow.from_publisher(self.publisher)
        flow.delay_subscription(self.signal if signal else 5, clock=self.time).subscribe(
            self.subscriber
        )
        if request:
            self.subscriber.request(request)

    def begin(self) -> None:
        """What it waits for happens."""
        if self._by_signal:
            self.signal.next("now")
        else:
            self.time.advance(5)


BY = pytest.mark.parametrize("signal", [False, True], ids=["by a clock", "by a publisher"])
DEMAND = pytest.mark.parametrize("demand", [UNBOUNDED, 0], ids=["with demand", "without demand"])


@BY
@DEMAND
def test_delay_subscription_subscribes_when_it_is_time_and_not_before(
    signal: bool, demand: int
) -> None:
    late = Late(signal, demand)
    late.time.advance(4.9)
    assert not late.publisher.subscribed
    late.begin()
    assert late.publisher.subscribed
    assert late.publisher.requested == min(demand, 256)
    late.subscriber.request(2)
    late.publisher.next(1, 2)
    late.publisher.complete()
    late.subscriber.assert_elements(1, 2)
    late.subscriber.assert_completed()
    assert late.time.waiting == 0
    assert late.signal.cancelled == signal


@BY
def test_delay_subscription_can_be_cancelled_before_it_has_begun(signal: bool) -> None:
    late = Late(signal)
    late.subscriber.cancel()
    assert late.signal.cancelled == signal
    assert late.time.waiting == 0
    late.time.advance(10)
    assert not late.publisher.subscribed


@BY
def test_delay_subscription_passes_an_error_on_without_demand(signal: bool) -> None:
    late = Late(signal, request=0)
    late.begin()
    late.publisher.error(OSError("upstream"))
    late.subscriber.assert_failed(OSError, match="upstream")


@DEMAND
def test_delay_subscription_fails_with_its_publisher_and_never_subscribes(demand: int) -> None:
    late = Late(True, demand)
    late.signal.error(OSError("signal"))
    late.subscriber.assert_failed(OSError, match="signal")
    assert not late.publisher.subscribed


def test_delay_subscription_begins_with_the_end_of_a_publisher() -> None:
    assert Flow.of(1, 2).delay_subscription(Flow.empty()).to_list().run_sync() == [1, 2]


def test_delay_subscription_makes_no_more_than_is_wanted() -> None:
    time, read, subscriber = VirtualTime(), list[int](), ManualSubscriber[int]()
    Flow.range(9).do_on_next(read.append).delay_subscription(1, clock=time).subscribe(subscriber)
    time.advance(1)
    assert read == []
    subscriber.request(2)
    subscriber.assert_elements(0, 1)
    assert read == [0, 1]


def test_delay_subscription_of_a_flow_on_another_thread() -> None:
    with ThreadPool(1) as threads:
        flow = Flow.range(500).publish_on(threads).delay_subscription(0.001)
        assert flow.to_list().run_sync() == list(range(500))


# debounce


def test_debounce_gives_what_is_followed_by_silence() -> None:
    live = Live(lambda flow, time: flow.debounce(2, clock=time).map(lambda x: (x, time.now())))
    live.send("a", at=0)
    live.send("b", at=1)
    live.send("c", at=2.5)
    assert live.got(at=10) == [("c", 4.5)]
    live.send("d", at=20)
    assert live.got(at=30) == [("c", 4.5), ("d", 22.0)]
    assert live.discarded == ["a", "b"]


def test_debounce_takes_one_timer_for_a_burst() -> None:
    live = Live(lambda flow, time: flow.debounce(1, clock=time))
    for number in range(100):
        live.send(number, at=number / 1000)
    assert live.got(at=5) == [99]
    assert len(live.time.started) <= 2


def test_debounce_takes_nothing_that_is_not_wanted() -> None:
    live = Live(lambda flow, time: flow.debounce(1, clock=time), request=1)
    live.send("a", at=0)
    live.send("b", at=0.5)
    assert live.got(at=10) == ["b"]
    assert live.publisher.outstanding <= 1


def test_debounce_gives_what_it_holds_when_the_flow_ends() -> None:
    live = Live(lambda flow, time: flow.debounce(5, clock=time), request=1)
    live.send("a", at=0)
    live.publisher.complete()
    live.subscriber.assert_elements("a")
    live.subscriber.assert_completed()
    assert live.time.waiting == 0


def test_debounce_gives_what_it_holds_before_an_error() -> None:
    live = Live(lambda flow, time: flow.debounce(5, clock=time), request=1)
    live.send("a", at=0)
    live.publisher.error(ValueError("broken"))
    live.subscriber.assert_elements("a")
    live.subscriber.assert_failed(ValueError, match="broken")


def test_debounce_discards_what_it_holds_when_cancelled() -> None:
    live = Live(lambda flow, time: flow.debounce(5, clock=time))
    live.send("a", at=0)
    live.subscriber.cancel()
    assert (live.discarded, live.time.waiting) == (["a"], 0)


# throttle


def test_throttle_gives_the_first_of_each_period() -> None:
    live = Live(lambda flow, time: flow.throttle(10, clock=time))
    live.send("a", "b", at=0)
    live.send("c", at=9)
    live.send("d", at=10)
    live.send("e", at=25)
    live.subscriber.assert_elements("a", "d", "e")
    assert live.discarded == ["b", "c"]
    assert live.time.started == []


def test_throttle_can_give_the_last_of_each_period() -> None:
    live = Live(
        lambda flow, time: flow.throttle(10, last=True, clock=time).map(lambda x: (x, time.now()))
    )
    live.send("a", "b", at=0)
    live.send("c", at=9)
    live.send("d", at=15)
    assert live.got(at=50) == [("c", 10.0), ("d", 25.0)]
    assert live.discarded == ["a", "b"]


def test_throttle_asks_again_for_what_it_left_out() -> None:
    live = Live(lambda flow, time: flow.throttle(10, clock=time), request=2)
    live.send("a", at=0)
    live.send("b", at=1)
    live.send("c", at=2)
    live.send("d", at=11)
    live.subscriber.assert_elements("a", "d")


# timeout


def test_timeout_is_an_error_that_names_the_operator_and_the_time() -> None:
    live = Live(lambda flow, time: flow.timeout(2.5, clock=time))
    live.send("a", at=2)
    live.time.run(until=4.4)
    live.subscriber.assert_not_ended()
    live.time.run(until=4.5)
    live.subscriber.assert_elements("a")
    live.subscriber.assert_failed(TimeoutError, match=r"timeout: .* 2\.5 s")
    assert live.publisher.cancelled
    assert live.time.waiting == 0
    assert live.subscriber.error is not None
    notes = "".join(traceback.format_exception(live.subscriber.error))
    assert f"in timeout, assembled at {__file__}" in notes


def test_timeout_does_not_count_while_nothing_is_wanted() -> None:
    live = Live(lambda flow, time: flow.timeout(1, clock=time), request=1)
    live.send("a", at=0.5)
    live.time.run(until=100)
    live.subscriber.assert_not_ended()
    live.subscriber.request(1)
    live.time.run(until=100.9)
    live.subscriber.assert_not_ended()
    live.time.run(until=101)
    live.subscriber.assert_failed(TimeoutError)


def test_timeout_does_not_count_before_the_first_request() -> None:
    live = Live(lambda flow, time: flow.timeout(1, clock=time), request=0)
    live.time.run(until=100)
    assert live.time.started == []
    live.subscriber.assert_not_ended()
    live.subscriber.cancel()


def test_timeout_needs_few_timers_for_many_elements() -> None:
    live = Live(lambda flow, time: flow.timeout(1, clock=time))
    for number in range(100):
        live.send(number, at=number / 1000)
    assert len(live.time.started) == 1
    live.publisher.complete()
    live.subscriber.assert_completed()
    assert live.time.waiting == 0


def test_a_fallback_takes_over_with_the_demand_that_is_left() -> None:
    live = Live(lambda flow, time: flow.timeout(1, Flow.of(7, 8, 9), clock=time), request=3)
    live.send("a", at=0)
    assert live.got(at=5) == ["a", 7, 8]
    assert live.publisher.cancelled
    live.subscriber.request(1)
    live.subscriber.assert_elements("a", 7, 8, 9)
    live.subscriber.assert_completed()


def test_a_fallback_may_fail_itself() -> None:
    error = OSError("no fallback")
    live = Live(lambda flow, time: flow.timeout(1, Flow.error(error), clock=time))
    live.time.run(until=2)
    assert live.subscriber.error is error


def test_a_stream_in_time_ends_as_it_is() -> None:
    live = Live(lambda flow, time: flow.timeout(1, clock=time))
    live.publisher.error(ValueError("own"))
    live.subscriber.assert_failed(ValueError)
    assert live.time.waiting == 0


# All of them


OPERATORS: dict[str, Callable[[Flow[Any], WatchedTime], Flow[Any]]] = {
    "delay": lambda flow, time: flow.delay(10, clock=time),
    "debounce": lambda flow, time: flow.debounce(10, clock=time),
    "throttle": lambda flow, time: flow.throttle(10, last=True, clock=time),
    "timeout": lambda flow, time: flow.timeout(10, clock=time),
    "buffer": lambda flow, time: flow.buffer(every=10, clock=time),
}
EACH = pytest.mark.parametrize("apply", OPERATORS.values(), ids=list(OPERATORS))


@EACH
def test_a_run_is_freed_when_it_is_cancelled(
    apply: Callable[[Flow[Any], WatchedTime], Flow[Any]],
) -> None:
    class Element:
        pass

    gc.collect()
    gc.disable()
    try:
        live = Live(apply)
        element, subscriber = Element(), weakref.ref(live.subscriber)
        live.send(element, at=0)
        freed = weakref.ref(element)
        live.subscriber.cancel()
        assert live.time.waiting == 0
        live.discarded.clear()
        time, publisher = live.time, live.publisher
        del element, live, publisher
        assert (freed(), subscriber()) == (None, None)
        assert time.idle
    finally:
        gc.enable()


@EACH
def test_time_goes_on_for_a_subscriber_on_an_executor(
    apply: Callable[[Flow[Any], WatchedTime], Flow[Any]],
) -> None:
    time = WatchedTime()
    subscriber = ManualSubscriber[Any](request=UNBOUNDED)
    apply(Flow.of(1).publish_on(time), time).subscribe(subscriber)
    time.run()
    subscriber.assert_completed()
    assert len(subscriber.elements) == 1


@pytest.mark.parametrize("operator", ["delay", "debounce", "throttle", "timeout"])
def test_a_duration_must_be_above_zero_and_a_clock_a_clock(operator: str) -> None:
    method = getattr(Flow.of(1), operator)
    for bad in (0, -1, float("nan"), float("inf"), timedelta(0)):
        with pytest.raises(ValueError, match=f"{operator}: seconds must be above 0 seconds"):
            method(bad)
    for worse in ("1", None, True):
        with pytest.raises(TypeError, match=f"{operator}: seconds must be seconds or a timedelta"):
            method(worse)
    with pytest.raises(TypeError, match=f"{operator} needs a clock"):
        method(1, clock=real_time)


def test_interval_names_what_it_cannot_take() -> None:
    with pytest.raises(ValueError, match="interval: every must be above 0 seconds, not 0"):
        Flow.interval(0)
    with pytest.raises(ValueError, match="interval: delay must be 0 seconds or more, not -1"):
        Flow.interval(1, delay=-1)


def test_timeout_takes_no_fallback_but_a_publisher() -> None:
    with pytest.raises(TypeError, match="timeout needs a publisher, not 5"):
        Flow.of(1).timeout(1, fallback=5)  # type: ignore[arg-type]


@pytest.mark.full
def test_the_kit_finds_no_rule_broken_by_interval() -> None:
    report = verify_publisher(
        lambda n: Flow.interval(1, clock=Hurrying(2)).take(n),
        repeatable=True,
        completes_eagerly=True,
    )
    assert report.passed, str(report)


def test_the_periods_of_sample_do_not_depend_on_when_elements_come() -> None:
    time, upstream = VirtualTime(), ManualPublisher[int]()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=9)
    flow = Flow.from_publisher(upstream).sample(10, clock=time)
    flow.map(lambda x: (x, time.now())).subscribe(subscriber)
    for moment in (7, 8, 25, 30, 39):
        time.advance(moment - time.now())
        upstream.next(moment)
    time.advance(1)
    subscriber.assert_elements((8, 10.0), (25, 30.0), (39, 40.0))


def test_sample_needs_no_timer_while_nothing_comes() -> None:
    time = WatchedTime()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=9)
    Flow.from_publisher(ManualPublisher[int]()).sample(10, clock=time).subscribe(subscriber)
    assert time.started == []
