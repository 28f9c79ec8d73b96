"""A flow that reports that it hangs, and why."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock import Flow, VirtualTime, X, collect_undelivered
from penstock.flow.explain.explanation import ExplainedRun
from penstock.runtime import Task, Timer
from penstock.testing import ManualPublisher, ManualSubscriber

PATIENCE = 60


class CountingTime(VirtualTime):
    """Knows how many of its timers have neither run nor been cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: set[object] = set()

    def call_later(self, seconds: float, task: Task) -> Timer:
        timer = CountedTimer(self.pending)
        timer.inner = super().call_later(seconds, lambda: (timer.done(), task()))
        return timer


class CountedTimer:
    inner: Timer

    def __init__(self, pending: set[object]) -> None:
        self._pending = pending
        pending.add(self)

    def done(self) -> None:
        self._pending.discard(self)

    def cancel(self) -> None:
        self.done()
        self.inner.cancel()


class Watched:
    """A flow with a watchdog, its source, its time and what was reported."""

    def __init__(self, request: int = 0) -> None:
        self.time = CountingTime()
        self.source: ManualPublisher[int] = ManualPublisher()
        self.reports: list[ExplainedRun] = []
        self.flow = (
            Flow.from_publisher(self.source)
            .map(X + 1)
            .watch_stalls(10, clock=self.time, report=self.reports.append)
        )
        self.subscriber: ManualSubscriber[int] = ManualSubscriber(request=request)
        self.flow.subscribe(self.subscriber)


def test_a_stall_is_reported_with_its_reason() -> None:
    watched = Watched(request=2)
    watched.time.advance(9)
    assert watched.reports == []
    watched.time.advance(1)
    (run,) = watched.reports
    assert run.sentence.startswith("`from_publisher` waits for its publisher, for ")
    assert run.edges[0].requested == 2


def test_a_stall_is_reported_once_and_the_next_one_again() -> None:
    watched = Watched(request=2)
    watched.time.advance(50)
    assert len(watched.reports) == 1
    watched.source.next(1)
    watched.time.advance(50)
    assert len(watched.reports) == 2
    assert watched.subscriber.elements == [2]


def test_nothing_is_reported_while_elements_come() -> None:
    watched = Watched(request=20)
    for number in range(10):
        watched.source.next(number)
        watched.time.advance(10)
    assert watched.reports == []


def test_nothing_is_reported_while_nothing_is_wanted() -> None:
    watched = Watched(request=1)
    watched.source.next(1)
    watched.time.advance(100)
    assert watched.reports == []
    watched.subscriber.request(1)
    watched.time.advance(20)
    assert len(watched.reports) == 1


@pytest.mark.parametrize("end", ["complete", "error", "cancel"])
def test_no_timer_is_left_when_the_run_is_over(end: str) -> None:
    watched = Watched(request=1)
    assert len(watched.time.pending) == 1
    if end == "complete":
        watched.source.complete()
    elif end == "error":
        watched.source.error(ValueError())
    else:
        watched.subscriber.cancel()
    assert watched.time.pending == set()


def test_a_run_that_nobody_refers_to_is_not_kept_alive_and_its_timer_stops() -> None:
    time = CountingTime()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.range(9).watch_stalls(10, clock=time).subscribe(subscriber)
    run = weakref.ref(subscriber.subscription)
    del subscriber
    gc.collect()
    assert run() is None
    time.advance(100)
    assert time.pending == set()


def test_a_report_without_a_function_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    with caplog.at_level(logging.WARNING, "penstock.flow"):
        flow = Flow.never().named("orders").watch_stalls(timedelta(seconds=2), clock=time)
        flow.subscribe(subscriber)
        time.advance(2)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(
        "the flow orders: nothing came for 2 s: `never` waits to be woken, for "
    )
    subscriber.cancel()


def test_a_warning_about_a_flow_without_a_name_has_its_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    Flow.never().watch_stalls(2, clock=time).subscribe(subscriber)
    time.advance(2)
    assert "the flow that is watched at " in caplog.text
    assert "test_watch_stalls.py:" in caplog.text
    subscriber.cancel()


