"""One run of a pipeline through Spark: journals, query and rows, from subscribe to the end.

A run has one thread that looks after it. It begins to record at once, while Spark starts; then it
watches the query, says which rows Spark is done with, and ends all that it began.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from time import monotonic, time
from typing import Final

from penstock.core import COMPLETED
from penstock.flow.engine.event_loop import remember_running_loop
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.observe.meters import EmittedMeter, Timestamped
from penstock.observe.status import BatchStatus
from penstock.runtime import report_undelivered
from penstock.runtime.program_exit import join_at_exit
from penstock.spark.checkpoint import Checkpoint, CheckpointProgress
from penstock.spark.checkpoint_place import require_place_for_spark
from penstock.spark.egress.batch_counts import BatchCounts
from penstock.spark.egress.batch_delivery import BatchDelivery
from penstock.spark.egress.file_log import require_own_log
from penstock.spark.egress.query import NativeSink, Query, Retries
from penstock.spark.egress.rows import Decode
from penstock.spark.failures import OutOfSpace, SparkFailed, Stopped, WorkerLost
from penstock.spark.journal import JournalError
from penstock.spark.journaled_inputs import JournaledInputs, input_place, reads_of
from penstock.spark.plan import SparkInput, SparkPlan, require_resumable
from penstock.spark.run_counts import RunCounts
from penstock.spark.session.spark_session import require_startable, spark_session
from penstock.spark.state import with_state_checked
from penstock.spark.temporary_folder import TemporaryFolder
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
            plan, decode, run, self.stop, self._fail, self._delivered, passed
        )
        self._emitter = self._delivering.emitter
        self._stopped = False
        self._inputs = JournaledInputs(plan.journaled, self._fail)
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._done = self._done_before = CheckpointProgress(-1, ())
        self._done_at = monotonic()
        self._last_batch: BatchStatus | None = None
        self._counted_batch: BatchStatus | None = None
        self._replayed: tuple[tuple[int, int], ...] = ()
        self._unfinished: int | None = None
        self._query: Query | None = None
        self._failure: Timestamped | None = None
        self._retries = Retries(plan.name)
        self._draining = False
        self._streams_are_over = not plan.streams

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
            join_at_exit(self._thread)
        self._inputs.cancel()  # they need not wait until Spark has stopped
        self._woken.set()

    def _delivered(self, number: int) -> None:
        """On the thread of Spark's call."""
        self.batch_counts.delivered(number)
        self._woken.set()

    def drain(self) -> None:
        """Take nothing more from the inputs, and complete when Spark is done with what has come.

        Of what Spark reads itself, that is the batch that it computes, if it does.
        The journals are not sealed: the next run goes on where the inputs were left.
        """
        self._draining = True
        self._inputs.drain()
        self._woken.set()

    def new_latencies(self) -> tuple[float, ...]:
        """The seconds that rows took to the end of their batch, since the last call."""
        return tuple(self._latencies.popleft() for _ in range(len(self._latencies)))

    @property
    def taken_before(self) -> tuple[tuple[int, int], ...]:
        """Of each journal, what earlier runs have taken; asked before this one takes anything."""
        return self._inputs.taken_before

    def snapshot(self) -> RunCounts:
        """What it does now. From any thread."""
        query = self._query
        return RunCounts(
            started=query is not None,
            restarts=self._retries.restarts,
            inputs=tuple(self._inputs.counts(self._done, self._done_before)),
            batch=self._shown_batch(),
            done_batch=self._done.batch,
            delivering=self._emitter.waits,
            # Read after the inputs: what Spark is done with has come out before.
            emitted=self._emitted.count,
            emitted_rows=self._emitted.rows,
            last_emitted=self._emitted.last,
            failure=self._failure,
            oldest=self._inputs.oldest,
            replayed=self._replayed,
            page=None if query is None else query.page,
            is_out_of_space=self._retries.is_out_of_space,
            counts=self.batch_counts.totals,
            begun_batch=self._emitter.admitted,
            unfinished_batch=self._unfinished,
            done_since=None if self._last_batch is None else monotonic() - self._done_at,
        )

    def _shown_batch(self) -> BatchStatus | None:
        """The last batch; of what Spark reads itself, the last one whose rows it has told.

        Only Spark knows how long it took: between two looks of ours, several may be done.
        """
        last, counts = self._last_batch, self.batch_counts.totals
        if last is None:
            return None
        if counts.batch == last.number and counts.phases:
            last = replace(last, seconds=sum(each for _, each in counts.phases))
        if not self._plan.streams:
            return last
        if counts.batch == last.number and counts.last_planned is not None:
            self._counted_batch = replace(last, rows=counts.last_planned)
        return self._counted_batch

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
        require_place_for_spark(checkpoint.place, plan.settings, is_native=self._sink is not None)
        self._delivering.check_before(checkpoint)
        checkpoint.claim(plan.name, plan.identities)
        checkpoint.copy_for_spark(leaving)
        self._inputs.open(checkpoint, leaving)
        journals = self._inputs.journals
        checkpoint.require_whole(journals)
        self._done = self._done_before = checkpoint.progress(journals)
        self.batch_counts.go_on_after(self._done.batch)
        if self._sink is not None:
            require_own_log(self._sink, checkpoint.planned_batch)
        self._replayed = checkpoint.unfinished(journals)
        self._unfinished = checkpoint.unfinished_batch
        self._inputs.resume(kept=plan.checkpoint is not None)
        if plan.watch is not None:
            plan.watch(self)
        leaving.callback(self._delivering.close)
        self._delivering.open(None if plan.checkpoint is None else checkpoint.begin_run())
        self._inputs.record(leaving, self._done)
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
        folder = TemporaryFolder()
        leaving.callback(folder.remove)
        logger.info("%s has no checkpoint: a crash loses its rows", self._plan.name)
        return str(folder.path)

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
        query.start(
            list(reads_of(self._plan, checkpoint, through)),
            with_state_checked(rest.transform, self._plan, checkpoint),
            self._sink
            or self._delivering.target(
                partial(self.batch_counts.arrived, query),
                lambda: not self._has_done_journals,
                checkpoint.keep if checkpoint.has_copy else None,
            ),
            self._plan.output_mode,
            checkpoint.for_spark,
            until_end=self._plan.until_end,
        )
        self._query = query
        self._look_for_ends(checkpoint)
        while True:
            self._woken.wait(QUIET if self._rests else BUSY)
            self._woken.clear()
            if self._stopped:
                raise Stopped("nobody wants the rows")
            before = self._done
            self._free(checkpoint)
            if self._done is not before:
                self._look_for_ends(checkpoint)
            if self._is_to_be_left and self._has_all:
                if self._has_left(query):
                    return
                continue
            has_read_all = query.has_read_all  # asked before: it may fail in between
            query.require_active()
            self.batch_counts.update(query, self._done.batch)
            if has_read_all:
                self._free_all(checkpoint)
                return
            if self._has_all and query.is_idle:
                return

    @property
    def _is_to_be_left(self) -> bool:
        """Whether Spark would not rest by itself when it has all, and has to be told."""
        return self._plan.ticks or (self._draining and bool(self._plan.streams))

    def _has_left(self, query: Query) -> bool:
        """Let Spark compute no further batch of what it reads itself; whether it computes none."""
        self._emitter.admit_no_more()
        # Looked at again: a batch may just have been let in.
        return self._has_all and (query.rests or self._sink is not None)

    def _free_all(self, checkpoint: Checkpoint) -> None:
        """The query has ended by itself: take note of all that it has done."""
        before = None
        while before is not self._done:
            before = self._done
            self._free(checkpoint)

    def _free(self, checkpoint: Checkpoint) -> None:
        """Let go of the rows with which Spark is done for good: so says its commit log.

        Spark does not sync that log. So the rows of its last batch stay, for the case that the end
        of the log is lost, until the next batch is done or nothing else could make room.
        """
        if not self._is_through:
            progress = checkpoint.progress(self._inputs.journals, self._done)
            if progress is not self._done:
                checkpoint.keep()  # before rows are gone that Spark would need again
                before, self._done = self._done, progress
                self._retries.progressed()
                self._measure(before)
                self._inputs.free(before.positions)
        if self._has_done_journals:
            self._inputs.free_if_full(self._done.positions)

    def _measure(self, before: CheckpointProgress) -> None:
        """Note how long the rows took that are done now."""
        rows = sum(self._done.positions) - sum(before.positions)
        seconds = self._inputs.seconds_until(self._done.positions)
        self._latencies.extend(seconds)
        self._last_batch = BatchStatus(self._done.batch, rows, None)
        self._done_at = monotonic()

    @property
    def _rests(self) -> bool:
        """Whether nothing will change soon without a call."""
        return self._emitter.waits or (
            self._is_through and not self._has_all and not self._inputs.waits_for_room
        )

    @property
    def _is_through(self) -> bool:
        """Whether Spark is done with all rows that are there, and with each batch that it began."""
        return self._has_done_journals and not self._is_under_way

    @property
    def _has_done_journals(self) -> bool:
        return self._done.positions == self._inputs.ends

    @property
    def _is_under_way(self) -> bool:
        """Whether Spark may compute a batch of what it reads itself."""
        if self._sink is None or not self._plan.streams:
            return self._emitter.admitted > self._done.batch
        return not self._takes_no_more  # nobody here sees its batches

    @property
    def _has_all(self) -> bool:
        """Whether Spark is done with the last row of every input that will be taken."""
        if self._plan.streams and not self._takes_no_more:
            return False
        # Asked first: until it is over, rows may be appended.
        return self._inputs.is_over and self._is_through

    @property
    def _takes_no_more(self) -> bool:
        """Whether Spark is to read no further batch, or finds none, of what it reads itself."""
        return self._draining or self._streams_are_over

    def _look_for_ends(self, checkpoint: Checkpoint) -> None:
        """Find out, each time that a batch may have ended, whether there will be another one."""
        self._streams_are_over = all(
            isinstance(each, SparkInput) or each.is_over(input_place(checkpoint, number))
            for number, each in enumerate(self._plan.inputs)
        )

    def _pause(self, seconds: float) -> None:
        """Wait before the query is started again."""
        self._woken.clear()  # what was to be looked at belonged to the query that is over
        if not self._stopped:
            self._woken.wait(seconds)
