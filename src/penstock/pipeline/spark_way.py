"""The way through Spark: a journal for each source, the query, and its rows for the sinks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import methodcaller
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.resumption import CannotResume
from penstock.observe.conservation import Conservation
from penstock.observe.reading import Batch, Cause, Edge, Ledger, Signal, Stage
from penstock.pipeline.accounts import Accounts
from penstock.pipeline.assembly import Assembly, AssemblyError
from penstock.pipeline.books import Books, Loss, SparkBooks
from penstock.pipeline.gauges import SinkGauge, SourceGauge, in_words, signals
from penstock.pipeline.spark_count import SPARK, JournalCount, SparkCount
from penstock.pipeline.spark_ledger import SparkLedger
from penstock.pipeline.way import (
    Phase,
    WayReading,
    at_all,
    causes_of,
    edge_to,
    lost_at,
    stage_of,
)
from penstock.spark.batch_counts import SparkCounts
from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.deployment import Deployment, deployed, from_spark_in
from penstock.spark.gauges import InputReading, RunReading
from penstock.spark.pipeline import Pipeline as Through
from penstock.spark.pipeline import require_resumable
from penstock.spark.run import Run

__all__ = ["SparkWay"]

MEGABYTE: Final = 1 << 20


class SparkWay:
    """A flow that runs on Spark, as it is deployed."""

    def __init__(self, assembly: Assembly, deployment: Deployment) -> None:
        self._accounts = Accounts(deployment.batches, self._keep_books)
        deployment = replace(deployment, watch=self._began, batches=self._accounts)
        self.flow = deployed(assembly.flow, deployment)
        origin = from_spark_in(self.flow)
        assert origin is not None  # else it would not go through Spark
        self._through = origin.pipeline
        self._count = SparkCount(origin, self.flow)
        self._sources = assembly.sources
        self._spark_sinks = assembly.spark_sinks
        self._entrances = assembly.entrances
        self._conservation = Conservation()
        self._run: Run | None = None
        self._draining = False
        self._earlier = SparkBooks()
        self._losses: tuple[Loss, ...] = ()
        self._noted: dict[tuple[str, str], int] = {}

    @property
    def through(self) -> Through:
        """What happens on Spark, as data."""
        return self._through

    def require_own_place(self) -> None:
        """Refuse the checkpoint of another pipeline, or one that it could not go on from."""
        if self._through.checkpoint is not None:
            inputs = [each.schema.ddl for each in self._through.inputs]
            try:
                require_resumable(self._through)
                Checkpoint(self._through.checkpoint).holds(self._through.name, inputs)
            except (CannotResume, CheckpointError) as error:
                raise AssemblyError(str(error)) from error

    def open_sinks(self) -> None:
        """The run opens them, once its checkpoint is known to be whole."""

    def close_sinks(self) -> None:
        """The run closes them, once no batch is under way."""

    def watch_sinks(self, sinks: Sequence[SinkGauge]) -> None:
        """What they are given is written down, batch by batch."""
        self._accounts.watch(sinks)

    def drain(self) -> None:
        """Let Spark go through what the journals hold, and no more."""
        self._draining = True
        if self._run is not None:
            self._run.drain()

    def _began(self, run: Run) -> None:
        """The journals are open: now is known what Spark does once more."""
        if self._through.checkpoint is not None:
            self._open_books(Checkpoint(self._through.checkpoint), run.reading())
        run.counts.listener = self._note_counts
        self._run = run
        if self._draining:
            run.drain()

    def _open_books(self, checkpoint: Checkpoint, run: RunReading) -> None:
        """Go on with the books of the last run."""
        books = Books.opened(checkpoint)
        stateful = self._count.may_be_late and (books or Books()).may_be_late
        if books is None:
            books = Books().with_gaps(run.done_batch, stateful=stateful)
        else:
            books = books.restarted(run.replayed, run.done_batch, stateful=stateful)
        self._accounts.adopt(books)
        self._earlier, self._losses = books.spark, books.all_losses
        self._keep_books()

    def _keep_books(self) -> None:
        if self._through.checkpoint is not None:
            self._accounts.books.keep(Checkpoint(self._through.checkpoint))

    def _note_counts(self) -> None:
        """Write down what Spark has counted: it keeps that for as long as the query runs."""
        if self._run is not None:
            spark = self._spark_books(self._run.reading().counts)
            self._accounts.change(lambda books: replace(books, spark=spark))

    def _spark_books(self, counts: SparkCounts) -> SparkBooks:
        return self._earlier.with_run(counts, self._count.filtered(counts) or 0)

    def reading(self, sinks: Sequence[SinkGauge], phase: Phase) -> WayReading:
        """What the run and its journals show."""
        if self._run is None:
            return self._before(sinks)
        run = self._run.reading()
        batch = run.batch
        journals = list(self._journals(run))
        return WayReading(
            started=is_under_way(run),
            stages=tuple(self._stages(run, journals)),
            edges=tuple(self._edges(run, journals, sinks)),
            ledger=self._ledger(run, journals, sinks, phase),
            batch=None if batch is None else Batch(batch.number, batch.rows, batch.seconds),
            checkpoint=self._checkpoint(run),
            lag=run.oldest,
            latencies=run.latencies,
            dead_letters=sum(each.all_misfits for each in run.inputs),
            last_dead_letters=last_dead_letters(run),
            spark_page=run.page,
        )

    def _before(self, sinks: Sequence[SinkGauge]) -> WayReading:
        """Nothing is there yet but the sources."""
        sources = tuple(stage_of(source) for source in self._sources.values())
        edges = [Edge(source.name, SPARK, 0, 0) for source in sources]
        edges += [edge_to(sink, SPARK, held_up=False, idle=True) for sink in sinks]
        stages = (*sources, Stage(SPARK, "spark", 0, detail="starts"))
        return WayReading(started=False, stages=stages, edges=tuple(edges), ledger=Ledger())

    def _stages(self, run: RunReading, journals: Sequence[JournalCount]) -> Iterator[Stage]:
        yield from (stage_of(source) for source in self._sources.values())
        yield from map(stage_of_journal, journals)
        yield Stage(
            SPARK,
            "spark",
            sum(each.done for each in run.inputs),
            detail=words_for(run),
            trouble=trouble_of(run),
            recent=signals(run.last_emitted),
            errors=errors_of(run),
        )

    def _edges(
        self, run: RunReading, journals: Sequence[JournalCount], sinks: Sequence[SinkGauge]
    ) -> Iterator[Edge]:
        for each in journals:
            for source in each.givers:
                yield edge_into(each.name, source, each.reading)
        for each in journals:
            journal = each.reading
            yield Edge(
                each.name,
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

    def _journals(self, run: RunReading) -> Iterator[JournalCount]:
        """The journals with their names: of several, each bears that of its source."""
        names = journal_names(self._sources, len(run.inputs))
        for (name, givers), each, reading in zip(
            names, self._through.inputs, run.inputs, strict=False
        ):
            source = self._source_of(each.publisher)
            yield JournalCount(name, givers, source, reading, replays=each.replay != "none")

    def _source_of(self, publisher: Publisher[Any]) -> SourceGauge | None:
        """The source whose elements go into a journal as they are."""
        names = (name for name, flow in self._entrances.items() if flow is publisher)
        return next((self._sources[name] for name in names), None)

    def _ledger(
        self,
        run: RunReading,
        journals: Sequence[JournalCount],
        sinks: Sequence[SinkGauge],
        phase: Phase,
    ) -> Ledger:
        passages = tuple(self._count.passages(run, journals, sinks, phase))
        missing = self._conservation.missing(passages, settled=phase != "running") or ()
        lost = [*lost_at(self._sources.values()), *causes_of(missing)]
        self._note(lost, journals)
        ledger = SparkLedger(
            run,
            journals,
            [(sink, self._accounts.of(sink)) for sink in sinks],
            self._spark_books(run.counts),
            self._accounts.books,
            filtered=self._count.filtered(run.counts),
            in_flight=sum(each.held(is_kept=self._count.is_kept(phase)) for each in journals),
            causes=(*(each.cause for each in self._losses), *lost),
            may_be_late=self._count.may_be_late and self._accounts.books.may_be_late,
            spark_sinks={name: each.level for name, each in self._spark_sinks.items()},
        )
        closed = at_all([(sink, self._accounts.closed_at(sink)) for sink in sinks])
        return ledger.made(passages, closed=closed, settled=phase != "running")

    def _note(self, lost: Sequence[Cause], journals: Sequence[JournalCount]) -> None:
        """Write down what is lost, once, and what nobody knows: the next run must know it too."""
        for each in lost:
            key = each.place, each.words
            if each.count is None:
                self._accounts.change(methodcaller("unsure_of", "lost"))
            elif (more := each.count - self._noted.get(key, 0)) > 0:
                self._noted[key] = each.count
                self._accounts.change(methodcaller("missed", Loss(more, *key)))
        if self._accounts.books.restarts:
            unreplayed = [each.giver for each in journals if each.goes_on_without]
            self._accounts.change(methodcaller("not_replayed", unreplayed))

    def _checkpoint(self, run: RunReading) -> str:
        """The last batch that the checkpoint has, of this run or of an earlier one."""
        if self._through.checkpoint is None:
            return "none"
        return "new" if run.done_batch < 0 else f"{run.done_batch:,} ok"


def errors_of(run: RunReading) -> tuple[Signal, ...]:
    """How Spark has failed, if it has."""
    if run.failure is None:
        return ()
    return signals([run.failure._replace(thing=in_words(run.failure.thing))])


def last_dead_letters(run: RunReading) -> tuple[Signal, ...]:
    """Those of all inputs, the newest last."""
    return signals(sorted(chain.from_iterable(each.last_misfits for each in run.inputs)))


def journal_names(sources: Iterable[str], journals: int) -> list[tuple[str, tuple[str, ...]]]:
    """The names of the journals, each with those of the sources that lead there."""
    names = tuple(sources)
    if journals == 1:
        return [("journal", names)]
    if journals == len(names):
        return [(f"{name} journal", (name,)) for name in names]
    return [(f"journal {number}", names) for number in range(1, journals + 1)]


def edge_into(name: str, source: str, journal: InputReading) -> Edge:
    """From a source to its journal."""
    return Edge(
        source,
        name,
        journal.requested,
        journal.admitted,
        held_up=journal.full,
        idle=not (journal.full or journal.sealed),
    )


def stage_of_journal(each: JournalCount) -> Stage:
    """A journal as a stage; what it got last is what its source gave last."""
    journal = each.reading
    held = f"{journal.bytes / MEGABYTE:.1f} of {journal.max_bytes / MEGABYTE:.0f} MB"
    rows = f"{journal.waiting:,} of {journal.max_rows:,} rows"
    return Stage(
        each.name,
        "journal",
        journal.done,
        detail=f"{rows}, {held}",
        recent=() if each.source is None else each.source.recent.signals(),
        dead_letters=journal.all_misfits,
        last_dead_letters=signals(journal.last_misfits),
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
    """A query that was lost and is started again, or cannot write."""
    if run.is_out_of_space:
        return "there is no space where it writes; it goes on when there is"
    if run.started or not run.restarts:
        return ""
    return "it has lost a worker, and goes on from the checkpoint in a moment"