def test_what_a_report_raises_goes_to_the_hook_and_the_watch_goes_on() -> None:
    time = VirtualTime()
    source: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=5)
    calls: list[ExplainedRun] = []

    def fail(run: ExplainedRun) -> None:
        calls.append(run)
        raise LookupError

    Flow.from_publisher(source).watch_stalls(1, clock=time, report=fail).subscribe(subscriber)
    with collect_undelivered() as lost:
        time.advance(1)
        source.next(1)
        time.advance(2)
    assert [each.what for each in lost] == ["the report of watch_stalls raised"] * 2
    assert len(calls) == 2
    assert subscriber.elements == [1]
    subscriber.cancel()


def test_a_function_that_never_returns_is_found_although_the_run_is_stuck() -> None:
    entered, leave = threading.Event(), threading.Event()
    time = VirtualTime()
    reports: list[ExplainedRun] = []

    def stuck(x: int) -> int:
        entered.set()
        assert leave.wait(PATIENCE)
        return x

    flow = Flow.of(1).map(stuck).watch_stalls(1, clock=time, report=reports.append)
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    thread = threading.Thread(target=flow.subscribe, args=(subscriber,))
    thread.start()
    assert entered.wait(PATIENCE)
    time.advance(1)
    leave.set()
    thread.join(PATIENCE)
    assert "waits for the function of `map` to return, which is at " in reports[0].sentence


@pytest.mark.parametrize("run", ["share", "group_by", "run_sync"])
def test_every_kind_of_run_can_be_watched(run: str) -> None:
    time = VirtualTime()
    source: ManualPublisher[int] = ManualPublisher()
    reports: list[ExplainedRun] = []
    watched = Flow.from_publisher(source).watch_stalls(1, clock=time, report=reports.append)
    if run == "run_sync":
        thread = threading.Thread(target=watched.run_sync)
        thread.start()
        source.await_requested(1)
        time.advance(1)
        source.complete()
        thread.join(PATIENCE)
    else:
        flow: Flow[Any] = watched.share() if run == "share" else watched.group_by(lambda x: x)
        subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
        flow.subscribe(subscriber)
        time.advance(1)
        subscriber.cancel()
    assert len(reports) == 1
    assert "waits for its publisher" in reports[0].sentence or run == "run_sync"


async def awaited(flow: Flow[int]) -> int | None:
    return await flow


@pytest.mark.parametrize(
    ("place", "run"),
    [
        ("engine.blocking", lambda flow: flow.run_sync()),
        ("engine.awaiting", lambda flow: asyncio.run(awaited(flow))),
    ],
    ids=["run_sync", "await"],
)
def test_a_run_that_is_just_about_to_wait_is_reported(
    place: str, run: Callable[[Flow[int]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    time = VirtualTime()
    source: ManualPublisher[int] = ManualPublisher()
    reports: list[ExplainedRun] = []

    def read_the_time() -> float:  # as it does before it waits
        time.advance(1)
        source.complete()
        return 0.0

    monkeypatch.setattr(f"penstock.flow.{place}.monotonic", read_the_time)
    run(Flow.from_publisher(source).watch_stalls(1, clock=time, report=reports.append))
    assert [each.sentence for each in reports] == ["`watch_stalls` is at work"]


@pytest.mark.parametrize("after", [0, -1])
def test_a_time_without_extent_is_refused(after: float) -> None:
    with pytest.raises(ValueError, match="watch_stalls: after must be above 0 seconds"):
        Flow.of(1).watch_stalls(after)


def test_what_cannot_be_called_or_is_no_clock_is_refused() -> None:
    flow: Any = Flow.of(1)
    with pytest.raises(TypeError, match="watch_stalls needs a function, not 3"):
        flow.watch_stalls(1, report=3)
    with pytest.raises(TypeError, match="watch_stalls needs a clock"):
        flow.watch_stalls(1, clock=3)
