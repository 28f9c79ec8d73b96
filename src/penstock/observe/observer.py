"""Looks at a pipeline again and again, and knows the last five minutes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from statistics import quantiles
from time import time
from typing import Final

from penstock.api import UNBOUNDED
from penstock.observe.reading import Edge, Reading
from penstock.observe.slowest import Shares, slowest
from penstock.observe.view import EdgeView, Point, StageView, View
from penstock.runtime import Clock, SystemClock, Timer, report_undelivered

__all__ = ["EVERY", "Observer"]

EVERY: Final = 0.25
"""The seconds between two looks."""
KEPT: Final = round(300 / EVERY)
WINDOW: Final = round(5 / EVERY)
"""The looks of which a rate, and a share of waiting, is made."""
LATENCIES: Final = 1000

Listener = Callable[[View], object]


class Observer:
    """Reads the gauges at a steady pace and makes a ``View`` of them for all who look."""

    def __init__(
        self, pipeline: str, read: Callable[[], Reading], *, clock: Clock | None = None
    ) -> None:
        self._pipeline = pipeline
        self._read = read
        self._clock = clock or SystemClock()
        self._started = self._clock.now()
        self._looks: deque[tuple[float, Reading]] = deque(maxlen=WINDOW)
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._points: deque[Point] = deque(maxlen=KEPT)
        self._listeners: list[Listener] = []
        self._looking = threading.RLock()  # a listener may look, or close
        self._timer: Timer | None = None
        self._closed = False
        self._view = self.look()

    @property
    def view(self) -> View:
        """The last one."""
        return self._view

    @property
    def points(self) -> tuple[Point, ...]:
        """What the charts show, of the last five minutes."""
        return tuple(self._points)

    def start(self) -> None:
        """Look from now on."""
        self._timer = self._clock.call_later(EVERY, self._again)

    def close(self) -> None:
        """Look a last time, and no more: all listeners have been told when it returns."""
        with self._looking:
            if self._closed:
                return
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            self.look()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` told each view. The function that is returned ends that."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def look(self) -> View:
        """Look now."""
        with self._looking:
            now, reading = self._clock.now(), self._read()
            self._looks.append((now, reading))
            self._latencies.extend(reading.latencies)
            view = self._view = self._seen(now, reading)
            self._points.append(view.point)
            for listener in tuple(self._listeners):
                self._tell(listener, view)
            return view

    def _tell(self, listener: Listener, view: View) -> None:
        try:
            listener(view)
        except Exception as error:
            report_undelivered(error, f"who looks at the pipeline {self._pipeline} has failed")

    def _again(self) -> None:
        with self._looking:
            if self._closed:
                return
            try:
                self.look()
            except Exception as error:
                report_undelivered(error, f"looking at the pipeline {self._pipeline} failed")
            if not self._closed:
                self._timer = self._clock.call_later(EVERY, self._again)

    def _seen(self, now: float, reading: Reading) -> View:
        shares = {(edge.giver, edge.taker): self._shares(edge) for edge in reading.edges}
        verdict = slowest(reading, shares)
        rates = {stage.name: self._rate(stage.name) for stage in reading.stages}
        return View(
            pipeline=self._pipeline,
            state=reading.state,
            seconds=now - self._started,
            sentence=verdict.sentence,
            stages=tuple(
                StageView(stage, rates[stage.name], stage.name == verdict.stage)
                for stage in reading.stages
            ),
            edges=tuple(self._edge(edge, shares[edge.giver, edge.taker]) for edge in reading.edges),
            point=self._point(reading, rates),
            batch=reading.batch,
            ledger=reading.ledger,
            checkpoint=reading.checkpoint,
            errors=reading.errors,
            dead_letters=reading.dead_letters,
            last_dead_letters=reading.last_dead_letters,
            spark_page=reading.spark_page,
        )

    def _point(self, reading: Reading, rates: dict[str, float]) -> Point:
        p50, p99 = percentiles(self._latencies)
        return Point(
            at=time(),
            rate_in=sum(rates[stage.name] for stage in reading.stages if stage.kind == "source"),
            rate_out=sum(rates[stage.name] for stage in reading.stages if stage.kind == "sink"),
            demand=sum(open_demand(edge) for edge in reading.edges),
            in_flight=sum(edge.in_flight for edge in reading.edges),
            p50=p50,
            p99=p99,
            lag=reading.lag,
        )

    def _edge(self, edge: Edge, shares: Shares) -> EdgeView:
        key = edge.giver, edge.taker
        counts = [(at, each.delivered) for at, each in self._edges(*key)]
        return EdgeView(edge, rate(counts), shares.held_up, shares.idle)

    def _shares(self, edge: Edge) -> Shares:
        seen = [each for _, each in self._edges(edge.giver, edge.taker)]
        return Shares(
            sum(each.held_up for each in seen) / len(seen),
            sum(each.idle for each in seen) / len(seen),
        )

    def _edges(self, giver: str, taker: str) -> Iterable[tuple[float, Edge]]:
        for at, reading in self._looks:
            for edge in reading.edges:
                if (edge.giver, edge.taker) == (giver, taker):
                    yield at, edge

    def _rate(self, name: str) -> float:
        counts = [
            (at, stage.passed)
            for at, reading in self._looks
            for stage in reading.stages
            # Before Spark has started, it does not know how many rows it had done.
            if stage.name == name and (stage.kind != "spark" or reading.state != "starting")
        ]
        return rate(counts)


def rate(counts: list[tuple[float, int]]) -> float:
    """Elements a second, between the first and the last count."""
    if len(counts) < 2:
        return 0.0
    (began, first), (ended, last) = counts[0], counts[-1]
    return (last - first) / (ended - began) if ended > began else 0.0


def percentiles(seconds: Iterable[float]) -> tuple[float | None, float | None]:
    """The median, and what one of a hundred exceeds."""
    known = sorted(seconds)
    if not known:
        return None, None
    if len(known) == 1:
        return known[0], known[0]
    cuts = quantiles(known, n=100, method="inclusive")
    return cuts[49], cuts[98]


def open_demand(edge: Edge) -> int:
    """What was asked for and has not come; demand without a bound does not count."""
    return 0 if edge.requested >= UNBOUNDED else max(edge.requested - edge.delivered, 0)
