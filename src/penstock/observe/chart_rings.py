"""The points of the charts for five minutes, an hour and a day, in memory that never grows.

Each ring has as many points as a chart can show. One point of a longer ring stands for several: the
mean of what flows, and the worst of what somebody waits for, so that no spike is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Final

from penstock.observe.status import Point

__all__ = ["PERIODS", "ChartRings"]

PERIODS: Final[Mapping[int, float]] = {300: 0.25, 3600: 5.0, 86_400: 60.0}
"""The seconds that a chart shows, and those for which one of its points stands."""
EACH: Final = min(PERIODS.values())
"""The pace of the observer: a point for each time that it looks."""
MOST_GATHERED: Final = 300


class ChartRings:
    """Three rings of points. The observer adds, any thread reads."""

    def __init__(self) -> None:
        self._rings = {
            period: ChartRing(round(period / step), step if step > EACH else None)
            for period, step in PERIODS.items()
        }

    def add(self, now: float, point: Point) -> None:
        """A point at ``now``, by the clock of the observer."""
        for ring in self._rings.values():
            ring.add(now, point)

    def points(self, period: int = 300) -> tuple[Point, ...]:
        """Those of the last so many seconds, the newest last."""
        return self._rings[period].points


class ChartRing:
    """The last ``size`` points, one for each ``step`` of seconds, or each that comes."""

    def __init__(self, size: int, step: float | None) -> None:
        self._step = step
        # The one that is being gathered is one of them.
        self._points: deque[Point] = deque(maxlen=size if step is None else size - 1)
        self._gathered: list[Point] = []
        self._slot = 0

    @property
    def points(self) -> tuple[Point, ...]:
        """All of them; the last one is of a time that is not over."""
        gathered = tuple(self._gathered)
        return (*self._points, *((merged(gathered),) if gathered else ()))

    def add(self, now: float, point: Point) -> None:
        """Gather points until their time is over."""
        if self._step is None:
            self._points.append(point)
            return
        slot = int(now / self._step)
        if self._gathered and slot != self._slot:
            self._points.append(merged(self._gathered))
            self._gathered = []
        self._slot = slot
        # A pipeline may be looked at more often than the clock asks for.
        self._gathered = [*self._gathered, point][-MOST_GATHERED:]


def merged(points: Sequence[Point]) -> Point:
    """One point for several."""
    if len(points) == 1:
        return points[0]
    return Point(
        at=points[-1].at,
        rate_in=fmean(each.rate_in for each in points),
        rate_out=fmean(each.rate_out for each in points),
        demand=round(fmean(each.demand for each in points)),
        in_flight=round(fmean(each.in_flight for each in points)),
        p50=of_known(fmean, [each.p50 for each in points]),
        p99=of_known(max, [each.p99 for each in points]),
        lag=of_known(max, [each.lag for each in points]),
    )


def of_known(
    function: Callable[[list[float]], float], values: Sequence[float | None]
) -> float | None:
    """What a function makes of those that are known."""
    known = [each for each in values if each is not None]
    return function(known) if known else None
