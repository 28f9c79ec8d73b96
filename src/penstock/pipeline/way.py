"""The way between sources and sinks: what a run needs to know of it, with or without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from penstock.api import Publisher
from penstock.observe.conservation import Conservation, Passage
from penstock.observe.reading import Batch, Edge, Ledger, Signal, Stage
from penstock.pipeline.assembly import Assembly
from penstock.pipeline.batches import SinkBatches
from penstock.pipeline.gauges import SinkGauge, SourceGauge
from penstock.pipeline.plans import gives_one_for_each
from penstock.pipeline.stopping import Stopping

__all__ = ["Phase", "PlainWay", "Way", "WayReading"]

Phase = Literal["running", "through", "broken"]
"""Whether elements move, all of them came through, or the end came before that."""


@dataclass(frozen=True)
class WayReading:
    """The way at one moment; ``edges`` in the sequence in which an element meets them."""

    started: bool
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    ledger: Ledger
    batch: Batch | None = None
    checkpoint: str = ""
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

    def require_own_place(self) -> None:
        """Refuse the checkpoint of another pipeline, or one that it could not go on from."""

    def open_sinks(self) -> None:
        """The pipeline is about to start."""

    def close_sinks(self) -> None:
        """It has ended before all came through."""

    def drain(self) -> None:
        """Take nothing more from the sources; what was taken still comes through."""

    def reading(self, sinks: Sequence[SinkGauge], phase: Phase) -> WayReading:
        """What it does now."""


class PlainWay:
    """A flow in this program: each source leads to each sink."""

    def __init__(self, assembly: Assembly, stopping: Stopping, batches: SinkBatches) -> None:
        self.flow = assembly.flow
        self._batches = batches
        self._sources = assembly.sources
        self._stopping = stopping
        self._conservation = Conservation()
        self._is_level = all(
            gives_one_for_each(assembly.flow, entrance) for entrance in assembly.entrances.values()
        )

    def require_own_place(self) -> None:
        """It has none."""

    def open_sinks(self) -> None:
        """There is nothing else that could keep it from starting."""
        self._batches.open(None)

    def close_sinks(self) -> None:
        """Let go of files and connections; when all came through, each sink was closed."""
        self._batches.close()

    def drain(self) -> None:
        """Let the sources complete."""
        self._stopping.now()

    def reading(self, sinks: Sequence[SinkGauge], phase: Phase) -> WayReading:
        """Demand is that of the sinks, all the way."""
        passages = tuple(self._passages(sinks, phase))
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
                lost=with_lost_at(
                    self._sources.values(),
                    self._conservation.lost(passages, settled=phase != "running"),
                ),
                duplicated=duplicated_at(sinks),
                cannot_tell=cannot_tell(sinks),
                passages=passages,
            ),
        )

    def _passages(self, sinks: Sequence[SinkGauge], phase: Phase) -> Iterator[Passage]:
        """From the source to each sink, if nothing between them changes the number of elements."""
        if self._is_level:
            (source,) = self._sources.values()
            for sink in sinks:
                if not sink.gone:
                    yield passage_to(sink, source.name, source.passed, is_over=phase != "running")


def passage_to(sink: SinkGauge, giver: str, entered: int, *, is_over: bool) -> Passage:
    """The way to a sink; until it is over, what is not there yet may still come."""
    taken = sink.taken
    return Passage(giver, sink.name, entered, taken, 0 if is_over else max(entered - taken, 0))


def with_lost_at(sources: Iterable[SourceGauge], lost: int | None) -> int | None:
    """What is lost on the way and at the sources; ``None`` if one of them cannot tell."""
    for source in sources:
        lost = None if lost is None or source.lost is None else lost + source.lost
    return lost


def duplicated_at(sinks: Sequence[SinkGauge]) -> int | None:
    """Rows that came again and were not recognised, at those sinks that can tell."""
    known = [sink.duplicated for sink in sinks if sink.duplicated is not None]
    return sum(known) if known else None


def cannot_tell(sinks: Sequence[SinkGauge]) -> tuple[str, ...]:
    """The sinks that do not know which rows they have."""
    return tuple(sink.name for sink in sinks if sink.duplicated is None)


def stage_of(source: SourceGauge) -> Stage:
    """A source as a stage."""
    return Stage(
        source.name,
        "source",
        source.passed,
        trouble=source.trouble,
        recent=source.recent.signals(),
        errors=source.errors.signals(),
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
