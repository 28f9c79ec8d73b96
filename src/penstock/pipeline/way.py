"""The way between sources and sinks: what a run needs to know of it, with or without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from penstock.api import Publisher
from penstock.observe.conservation import Conservation, Passage, difference
from penstock.observe.reading import Batch, Cause, Edge, Ledger, Signal, Stage
from penstock.pipeline.assembly import Assembly
from penstock.pipeline.batches import SinkBatches
from penstock.pipeline.gauges import SinkGauge, SourceGauge
from penstock.pipeline.plans import gives_one_for_each
from penstock.pipeline.stopping import Stopping

__all__ = ["Phase", "PlainWay", "Way", "WayReading"]

Phase = Literal["running", "through", "broken"]
"""Whether elements move, all of them came through, or the end came before that."""
UNREADABLE: Final = "could not be read from the source any more"
GIVEN_TWICE: Final = "came again and was not recognised"


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

    def watch_sinks(self, sinks: Sequence[SinkGauge]) -> None:
        """These are the sinks to which it leads."""

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

    def watch_sinks(self, sinks: Sequence[SinkGauge]) -> None:
        """Their own gauges say all that there is."""

    def drain(self) -> None:
        """Let the sources complete."""
        self._stopping.now()

    def reading(self, sinks: Sequence[SinkGauge], phase: Phase) -> WayReading:
        """Demand is that of the sinks, all the way."""
        return WayReading(
            started=True,
            stages=tuple(stage_of(source) for source in self._sources.values()),
            edges=tuple(
                edge_to(sink, source, held_up=not sink.wants, idle=sink.wants)
                for source in self._sources
                for sink in sinks
            ),
            ledger=self._ledger(sinks, phase),
        )

    def _ledger(self, sinks: Sequence[SinkGauge], phase: Phase) -> Ledger:
        """Without Spark nothing is replayed, dropped as late or put aside."""
        passages = tuple(self._passages(sinks, phase))
        missing = self._conservation.missing(passages, settled=phase != "running")
        taken = sum(source.passed for source in self._sources.values())
        delivered = at_all([(sink, sink.taken) for sink in sinks])
        in_flight = max(each.held for each in passages) if passages else None
        filtered = 0 if self._is_level else None
        terms = (delivered, filtered, in_flight)
        causes = [*lost_at(self._sources.values()), *causes_of(missing or ())]
        return Ledger(
            taken=taken,
            delivered=delivered,
            filtered=filtered,
            in_flight=in_flight,
            lost=None if missing is None else sum_of(causes),
            duplicated=sum(sink.duplicated or 0 for sink in sinks),
            recognised=sum(sink.recognised for sink in sinks),
            difference=difference(taken, terms, settled=phase != "running"),
            at_least=("lost",) if is_unsure(causes) else (),
            causes=(*causes, *duplicated_at(sinks)),
            passages=passages,
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


def lost_at(sources: Iterable[SourceGauge]) -> Iterator[Cause]:
    """What sources say that they could not read any more, or cannot tell."""
    for source in sources:
        if source.lost != 0:
            yield Cause("lost", source.lost, source.name, UNREADABLE)


def is_unsure(causes: Iterable[Cause]) -> bool:
    """Whether one of them says that nobody knows."""
    return any(each.count is None for each in causes)


def sum_of(causes: Sequence[Cause]) -> int | None:
    """How many in all, as far as that is known; ``None`` if nothing is."""
    return sum(each.count or 0 for each in causes) or (None if is_unsure(causes) else 0)


def at_all(given: Sequence[tuple[SinkGauge, int]]) -> int | None:
    """What every sink was given; one that wants no more does not count, unless all are gone.

    ``None`` if there is none: those that Spark serves say nothing.
    """
    wanting = [count for sink, count in given if not sink.gone]
    return min(wanting) if wanting else max((count for _, count in given), default=None)


def causes_of(missing: Iterable[tuple[Passage, int]]) -> Iterator[Cause]:
    """What is lost, and where."""
    return (
        Cause("lost", count, passage.taker, passage.words) for passage, count in missing if count
    )


def duplicated_at(sinks: Sequence[SinkGauge]) -> Iterator[Cause]:
    """Rows of which sinks say that they have them twice."""
    for sink in sinks:
        if sink.duplicated:
            yield Cause("duplicated", sink.duplicated, sink.name, GIVEN_TWICE)


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
