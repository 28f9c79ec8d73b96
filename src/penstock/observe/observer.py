"""Samples the status of a pipeline, and knows the last day."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import quantiles
from time import time
from typing import Final

from penstock.api import UNBOUNDED
from penstock.observe.chart_rings import ChartRings
from penstock.observe.situation import situation_of
from penstock.observe.status import EdgeStatus, Point, StageStatus, Status, Units
from penstock.observe.units import common_unit
from penstock.runtime import Clock, SystemClock, Timer, report_undelivered

__all__ = ["EVERY", "Observer"]

EVERY: Final = 0.25
"""The seconds between two samples."""
WINDOW: Final = round(5 / EVERY)
"""The samples of which a rate, and a share of waiting, is made; all of them of the same state."""
LATENCIES: Final = 1000
LATENCY_WINDOW: Final = 60.0
"""The seconds for which a latency counts: how long rows took at the start says nothing later."""

Listener = Callable[[Status], object]


class Observer:
    """Samples a status at a steady pace, adds the pace of its stages, and tells all listeners.

    It reads, and listeners are told, on the thread of its clock or of the caller of ``sample`` and
    ``close``, one sample at a time.
    """

    def __init__(
        self, pipeline: str, read: Callable[[], Status], *, clock: Clock | None = None
    ) -> None:
        self._pipeline = pipeline
        self._read = read
        self._clock = clock or SystemClock()
        self._started = self._clock.now()
        self._samples: deque[tuple[float, Status]] = deque(maxlen=WINDOW)
        self._latencies: deque[tuple[float, float]] = deque(maxlen=LATENCIES)
        self._state_since = self._started
        self._last_moved: dict[str, tuple[int, float]] = {}
        self._rings = ChartRings()
        self._listeners: list[Listener] = []
        self._sampling = threading.RLock()  # a listener may take a sample, or close
        self._timer: Timer | None = None
        self._closed = False
        self._status = self.sample()

    @property
    def status(self) -> Status:
        """The last one."""
        return self._status

    @property
    def points(self) -> tuple[Point, ...]:
        """What the charts show, of the last five minutes."""
        return self._rings.points()

    def points_of(self, period: int) -> tuple[Point, ...]:
        """What they show of so many seconds: 300, 3,600 or 86,400."""
        return self._rings.points(period)

    def start(self) -> None:
        """Sample from now on."""
        self._timer = self._clock.call_later(EVERY, self._again)

    def close(self) -> None:
        """Take a last sample, and no more: all listeners have been told when it returns."""
        with self._sampling:
            if self._closed:
                return
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            self.sample()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` told each status. The function that is returned ends that."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def sample(self) -> Status:
        """Take a sample now."""
        with self._sampling:
            now, read = self._clock.now(), self._read()
            self._add(now, read)
            status = self._status = self._with_pace(now, read)
            self._rings.add(now, status.point)
            for listener in tuple(self._listeners):
                self._tell(listener, status)
            return status

    def _add(self, now: float, read: Status) -> None:
        if self._samples and self._samples[-1][1].state != read.state:
            self._samples.clear()  # who waited while Spark started is not slow now
            self._state_since = now
        self._samples.append((now, read))
        self._latencies.extend((now, each) for each in read.latencies)
        while self._latencies and now - self._latencies[0][0] > LATENCY_WINDOW:
            self._latencies.popleft()
        for stage in read.stages:
            if self._last_moved.get(stage.name, (None,))[0] != stage.passed:
                self._last_moved[stage.name] = stage.passed, now

    def _tell(self, listener: Listener, status: Status) -> None:
        try:
            listener(status)
        except Exception as error:
            report_undelivered(error, f"a listener to the status of {self._pipeline} failed")

    def _again(self) -> None:
        with self._sampling:
            if self._closed:
                return
            try:
                self.sample()
            except Exception as error:
                report_undelivered(error, f"reading the status of {self._pipeline} failed")
            if not self._closed:
                self._timer = self._clock.call_later(EVERY, self._again)

    def _with_pace(self, now: float, status: Status) -> Status:
        status = replace(status, state_for=now - self._state_since)
        edges = tuple(self._edge(edge) for edge in status.edges)
        units = units_of(status)
        stages = tuple(
            replace(
                stage,
                rate=self._rate(stage.name),
                still_for=now - self._last_moved[stage.name][1],
            )
            for stage in status.stages
        )
        situation = situation_of(replace(status, stages=stages, edges=edges))
        return replace(
            status,
            pipeline=self._pipeline,
            seconds=now - self._started,
            situation=situation.name,
            sentence=situation.sentence,
            stages=tuple(replace(stage, slowest=stage.name == situation.stage) for stage in stages),
            edges=edges,
            point=self._point(status, stages, units),
            units=units,
        )

    def _point(self, status: Status, stages: Iterable[StageStatus], units: Units) -> Point:
        p50, p99 = percentiles(latency for _, latency in self._latencies)
        # A sum of rows and batches would be none of both.
        edges = [each for each in status.edges if units.between != "rows" or each.unit == "rows"]
        return Point(
            at=time(),
            rate_in=sum(stage.rate for stage in stages if stage.kind == "source"),
            rate_out=sum(stage.rate for stage in stages if stage.kind == "sink"),
            demand=sum(map(open_demand, edges)),
            in_flight=sum(edge.in_flight for edge in edges),
            p50=p50,
            p99=p99,
            lag=status.lag,
        )

    def _edge(self, edge: EdgeStatus) -> EdgeStatus:
        known = list(self._edges(edge.giver, edge.taker))
        return replace(
            edge,
            rate=rate([(at, each.delivered) for at, each in known]),
            held_up_share=sum(each.held_up for _, each in known) / len(known),
            idle_share=sum(each.idle for _, each in known) / len(known),
        )

    def _edges(self, giver: str, taker: str) -> Iterable[tuple[float, EdgeStatus]]:
        for at, status in self._samples:
            for edge in status.edges:
                if (edge.giver, edge.taker) == (giver, taker):
                    yield at, edge

    def _rate(self, name: str) -> float:
        counts = [
            (at, stage.passed)
            for at, status in self._samples
            for stage in status.stages
            if stage.name == name
        ]
        return rate(counts)


def rate(counts: list[tuple[float, int]]) -> float:
    """Elements a second, between the first and the last count."""
    if len(counts) < 2:
        return 0.0
    (began, first), (ended, last) = counts[0], counts[-1]
    return (last - first) / (ended - began) if ended > began else 0.0


def units_of(status: Status) -> Units:
    """What the sums count, if anybody counts batches."""
    if all(stage.unit != "batches" for stage in status.stages):
        return Units()
    between = {edge.unit for edge in status.edges}
    return Units(
        taken=common_unit(stage.unit for stage in status.stages if stage.kind == "source"),
        given=common_unit(stage.unit for stage in status.stages if stage.kind == "sink"),
        between="rows" if "rows" in between else common_unit(between),
    )


def percentiles(seconds: Iterable[float]) -> tuple[float | None, float | None]:
    """The median, and what one of a hundred exceeds."""
    known = sorted(seconds)
    if not known:
        return None, None
    if len(known) == 1:
        return known[0], known[0]
    cuts = quantiles(known, n=100, method="inclusive")
    return cuts[49], cuts[98]


def open_demand(edge: EdgeStatus) -> int:
    """What was asked for and has not come; demand without a bound does not count."""
    return 0 if edge.requested >= UNBOUNDED else max(edge.requested - edge.delivered, 0)
