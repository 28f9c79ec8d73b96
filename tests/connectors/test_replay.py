"""Recorded elements at the pace at which they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, VirtualTime
from penstock.connectors import read_json_lines, replay, tail_json_lines
from penstock.testing import ManualPublisher, ManualSubscriber


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime(start=1_000.0)


@pytest.fixture
def subscriber() -> ManualSubscriber[float]:
    return ManualSubscriber()


def paced(time: VirtualTime, *times: float, speed: float = 1, **options: Any) -> Flow[float]:
    return replay(Flow.of(*times), speed, float, clock=time, **options)


def test_elements_come_at_the_pace_of_their_times(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    paced(time, 50, 60, 65, speed=10).subscribe(subscriber)
    subscriber.request(10)
    subscriber.assert_elements(50)
    time.advance(0.99)
    subscriber.assert_elements(50)
    time.advance(0.01)
    subscriber.assert_elements(50, 60)
    time.advance(0.5)
    subscriber.assert_elements(50, 60, 65)
    subscriber.assert_completed()


def test_times_may_be_datetimes(time: VirtualTime) -> None:
    start = datetime(2013, 2, 8, tzinfo=UTC)
    subscriber: ManualSubscriber[datetime] = ManualSubscriber(request=2)
    hours = Flow.of(start, start + timedelta(hours=1))
    replay(hours, 3600, lambda moment: moment, clock=time).subscribe(subscriber)
    assert len(subscriber.elements) == 1
    time.advance(1)
    assert len(subscriber.elements) == 2


def test_no_element_comes_ahead_of_demand(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    publisher: ManualPublisher[float] = ManualPublisher()
    replay(Flow.from_publisher(publisher), 1, float, clock=time).subscribe(subscriber)
    time.advance(100)
    assert publisher.requested == 0
    subscriber.request(2)
    assert publisher.requested == 2
    publisher.next(0.0, 0.0)
    assert subscriber.elements == [0, 0]
    time.advance(100)
    assert publisher.requested == 2


def test_after_a_pause_the_pace_goes_on_as_if_time_had_stood_still(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    paced(time, 0, 10, 20, 30).subscribe(subscriber)
    subscriber.request(1)
    time.advance(100)
    subscriber.request(3)
    subscriber.assert_elements(0, 10)
    time.advance(9.9)
    subscriber.assert_elements(0, 10)
    time.advance(0.1)
    subscriber.assert_elements(0, 10, 20)
    time.advance(10)
    subscriber.assert_elements(0, 10, 20, 30)


def test_a_small_delay_is_made_up_for(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    paced(time, 0, 0.2, 0.4, 2).subscribe(subscriber)
    subscriber.request(1)
    time.advance(1)
    subscriber.request(3)
    subscriber.assert_elements(0, 0.2, 0.4)
    time.advance(1)
    subscriber.assert_elements(0, 0.2, 0.4, 2)


def test_how_much_is_made_up_for_can_be_chosen(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    paced(time, 0, 10, 20, 30, catch_up=timedelta(hours=1)).subscribe(subscriber)
    subscriber.request(1)
    time.advance(25)
    subscriber.request(3)
    subscriber.assert_elements(0, 10, 20)
    time.advance(5)
    subscriber.assert_elements(0, 10, 20, 30)


def test_an_element_that_is_earlier_comes_right_after_the_previous_one(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    paced(time, 10, 11, 5, 12).subscribe(subscriber)
    subscriber.request(4)
    time.advance(1)
    subscriber.assert_elements(10, 11, 5)
    time.advance(1)
    subscriber.assert_elements(10, 11, 5, 12)


def test_cancel_discards_the_element_that_waits_and_leaves_no_timer(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    discarded: list[float] = []
    paced(time, 0, 10).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(2)
    subscriber.cancel()
    assert discarded == [10]
    time.run()
    assert time.now() == 1_000


def test_an_error_from_upstream_passes_at_once(
    time: VirtualTime, subscriber: ManualSubscriber[float]
) -> None:
    broken = Flow.concat(Flow.of(0.0), Flow.error(ValueError("no")))
    replay(broken, 1, float, clock=time).subscribe(subscriber)
    subscriber.request(2)
    subscriber.assert_failed(ValueError, match="no")


def test_the_source_still_says_how_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("1\n")
    assert replay(read_json_lines(file), 1, float).plan.origin.replay == "from_start"
    assert replay(tail_json_lines(file), 1, lambda x: 0).plan.origin.replay == "position"


@pytest.mark.parametrize(
    "time_of",
    [
        pytest.param(lambda x: None, id="none"),
        pytest.param(lambda x: "noon", id="a text"),
        pytest.param(lambda x: float("nan"), id="not a number"),
        pytest.param(lambda x: datetime.now(UTC) if x else 1.0, id="a mixture"),
    ],
)
def test_what_is_no_time_is_an_error_that_shows_it(time: VirtualTime, time_of: Any) -> None:
    with pytest.raises(TypeError, match="time_of must return a datetime or seconds"):
        replay(Flow.of(0, 1), 1, time_of, clock=time).run_sync()


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        (0, "speed must be above 0, 1 for the real pace, not 0"),
        (-1, "not -1"),
        (float("nan"), "not nan"),
        (float("inf"), "not inf"),
        ("fast", "speed must be a number, not 'fast'"),
        (True, "speed must be a number, not True"),
    ],
)
def test_a_bad_speed_is_refused_at_once(speed: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        replay(Flow.of(1), speed, float)


def test_other_bad_arguments_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="needs a Flow, not"):
        replay([1, 2], 1, float)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a function, not 'time'"):
        replay(Flow.of(1), 1, "time")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="catch_up must be 0 seconds or more"):
        replay(Flow.of(1), 1, float, catch_up=-1)
