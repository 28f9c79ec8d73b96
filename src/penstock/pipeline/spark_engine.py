"""The way through Spark: a journal for each source, the query, and its rows for the sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import methodcaller
from typing import Any

from penstock.api import Publisher
from penstock.delivery import BatchesLost
from penstock.flow.resume.planning import CannotResume
from penstock.observe.ledger import Cause, Conservation, Ledger
from penstock.observe.meters import SinkMeter, SourceMeter, element_signals, in_words, signals
from penstock.observe.status import EdgeStatus, Signal, StageStatus, State, Status
from penstock.pipeline.assembly import Assembly, AssemblyError, RunTarget
from penstock.pipeline.engine import (
    Phase,
    at_all,
    causes_of,
    edge_to,
    lost_at,
    stage_of,
)
from penstock.pipeline.history import Loss, RunHistory, SparkHistory
from penstock.pipeline.inside_spark import engine_status, flows_around
from penstock.pipeline.journal_stages import (
    edge_into,
    edge_out_of,
    journal_names,
    stage_of_journal,
)
from penstock.pipeline.run_log import RunLog, RunTotals, totals_of
from penstock.pipeline.sink_accounts import SinkAccounts
from penstock.pipeline.sinks import SinkBatches
from penstock.pipeline.spark_ledger import SPARK, JournalPassages, SparkLedger, SparkPassages
from penstock.pipeline.spark_sinks import require_fitting_sinks
from penstock.pipeline.stream_sources import StreamSources, require_own_session
from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.deployment import Deployment, deployed, from_spark_in
from penstock.spark.egress.batch_counts import SparkCounts
from penstock.spark.plan import SparkPlan, require_resumable
from penstock.spark.run import SparkRun
from penstock.spark.run_counts import RunCounts

__all__ = ["SparkEngine", "spark_engine"]


class SparkEngine:
    """A flow that runs on Spark, as it is deployed."""

    def __init__(self, assembly: Assembly, target: RunTarget, batches: SinkBatches) -> None:
        self._batches = batches
        self._accounts = SinkAccounts(batches, self._keep_history)
        self._accounts.on_close = self._note_rest
        deployment = Deployment(
            name=assembly.name,
            checkpoint=target.checkpoint,
            master=target.master,
            remote=target.remote,
            ui=target.spark_page,
            watch=self._began,
            batches=self._accounts,
            accept_state_change=target.accept_state_change,
            accept_lost_batches=target.accept_lost_batches,
            sinks=tuple(assembly.spark_sinks.values()),
            rows=bool(assembly.element_sinks),
        )
        self.flow = deployed(assembly.flow, deployment)
        origin = from_spark_in(self.flow)
        assert origin is not None  # else it would not go through Spark
        self._plan = origin.plan
        self._count = SparkPassages(origin, self.flow)
        self._sources = assembly.sources
        self._spark_sinks = assembly.spark_sinks
        self._entrances = assembly.entrances
        self._streams = StreamSources(self._plan, assembly)
        names = [name for name, _ in self._journal_names(len(self._plan.journaled))]
        self._flows = flows_around(self._plan, self.flow, names)
        self._conservation = Conservation()
        self._run: SparkRun | None = None
        self._draining = False
        self._earlier = SparkHistory()
        self._losses: tuple[Loss, ...] = ()
        self._noted: dict[tuple[str, str], int] = {}
        self._log = RunLog(self._plan.checkpoint)

    @property
    def plan(self) -> SparkPlan:
        """What happens on Spark, as data."""
        return self._plan

    @property
    def checkpoint_place(self) -> str | None:
        """Where it goes on from when it is run again."""
        return self._plan.checkpoint

    def require_own_checkpoint(self) -> None:
        """Refuse the checkpoint of another pipeline, or one that it could not go on from."""
        if self._plan.checkpoint is not None:
            try:
                require_resumable(self._plan)
                Checkpoint(self._plan.checkpoint).holds(self._plan.name, self._plan.identities)
            except (CannotResume, CheckpointError) as error:
                raise AssemblyError(str(error)) from error

    def open_sinks(self) -> None:
        """The run opens them, once its checkpoint is known to be whole."""

    def close_sinks(self) -> None:
        """The run closes them, once no batch is under way."""

    def watch_sinks(self, sinks: Sequence[SinkMeter]) -> None:
        """What they are given is written down, batch by batch."""
        self._accounts.watch(sinks)

    def drain(self) -> None:
        """Let Spark go through what the journals hold and what it computes, and no more."""
        self._draining = True
        if self._run is not None:
            self._run.drain()

    def _began(self, run: SparkRun) -> None:
        """The journals are open: now is known what Spark does once more."""
        if self._plan.checkpoint is not None:
            self._open_history(Checkpoint(self._plan.checkpoint), run.snapshot())
            self._log.begin(totals_of(self._accounts.history, run.taken_before))
        # Where the end of Spark's log was lost it does a batch again that was counted.
        if self._earlier.batch > run.snapshot().done_batch:
            run.batch_counts.go_on_after(self._earlier.batch)
        run.batch_counts.listener = self._note_counts
        self._run = run
        if self._draining:
            run.drain()

    def _open_history(self, checkpoint: Checkpoint, run: RunCounts) -> None:
        """Go on with the history of the last run."""
        history = RunHistory.opened(checkpoint)
        stateful = self._count.may_be_late and (history or RunHistory()).may_be_late
        streamed = bool(self._plan.streams)
        if history is None:
            history = RunHistory().with_gaps(run.done_batch, stateful=stateful, streamed=streamed)
        else:
            again = run.unfinished_batch if streamed else None
            if again is not None and history.at_rest and again > history.batch:
                again = None  # it was planned, and nobody saw anything of it
            history = history.restarted(
                run.replayed, run.done_batch, stateful=stateful, streamed=streamed, again=again
            )
        self._batches.had = history.had_by_sinks(run.done_batch)
        if self._plan.accept_lost_batches:
            self._batches.on_lost = self._note_accepted
        self._accounts.adopt(history)
        self._earlier, self._losses = history.spark, history.all_losses
        self._keep_history()

    def _note_accepted(self, sink: str, lost: BatchesLost) -> None:
        self._accounts.change(methodcaller("accepted", sink, lost.args[0]))

    def _note_rest(self) -> None:
        """The run is over; Spark may have planned a batch, of which nobody saw anything."""
        if self._run is not None:
            run = self._run.snapshot()
            if run.begun_batch <= run.done_batch:
                self._accounts.change(lambda history: replace(history, at_rest=True))

    def _keep_history(self) -> None:
        if self._plan.checkpoint is not None:
            self._accounts.history.keep(Checkpoint(self._plan.checkpoint))
            self._log.seen()

    def _note_counts(self) -> None:
        """Write down what Spark has counted: it keeps that for as long as the query runs."""
        if self._run is not None:
            counts = self._run.snapshot().counts
            spark = self._spark_history(counts)
            self._accounts.change(lambda history: replace(history, spark=spark))
            if counts.uncounted:
                self._accounts.change(methodcaller("unsure_of", "taken"))

    def _spark_history(self, counts: SparkCounts) -> SparkHistory:
        return self._earlier.with_run(counts, self._count.filtered(counts) or 0)

    def status(self, sinks: Sequence[SinkMeter], phase: Phase) -> Status:
        """What the run and its journals show."""
        if self._run is None:
            return self._before(sinks)
        run = self._run.snapshot()
        journals = list(self._journals(run))
        return Status(
            state="running" if is_under_way(run) else "starting",
            stages=tuple(self._stages(run, journals)),
            edges=tuple(self._edges(run, journals, sinks)),
            ledger=self._ledger(run, journals, sinks, phase),
            batch=run.batch,
            checkpoint=self._checkpoint(run),
            lag=run.oldest,
            latencies=self._run.new_latencies(),
            dead_letters=sum(each.all_dead_letters for each in run.inputs),
            last_dead_letters=last_dead_letters(run),
            kept=run.kept,
            runs=self._log.recent,
            engine=engine_status(run, self._flows, keeps=self._plan.checkpoint is not None),
            spark_page=run.page,
        )

    def log_end(
        self, state: State, error: Exception | None, sinks: Sequence[SinkMeter], phase: Phase
    ) -> None:
        """Write down how the run has ended."""
        if self._run is not None and self._plan.checkpoint is not None:
            run = self._run.snapshot()
            ledger = self._ledger(run, list(self._journals(run)), sinks, phase)
            self._log.end(state, error, RunTotals.of(ledger))

    def _before(self, sinks: Sequence[SinkMeter]) -> Status:
        """Nothing is there yet but the sources."""
        sources = tuple(stage_of(source) for source in self._sources.values())
        edges = [EdgeStatus(source.name, SPARK, 0, 0) for source in sources]
        edges += [edge_to(sink, SPARK, held_up=False, idle=True) for sink in sinks]
        stages = (*sources, StageStatus(SPARK, "spark", 0, detail="starts", unit="rows"))
        ledger = Ledger(lost=0, duplicated=0) if self._accounts.is_first_run else Ledger()
        return Status("starting", stages=stages, edges=tuple(edges), ledger=ledger)

    def _stages(self, run: RunCounts, journals: Sequence[JournalPassages]) -> Iterator[StageStatus]:
        for source in self._sources.values():
            yield self._streams.stage(source, run) or stage_of(source)
        yield from map(stage_of_journal, journals)
        yield StageStatus(
            SPARK,
            "spark",
            sum(each.done for each in run.inputs) + sum(run.counts.streamed),
            detail=words_for(run, streamed=bool(self._plan.streams)),
            trouble=trouble_of(run),
            recent=element_signals(run.last_emitted),
            errors=errors_of(run),
            unit="rows",
        )

    def _edges(
        self, run: RunCounts, journals: Sequence[JournalPassages], sinks: Sequence[SinkMeter]
    ) -> Iterator[EdgeStatus]:
        for each in journals:
            for source in each.givers:
                yield edge_into(each.name, self._sources[source], each.reading)
        for each in journals:
            yield edge_out_of(each, SPARK, self._plan.batch_rows, is_under_way=is_under_way(run))
        yield from self._streams.edges(run, sinks)
        for sink in sinks:
            wants = sink.wants
            yield edge_to(sink, SPARK, held_up=run.delivering and not wants, idle=wants)

    def _journals(self, run: RunCounts) -> Iterator[JournalPassages]:
        """The journals with their names: of several, each bears that of its source."""
        names = self._journal_names(len(run.inputs))
        for (name, givers), each, reading in zip(
            names, self._plan.journaled, run.inputs, strict=False
        ):
            source = self._source_of(each.publisher)
            yield JournalPassages(name, givers, source, reading, replays=each.replay != "none")

    def _journal_names(self, journals: int) -> list[tuple[str, tuple[str, ...]]]:
        sources = [name for name in self._sources if name not in self._streams.names]
        return journal_names(sources, journals)

    def _source_of(self, publisher: Publisher[Any]) -> SourceMeter | None:
        """The source whose elements go into a journal as they are."""
        names = (name for name, flow in self._entrances.items() if flow is publisher)
        return next((self._sources[name] for name in names), None)

    def _ledger(
        self,
        run: RunCounts,
        journals: Sequence[JournalPassages],
        sinks: Sequence[SinkMeter],
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
            self._spark_history(run.counts),
            self._accounts.history,
            filtered=self._count.filtered(run.counts),
            in_flight=sum(each.held(is_kept=self._count.is_kept(phase)) for each in journals),
            causes=(*(each.cause for each in self._losses), *lost),
            may_be_late=self._count.may_be_late and self._accounts.history.may_be_late,
            spark_sinks={name: each.level for name, each in self._spark_sinks.items()},
            streamed=bool(self._plan.streams),
        )
        closed = at_all([(sink, self._accounts.closed_at(sink)) for sink in sinks])
        return ledger.made(passages, closed=closed, settled=phase != "running")

    def _note(self, lost: Sequence[Cause], journals: Sequence[JournalPassages]) -> None:
        """Write down what is lost, once, and what nobody knows: the next run must know it too."""
        for each in lost:
            key = each.place, each.words
            if each.count is None:
                self._accounts.change(methodcaller("unsure_of", "lost"))
            elif (more := each.count - self._noted.get(key, 0)) > 0:
                self._noted[key] = each.count
                self._accounts.change(methodcaller("missed", Loss(more, *key)))
        if self._accounts.history.restarts:
            unreplayed = [each.giver for each in journals if each.goes_on_without]
            unreplayed += self._streams.unreplayed
            self._accounts.change(methodcaller("not_replayed", unreplayed))

    def _checkpoint(self, run: RunCounts) -> str:
        """The last batch that the checkpoint has, of this run or of an earlier one."""
        if self._plan.checkpoint is None:
            return "none"
        return "new" if run.done_batch < 0 else f"{run.done_batch:,} ok"


def spark_engine(assembly: Assembly, target: RunTarget, batches: SinkBatches) -> SparkEngine | None:
    """The engine of a flow that comes from Spark; ``None`` if it only has an input from there."""
    try:
        origin = from_spark_in(assembly.flow)
    except ValueError as error:
        raise AssemblyError(f"{assembly.name}: {error}") from error
    if origin is None:
        return None
    require_fitting_sinks(assembly, origin)
    require_own_session(assembly, target, origin.plan)
    try:
        return SparkEngine(assembly, target, batches)
    except CheckpointError as error:
        raise AssemblyError(str(error)) from error


def errors_of(run: RunCounts) -> tuple[Signal, ...]:
    """How Spark has failed, if it has."""
    if run.failure is None:
        return ()
    return signals([run.failure._replace(thing=in_words(run.failure.thing))])


def last_dead_letters(run: RunCounts) -> tuple[Signal, ...]:
    """Those of all inputs, the newest last."""
    return signals(sorted(chain.from_iterable(each.last_dead_letters for each in run.inputs)))


def is_under_way(run: RunCounts) -> bool:
    """Whether Spark has shown that it works, or has nothing to show it with."""
    idle = not any(each.waiting for each in run.inputs)
    return run.started and (run.batch is not None or run.delivering or idle)


def words_for(run: RunCounts, *, streamed: bool) -> str:
    """What Spark is at; of what it reads itself nobody here knows how much there is."""
    if not is_under_way(run):
        return "starts"
    if run.begun_batch > run.done_batch:
        return f"is at batch {run.begun_batch:,}"
    if run.oldest is None and streamed:
        return "waits for rows, or until some are wanted"
    if run.oldest is None:
        return "has done all there is"
    return f"lag {run.oldest:.1f} s"


def trouble_of(run: RunCounts) -> str:
    """A query that was lost and is started again, or cannot write."""
    if run.is_out_of_space:
        return "there is no space where it writes; it goes on when there is"
    if run.started or not run.restarts:
        return ""
    return "it has lost a worker, and goes on from the checkpoint in a moment"
