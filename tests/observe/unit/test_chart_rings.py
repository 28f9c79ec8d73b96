"""The points of the charts over five minutes, an hour and a day, by a clock that the test owns."""

from __future__ import annotations

import pytest

from penstock.observe import Observer, Point, Status
from penstock.observe.chart_rings import PERIODS, ChartRings
from penstock.observe.observer import EVERY
from penstock.runtime import VirtualTime

DAY = 86_400


def filled(seconds: int, step: float = 1.0) -> ChartRings:
    rings = ChartRings()
    for number in range(round(seconds / step)):
        at = number * step
        rings.add(at, Point(at=at, rate_in=at, demand=number, lag=7.0 if number % 60 == 0 else 0.5))
    return rings


def test_two_days_take_as_much_memory_as_one() -> None:
    rings = filled(2 * DAY, step=5.0)
    assert {period: len(rings.points(period)) for period in PERIODS} == {
        300: 1200,
        3600: 720,
        DAY: 1440,
    }
    for period in (3600, DAY):
        points = rings.points(period)
        assert points[-1].at == 2 * DAY - 5
        assert points[-1].at - points[0].at == pytest.approx(period, abs=PERIODS[period])


def test_a_point_of_a_longer_chart_has_the_mean_of_what_flows_and_the_worst_of_waits() -> None:
    hour = filled(60, step=0.25).points(3600)
    assert len(hour) == 12
    first = hour[0]
    assert (first.at, first.rate_in, first.demand, first.lag) == (4.75, 2.375, 10, 7.0)
    assert hour[1].lag == 0.5  # those with 7 are 15 seconds apart
    assert (hour[0].p50, hour[0].p99) == (None, None)


def test_what_is_not_known_at_one_moment_is_left_out_of_the_sum() -> None:
    rings = ChartRings()
    for at, known in ((0.0, None), (1.0, 0.2), (2.0, 0.4), (3.0, None)):
        rings.add(at, Point(at=at, p50=known, p99=known))
    (point,) = rings.points(3600)
    assert point.p50 == pytest.approx(0.3)
    assert point.p99 == 0.4


def test_time_in_which_nobody_looked_leaves_a_gap_and_no_points() -> None:
    rings = ChartRings()
    for at in (0.0, 1.0, 7_200.0):
        rings.add(at, Point(at=at))
    assert [point.at for point in rings.points(DAY)] == [1.0, 7_200.0]


def test_an_observer_keeps_the_day_by_its_own_clock() -> None:
    time = VirtualTime()
    observer = Observer("day", lambda: Status("running", (), ()), clock=time)
    observer.start()
    time.advance(600)
    observer.close()
    looks = round(600 / EVERY)
    assert [len(observer.points_of(period)) for period in PERIODS] == [1200, 121, 11]
    assert len(observer.points) == min(looks, 1200)
