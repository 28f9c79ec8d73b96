"""The way through Spark: a journal for each source, the query, and its rows for the sinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from penstock.api import Publisher
from penstock.observe.reading import Batch, Edge, Ledger, Stage
from penstock.pipeline.books import Books
from penstock.pipeline.gauges import Recent, SinkGauge, SourceGauge
from penstock.pipeline.way import WayReading, edge_to, stage_of
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.deployment import Deployment, deployed, pipeline_in
from penstock.spark.gauges import InputReading, RunReading
from penstock.spark.pipeline import Pipeline as Through
from penstock.spark.run import Run

__all__ = ["SparkWay"]

SPARK: Final = "spark"
MEGABYTE: Final = 1 << 20


class SparkWay:
    """A flow that runs on Spark, as it is deployed."""

    def __init__(
        self, flow: Publisher[Any], sources: Mapping[str, SourceGauge], deployment: Deployment
    ) -> None:
        self.flow = deployed(flow, deployment.watched(self._began, self._dead_letter))
        through = pipeline_in(self.flow)
        assert through is not None
        self._through: Through = through
        self._sources = sources
        self._run: Run | None = None
        self._draining = False
        self._dead_letters = Recent()
        self._books = Books()

    @property
    def through(self) -> Through:
        """What happens on Spark, as data."""
        return self._through

    def drain(self) -> None:
        """Let Spark go through what the journals hold, and no more."""
        self._draining = True
        if self._run is not None:
            self._run.drain()

    def _began(self, run: Run) -> None:
        """The journals are open: now is known what was here before."""
        if self._through.checkpoint is not None:
            checkpoint = Checkpoint(self._through.checkpoint)
            books = Books.opened(checkpoint)
            if books is not None:
                self._books = books.restarted(run.reading().replayed)
            self._books.keep(checkpoint)
        self._run = run
        if self._draining:
            run.drain()

    def _dead_letter(self, misfit: Any) -> None:
        self._dead_letters.add(str(misfit.error()))

    def reading(self, sinks: Sequence[SinkGauge]) -> WayReading:
        """What the run and its journals show."""
        if self._run is None:
            return self._before(sinks)
        run = self._run.reading()
        batch = run.batch
        return WayReading(
            started=is_under_way(run),
            stages=tuple(self._stages(run)),
            edges=tuple(self._edges(run, sinks)),
            ledger=self._ledger(run, sinks),
            batch=None if batch is None else Batch(batch.number, batch.rows, batch.seconds),
            lag=run.oldest,
            latencies=run.latencies,
            dead_letters=self._dead_letters.count,
            last_dead_letters=self._dead_letters.signals(),
            spark_page=run.page,
        )

    def _before(self, sinks: Sequence[SinkGauge]) -> WayReading:
        """Nothing is there yet but the sources."""
        sources = tuple(stage_of(source) for source in self._sources.values())
        edges = [Edge(source.name, SPARK, 0, 0) for source in sources]
        edges += [edge_to(sink, SPARK, held_up=False, idle=True) for sink in sinks]
        stages = (*sources, Stage(SPARK, "spark", 0, detail="starts"))
        return WayReading(started=False, stages=stages, edges=tuple(edges), ledger=Ledger())

    def _stages(self, run: RunReading) -> Iterator[Stage]:
        yield from (stage_of(source) for source in self._sources.values())
        for name, journal in self._journals(run):
            held = f"{journal.bytes / MEGABYTE:.1f} of {journal.max_bytes / MEGABYTE:.0f} MB"
            rows = f"{journal.waiting:,} of {journal.max_rows:,} rows"
            yield Stage(name, "journal", journal.done, detail=f"{rows}, {held}")
        done = sum(each.done for each in run.inputs)
        yield Stage(SPARK, "spark", done, detail=words_for(run), trouble=trouble_of(run))

    def _edges(self, run: RunReading, sinks: Sequence[SinkGauge]) -> Iterator[Edge]:
        named = zip(self._sources, self._journals(run), strict=False)
        for source, (name, journal) in named:
            yield Edge(
                source,
                name,
                journal.requested,
                journal.admitted,
                held_up=journal.full,
                idle=not (journal.full or journal.sealed),
            )
        for name, journal in self._journals(run):
            yield Edge(
                name,
                SPARK,
                journal.done + min(self._through.batch_rows, journal.max_rows),
                journal.done,
                journal.waiting,
                journal.max_rows,
                held_up=journal.full or not is_under_way(run),
                idle=not journal.waiting,
            )
        for sink in sinks:
            wants = sink.wants
            yield edge_to(sink, SPARK, held_up=run.delivering and not wants, idle=wants)

    def _journals(self, run: RunReading) -> Iterator[tuple[str, InputReading]]:
        """The journals with their names: of several, each bears that of its source."""
        if len(run.inputs) == 1:
            yield "journal", run.inputs[0]
        elif len(run.inputs) == len(self._sources):
            yield from zip((f"{name} journal" for name in self._sources), run.inputs, strict=True)
        else:
            yield from ((f"journal {number}", each) for number, each in enumerate(run.inputs, 1))

    def _ledger(self, run: RunReading, sinks: Sequence[SinkGauge]) -> Ledger:
        known = [sink.duplicated for sink in sinks if sink.duplicated is not None]
        return Ledger(
            taken=sum(each.taken for each in run.inputs),
            delivered=sum(sink.taken for sink in sinks),
            replayed=self._books.replayed,
            # Rows that are no longer kept although Spark is not done with them.
            lost=sum(max(each.start - each.done, 0) for each in run.inputs),
            duplicated=sum(known) if known else None,
            restarts=self._books.restarts,
            lines=self._books.lines,
        )


def is_under_way(run: RunReading) -> bool:
    """Whether Spark has shown that it works, or has nothing to show it with."""
    idle = not any(each.waiting for each in run.inputs)
    return run.started and (run.batch is not None or run.delivering or idle)


def words_for(run: RunReading) -> str:
    """What Spark is at."""
    if not is_under_way(run):
        return "starts"
    if run.oldest is None:
        return "has done all there is"
    return f"lag {run.oldest:.1f} s"


def trouble_of(run: RunReading) -> str:
    """A query that was lost and is started again."""
    if run.started or not run.restarts:
        return ""
    return "it has lost a worker, and goes on from the checkpoint in a moment"
