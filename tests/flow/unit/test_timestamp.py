"""Elements with the time at which they came."""

from __future__ import annotations

import asyncio
import time as real_time
from datetime import UTC, datetime
from typing import Any

from penstock import UNBOUNDED, AsyncioLoop, VirtualTime
from penstock.flow import Elapsed, Flow, TimestampedElement
from penstock.runtime import SystemClock
from penstock.testing import ManualPublisher, ManualSubscriber


def test_timestamp_gives_the_time_at_which_an_element_came() -> None:
    time, publisher = VirtualTime(100), ManualPublisher[str]()
    subscriber = ManualSubscriber[TimestampedElement[str]](request=UNBOUNDED)
    Flow.from_publisher(publisher).timestamp(clock=time).subscribe(subscriber)
    publisher.next("a")
    time.advance(5)
    publisher.next("b")
    assert subscriber.elements == [TimestampedElement(100, "a"), TimestampedElement(105, "b")]
    assert [type(each) for each in subscriber.elements] == [TimestampedElement] * 2


def test_in_real_time_timestamp_gives_the_time_of_day() -> None:
    before = datetime.now(UTC)
    for clock in (None, SystemClock()):
        stamped = Flow.of("a").timestamp(clock=clock).run_sync()
        assert stamped is not None
        assert before <= datetime.fromtimestamp(stamped.at, UTC) <= datetime.now(UTC)


def test_a_loop_as_the_clock_gives_the_time_of_day_as_well() -> None:
    async def stamped() -> float:
        each = await Flow.of("a").timestamp(clock=AsyncioLoop())
        assert each is not None
        return each.at

    before = real_time.time()
    assert before <= asyncio.run(stamped()) <= real_time.time()


def test_elapsed_counts_from_the_subscription_and_then_from_the_element_before() -> None:
    time, publisher = VirtualTime(100), ManualPublisher[str]()
    subscriber = ManualSubscriber[Elapsed[str]](request=UNBOUNDED)
    Flow.from_publisher(publisher).elapsed(clock=time).subscribe(subscriber)
    time.advance(3)
    publisher.next("a")
    publisher.next("b")
    time.advance(5)
    publisher.next("c")
    assert subscriber.elements == [Elapsed(3, "a"), Elapsed(0, "b"), Elapsed(5, "c")]


def test_each_run_has_a_start_of_its_own() -> None:
    time = VirtualTime()
    flow: Flow[Any] = Flow.of("a").elapsed(clock=time)
    time.advance(7)
    assert flow.run_sync() == (0, "a")
    time.advance(7)
    assert flow.run_sync() == (0, "a")


def test_two_clocks_in_one_loop_do_not_meet() -> None:
    flow = Flow.of("a").elapsed(clock=VirtualTime()).map(lambda each: each.element)
    assert flow.timestamp(clock=VirtualTime(5)).elapsed(clock=VirtualTime()).run_sync() == (
        0,
        (5, "a"),
    )


def test_a_time_that_never_changes_is_still_there_after_a_none() -> None:
    subscriber = ManualSubscriber[Any](request=1)
    Flow.of(1).map(lambda x: None).timestamp().subscribe(subscriber)
    assert isinstance(subscriber.error, TypeError)
