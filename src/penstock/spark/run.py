"""One run of a pipeline through Spark: journals, query and rows, from subscribe to the end.

A run has one thread that looks after it. It begins to record at once, while Spark starts; then it
watches the query, says which rows Spark is done with, and ends all that it began.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from contextvars import copy_context
from functools import partial
from time import monotonic, time
from typing import Any, Final

from penstock.api import Publisher
from penstock.core import COMPLETED
from penstock.flow import Flow
from penstock.flow.engine.event_loop import remember_running_loop
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.observe.meters import EmittedMeter, RowAges, Timestamped
from penstock.observe.status import BatchStatus
from penstock.runtime import ThreadPool, report_undelivered
from penstock.spark.checkpoint import Checkpoint, CheckpointProgress
from penstock.spark.egress.batch_counts import BatchCounts
from penstock.spark.egress.batch_delivery import BatchDelivery
from penstock.spark.egress.query import NativeSink, Query, Retries
from penstock.spark.egress.rows import Decode
from penstock.spark.failures import OutOfSpace, SparkFailed, Stopped, WorkerLost
from penstock.spark.ingest.conversion import Converter, WithoutPositions
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.journal import Journal, JournalError
from penstock.spark.plan import SparkInput, SparkPlan, require_resumable
from penstock.spark.run_counts import InputCounts, RunCounts, input_counts
from penstock.spark.session.spark_session import require_startable, spark_session
from penstock.spark.state import with_state_checked
from penstock.spark.workers.journal_source import JournalRead
from penstock.spark.workers.pickling import divided, require_sendable

__all__ = ["SparkRun"]

BUSY: Final = 0.02
"""The seconds between two looks at a query that has something to do."""
QUIET: Final = 0.25
ENDING: Final = 30.0
"""The seconds that a run may take to end."""
LATENCIES: Final = 1000

logger = logging.getLogger("penstock")
stopping: Final[set[SparkRun]] = set()
"""The runs of this process that were stopped: until they have ended, they hold their places."""


class SparkRun:
    """Takes one subscription to a pipeline from its inputs to its rows, and to its end."""

    def __init__(
        self,
        plan: SparkPlan,
        run: RunContext,
        decode: Decode | None,
        sink: NativeSink | None = None,
    ) -> None:
        self._plan = plan
        self._sink = sink
        self._emitted = EmittedMeter()
        is_watched = plan.watch is not None  # else nobody pays for what nobody can read
        passed = self._emitted.passed if is_watched else None
        self.batch_counts = BatchCounts(enabled=is_watched)
        self._woken = threading.Event()
        self._delivering = BatchDelivery(
            plan, decode, run, self.stop, self._fail, self._woken.set, passed
        )
        self._emitter = self._delivering.emitter
        self._stopped = False
        self._journals: list[Journal] = []
        self._recorders: list[JournalSubscriber] = []
        self._ages: list[RowAges] = []
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._done = self._done_before = CheckpointProgress(-1, ())
        self._done_at = monotonic()
        self._last_batch: BatchStatus | None = None
        self._replayed: tuple[tuple[int, int], ...] = ()
        self._query: Query | None = None
        self._failure: Timestamped | None = None
        self._retries = Retries(plan.name)
        self._draining = False

    def elements(self) -> Elements:
        """What comes out. The run begins, and ends at the latest when these are closed."""
        name = f"penstock-spark-{self._plan.name}"
        # The inputs are subscribed to on that thread, and find the subscriber's asyncio loop here.
        context = copy_context()
        remember_running_loop(context)
        self._thread = threading.Thread(
            target=context.run, args=(self._work,), name=name, daemon=True
        )
        self._thread.start()
        return self._emitter.elements()

    def stop(self) -> None:
        """Nobody wants anything any more. Returns at once."""
        self._stopped = True
        if self._thread.is_alive():
            stopping.add(self)
        for recorder in tuple(self._recorders):
            recorder.cancel()  # the inputs need not wait until Spark has stopped
        self._woken.set()

    def drain(self) -> None:
        """Take nothing more from the inputs, and complete when Spark is done with what has come.

        The journals are not sealed: the next run goes on where the inputs were left.
        """
        self._draining = True
        for recorder in tuple(self._recorders):
            recorder.drain()
        self._woken.set()

    def snapshot(self) -> RunCounts:
        """What it does now. From any thread."""
        latencies = tuple(self._latencies.popleft() for _ in range(len(self._latencies)))
        oldest = [age for ages in tuple(self._ages) if (age := ages.oldest) is not None]
        query = self._query
        return RunCounts(
            started=query is not None,
            restarts=self._retries.restarts,
            inputs=tuple(self._input_counts()),
            batch=self._last_batch,
            done_batch=self._done.batch,
            delivering=self._emitter.waits,
            # Read after the inputs: what Spark is done with has come out before.
            emitted=self._emitted.count,
            emitted_rows=self._emitted.rows,
            last_emitted=self._emitted.last,
            failure=self._failure,
            oldest=max(oldest, default=None),
            latencies=latencies,
            replayed=self._replayed,
            page=None if query is None else query.page,
            is_out_of_space=self._retries.is_out_of_space,
            counts=self.batch_counts.totals,
        )

    def _input_counts(self) -> Iterator[InputCounts]:
        done = zip(self._done.positions, self._done_before.positions, strict=True)
        parts = zip(self._plan.inputs, self._journals, self._recorders, done, strict=False)
        for each, journal, recorder, (position, position_before) in parts:
            yield input_counts(each, journal, recorder, position, position_before)

    # The thread of the run.

    def _work(self) -> None:
        try:
            with ExitStack() as leaving:
                self._go(leaving)
        except Stopped:
            return
        except Exception as error:
            self._end(error)
        else:
            self._end(COMPLETED)
        finally:
            stopping.discard(self)

    def _end(self, ending: Exception) -> None:
        if self._stopped and ending is not COMPLETED:
            report_undelivered(ending, f"the pipeline {self._plan.name} had been cancelled")
        else:
            if isinstance(ending, SparkFailed):
                self._failure = Timestamped(time(), ending)
            self._emitter.end(ending)

    def _go(self, leaving: ExitStack) -> None:
        plan = self._plan
        require_resumable(plan)
        require_startable(plan.settings)
        require_sendable(plan)
        self._wait_for_others()
        checkpoint = Checkpoint(plan.checkpoint or self._temporary_folder(leaving))
        checkpoint.claim(plan.name, [each.schema.ddl for each in plan.inputs])
        for number, each in enumerate(plan.inputs):
            self._journals.append(self._opened(each, checkpoint.for_journal(number), leaving))
        checkpoint.require_whole(self._journals)
        self._done = self._done_before = checkpoint.progress(self._journals)
        self.batch_counts.go_on_after(self._done.batch)
        self._replayed = checkpoint.unfinished(self._journals)
        inputs = [each if plan.checkpoint else each.live for each in plan.inputs]
        # All at once: one that cannot go on must not find that others have begun.
        sources = list(map(after_journal, inputs, self._journals))
        if plan.watch is not None:
            plan.watch(self)
        leaving.callback(self._delivering.close)
        self._delivering.open(None if plan.checkpoint is None else checkpoint.begin_run())
        for each, journal, source in zip(inputs, self._journals, sources, strict=True):
            self._record(each, journal, source, leaving)
        if self._stopped:
            return  # before Spark is started for nobody
        session = spark_session(plan.settings)
        while not self._stopped:
            query = Query(session, plan.name, counts=self.batch_counts.enabled)
            try:
                self._watch(query, checkpoint)
                return
            except (WorkerLost, OutOfSpace) as failure:
                self._pause(self._retries.pause_after(failure))
            finally:
                self.batch_counts.update(query)
                self._query = None
                query.stop()

    def _wait_for_others(self) -> None:
        """Let a run end that had the same checkpoint; it was stopped a moment ago."""
        for other in tuple(stopping):
            if other._thread is not self._thread and other._uses(self._plan.checkpoint):
                other._thread.join(ENDING)
            if not other._thread.is_alive():
                stopping.discard(other)

    def _uses(self, checkpoint: str | None) -> bool:
        return checkpoint is not None and self._plan.checkpoint == checkpoint

    def _temporary_folder(self, leaving: ExitStack) -> str:
        folder = tempfile.mkdtemp(prefix="penstock-")
        leaving.callback(shutil.rmtree, folder, ignore_errors=True)
        logger.info("%s has no checkpoint: a crash loses its rows", self._plan.name)
        return folder

    def _opened(self, each: SparkInput, place: str, leaving: ExitStack) -> Journal:
        journal = Journal.open(
            place, each.schema.arrow, max_rows=each.max_rows, max_bytes=each.max_bytes
        )
        leaving.callback(journal.close)
        return journal

    def _record(
        self, each: SparkInput, journal: Journal, source: Publisher[Any], leaving: ExitStack
    ) -> None:
        """Let the elements of an input into its journal, after those that it has already."""
        ages = RowAges()
        if journal.end > journal.start:
            ages.note(journal.end)
        self._ages.append(ages)
        converter = Converter(each.schema)
        recorder = JournalSubscriber(
            journal,
            WithoutPositions(converter) if each.has_positions else converter,
            on_failure=self._fail,
            on_dead_letter=each.on_dead_letter,
            on_appended=ages.note,
            on_recorded=each.on_recorded,
            position_of=each.recorded_position_of,
            replays=each.replays,
        )
        self._recorders.append(recorder)
        source = on_own_thread(source, leaving)
        leaving.callback(recorder.stop)
        if not journal.sealed:
            source.subscribe(recorder)
        if self._draining:
            recorder.drain()

    def _fail(self, error: Exception) -> None:
        """Upstream's error goes out at once, ahead of the rows that are on their way."""
        if not self._stopped:
            self._emitter.end(error)
            self.stop()
        elif isinstance(error, JournalError):
            report_undelivered(error, f"the pipeline {self._plan.name} had been cancelled")
        # Else a source takes it for a failure that it is no longer wanted.

    def _watch(self, query: Query, checkpoint: Checkpoint) -> None:
        """Start the query, and return when it has processed all that will ever come."""
        through, rest = divided(self._plan)
        self.batch_counts.reads(through=through is not None)
        journals = [checkpoint.for_journal(number) for number in range(len(self._journals))]
        query.start(
            [
                JournalRead(journal, self._plan.batch_rows, checkpoint.place, through)
                for journal in journals
            ],
            with_state_checked(rest.transform, self._plan, checkpoint),
            self._sink or self._delivering.target(partial(self.batch_counts.arrived, query)),
            self._plan.output_mode,
            checkpoint.for_spark,
        )
        self._query = query
        while True:
            self._woken.wait(QUIET if self._rests else BUSY)
            self._woken.clear()
            if self._stopped:
                raise Stopped("nobody wants the rows")
            query.require_active()
            self._free(checkpoint)
            self.batch_counts.update(query, self._done.batch)
            if self._has_all and query.is_idle:
                return

    def _free(self, checkpoint: Checkpoint) -> None:
        """Let go of the rows with which Spark is done for good: so says its commit log.

        Spark does not sync that log. So the rows of its last batch stay, for the case that the end
        of the log is lost, until the next batch is done or nothing else could make room.
        """
        if not self._is_through:
            progress = checkpoint.progress(self._journals, self._done)
            if progress is not self._done:
                before, self._done = self._done, progress
                self._retries.progressed()
                self._measure(before)
                for recorder, position in zip(self._recorders, before.positions, strict=True):
                    recorder.committed(position)
        if self._is_through:
            for recorder, position in zip(self._recorders, self._done.positions, strict=True):
                if recorder.waits_for_room:
                    recorder.committed(position)

    def _measure(self, before: CheckpointProgress) -> None:
        """Note how long the rows took that are done now."""
        rows = sum(self._done.positions) - sum(before.positions)
        ages = zip(self._ages, self._done.positions, strict=True)
        seconds = [each for age, position in ages for each in age.done(position)]
        self._latencies.extend(seconds)
        now = monotonic()
        taken = min(now - self._done_at, max(seconds, default=0.0))
        self._last_batch = BatchStatus(self._done.batch, rows, taken)
        self._done_at = now

    @property
    def _rests(self) -> bool:
        """Whether nothing will change soon without a call."""
        return self._emitter.waits or (
            self._is_through
            and not self._has_all
            and not any(recorder.waits_for_room for recorder in self._recorders)
        )

    @property
    def _is_through(self) -> bool:
        """Whether Spark is done with all rows that are there."""
        ends = tuple(journal.end for journal in self._journals)
        return self._done.positions == ends

    @property
    def _has_all(self) -> bool:
        """Whether Spark is done with the last row of every input that will be taken."""
        # Asked first: until it is over, a recorder may append rows.
        is_over = all(
            journal.sealed or recorder.is_over
            for journal, recorder in zip(self._journals, self._recorders, strict=True)
        )
        return is_over and self._is_through

    def _pause(self, seconds: float) -> None:
        """Wait before the query is started again."""
        self._woken.clear()  # what was to be looked at belonged to the query that is over
        if not self._stopped:
            self._woken.wait(seconds)


def after_journal(each: SparkInput, journal: Journal) -> Publisher[Any]:
    """The elements of an input that its journal does not have yet; if it is sealed, nobody asks."""
    last = journal.last_source_position
    if last is None or journal.sealed:
        return each.resumed(0, None)
    return each.resumed(last["elements"], last["position"])


def on_own_thread(source: Publisher[Any], leaving: ExitStack) -> Publisher[Any]:
    """``source`` on a thread of its own, if it makes its elements on whatever thread asks for them.

    Else the thread of the journal would make them, and write none before it had all it asked for.
    A flow that waits may do so, too: one operator that waits for something else is enough,
    downstream of a source that makes each element when it is pulled.
    """
    if not isinstance(source, Flow) or source.plan.origin.executor is not None:
        return source
    pool = ThreadPool(name="penstock-input")
    leaving.callback(pool.close, wait=False)
    return source.subscribe_on(pool)
