"""The way between sources and sinks: what a run needs to know of it, with or without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.api import Publisher
from penstock.observe.reading import Batch, Edge, Ledger, Signal, Stage
from penstock.pipeline.gauges import SinkGauge, SourceGauge
from penstock.pipeline.stopping import Stopping

__all__ = ["PlainWay", "Way", "WayReading"]


@dataclass(frozen=True)
class WayReading:
    """The way at one moment; ``edges`` in the sequence in which an element meets them."""

    started: bool
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    ledger: Ledger
    batch: Batch | None = None
    lag: float | None = None
    latencies: tuple[float, ...] = ()
    dead_letters: int = 0
    last_dead_letters: tuple[Signal, ...] = ()
    spark_page: str | None = None


class Way(Protocol):
    """From the sources to the sinks."""

    @property
    def flow(self) -> Publisher[Any]:
        """What the sinks are subscribed to."""

    def drain(self) -> None:
        """Take nothing more from the sources; what was taken still comes through."""

    def reading(self, sinks: Sequence[SinkGauge]) -> WayReading:
        """What it does now."""


class PlainWay:
    """A flow in this program: each source leads to each sink."""

    def __init__(
        self, flow: Publisher[Any], sources: Mapping[str, SourceGauge], stopping: Stopping
    ) -> None:
        self.flow = flow
        self._sources = sources
        self._stopping = stopping

    def drain(self) -> None:
        """Let the sources complete."""
        self._stopping.now()

    def reading(self, sinks: Sequence[SinkGauge]) -> WayReading:
        """Demand is that of the sinks, all the way."""
        return WayReading(
            started=True,
            stages=tuple(stage_of(source) for source in self._sources.values()),
            edges=tuple(
                edge_to(sink, source, held_up=not sink.wants, idle=sink.wants)
                for source in self._sources
                for sink in sinks
            ),
            ledger=Ledger(
                taken=sum(source.passed for source in self._sources.values()),
                delivered=sum(sink.taken for sink in sinks),
            ),
        )


def stage_of(source: SourceGauge) -> Stage:
    """A source as a stage."""
    return Stage(
        source.name,
        "source",
        source.passed,
        trouble=source.trouble,
        recent=source.recent.signals(),
    )


def edge_to(sink: SinkGauge, giver: str, *, held_up: bool, idle: bool) -> Edge:
    """The edge in front of a sink."""
    return Edge(
        giver,
        sink.name,
        sink.requested,
        sink.taken,
        sink.given - sink.taken,
        sink.capacity,
        held_up=held_up,
        idle=idle,
    )
