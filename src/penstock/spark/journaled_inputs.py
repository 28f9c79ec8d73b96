"""The inputs of a run that go through journals: what is recorded, and what Spark is done with.

A run that has none of them, since Spark reads all its inputs itself, has an empty one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any

from penstock.api import Publisher
from penstock.flow import Flow
from penstock.observe.meters import RowAges
from penstock.runtime import ThreadPool
from penstock.spark.checkpoint import Checkpoint, CheckpointProgress
from penstock.spark.ingest.conversion import Converter, WithoutPositions
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.journal import Journal
from penstock.spark.plan import SparkInput, SparkPlan
from penstock.spark.run_counts import InputCounts, input_counts
from penstock.spark.state import wake_of
from penstock.spark.stream_input import InputPlace, StreamInput, StreamRead
from penstock.spark.workers.functions import FusedFunctions
from penstock.spark.workers.journal_source import JournalRead

__all__ = ["JournaledInputs", "input_place", "reads_of"]


class JournaledInputs:
    """The journals of a run, in the order of its inputs.

    Positions are those up to which Spark is done with each of them. The thread of the run opens and
    records; ``cancel``, ``drain``, ``counts`` and ``oldest`` may be called from any thread.

    on_failure  is given the error of an input
    """

    def __init__(
        self, inputs: Sequence[SparkInput], on_failure: Callable[[Exception], object]
    ) -> None:
        self._inputs = inputs
        self._on_failure = on_failure
        self.journals: list[Journal] = []
        self._sources: list[Publisher[Any]] = []
        self._recorders: list[JournalSubscriber] = []
        self._ages: list[RowAges] = []
        self._draining = False

    def open(self, checkpoint: Checkpoint, leaving: ExitStack) -> None:
        """Open the journals in their places, each of which has a lock; else hold the checkpoint."""
        if not self._inputs:
            leaving.callback(checkpoint.hold())
        for number, each in enumerate(self._inputs):
            journal = Journal.open(
                checkpoint.for_journal(number),
                each.schema.arrow,
                max_rows=each.max_rows,
                max_bytes=each.max_bytes,
            )
            leaving.callback(journal.close)
            self.journals.append(journal)

    def resume(self, *, kept: bool) -> None:
        """Find out where each goes on; ``kept`` says whether journals outlive a run.

        All at once: one that cannot go on must not find that others have begun.
        """
        if not kept:
            self._inputs = [each.live for each in self._inputs]
        self._sources = list(map(after_journal, self._inputs, self.journals))

    def record(self, leaving: ExitStack, done: CheckpointProgress) -> None:
        """Let the elements into their journals, after those that these have already.

        Rows that Spark has ``done`` wait for nothing, though they may be kept.
        """
        parts = zip(self._inputs, self.journals, self._sources, done.positions, strict=True)
        for each, journal, source, position in parts:
            ages = RowAges()
            if journal.end > position:
                ages.note(journal.end)
            self._ages.append(ages)
            self._record(each, journal, source, ages, leaving)

    def _record(
        self,
        each: SparkInput,
        journal: Journal,
        source: Publisher[Any],
        ages: RowAges,
        leaving: ExitStack,
    ) -> None:
        converter = Converter(each.schema)
        recorder = JournalSubscriber(
            journal,
            WithoutPositions(converter) if each.has_positions else converter,
            on_failure=self._on_failure,
            on_dead_letter=each.on_dead_letter,
            on_appended=ages.note,
            on_recorded=each.on_recorded,
            position_of=each.recorded_position_of,
            replays=each.replays,
            seals=not each.goes_on,
        )
        self._recorders.append(recorder)
        source = on_own_thread(source, leaving)
        leaving.callback(recorder.stop)
        if not journal.sealed:
            source.subscribe(recorder)
        if self._draining:
            recorder.drain()

    def cancel(self) -> None:
        """Nobody wants anything any more."""
        for recorder in tuple(self._recorders):
            recorder.cancel()

    def drain(self) -> None:
        """Take nothing more. The journals are not sealed: the next run goes on."""
        self._draining = True
        for recorder in tuple(self._recorders):
            recorder.drain()

    def free(self, positions: Sequence[int]) -> None:
        """Let go of the rows before these."""
        for recorder, position in zip(self._recorders, positions, strict=True):
            recorder.committed(position)

    def free_if_full(self, positions: Sequence[int]) -> None:
        """Let go of the rows before these where there is no room for others."""
        for recorder, position in zip(self._recorders, positions, strict=True):
            if recorder.waits_for_room:
                recorder.committed(position)

    def seconds_until(self, positions: Sequence[int]) -> list[float]:
        """How long the rows took that are done now, in seconds."""
        ages = zip(self._ages, positions, strict=True)
        return [each for age, position in ages for each in age.done(position)]

    @property
    def taken_before(self) -> tuple[tuple[int, int], ...]:
        """The elements that earlier runs have taken of each, and the rows that came of them."""
        return tuple(
            (int((journal.last_source_position or {"elements": 0})["elements"]), journal.end)
            for journal in self.journals
        )

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each journal ends now."""
        return tuple(journal.end for journal in self.journals)

    @property
    def waits_for_room(self) -> bool:
        """Whether one of them has no room for what comes."""
        return any(recorder.waits_for_room for recorder in self._recorders)

    @property
    def is_over(self) -> bool:
        """Whether no row will be appended any more."""
        return all(
            journal.sealed or recorder.is_over
            for journal, recorder in zip(self.journals, self._recorders, strict=True)
        )

    @property
    def oldest(self) -> float | None:
        """For how many seconds the oldest row waits."""
        ages = [age for ages in tuple(self._ages) if (age := ages.oldest) is not None]
        return max(ages, default=None)

    def counts(self, done: CheckpointProgress, before: CheckpointProgress) -> Iterator[InputCounts]:
        """Each at this moment, and ``before`` this run began."""
        positions = zip(done.positions, before.positions, strict=True)
        parts = zip(self._inputs, self.journals, self._recorders, positions, strict=False)
        for each, journal, recorder, (position, position_before) in parts:
            yield input_counts(each, journal, recorder, position, position_before)


def reads_of(
    plan: SparkPlan, checkpoint: Checkpoint, through: FusedFunctions | None
) -> Iterator[StreamRead]:
    """How Spark reads each of the inputs of a run, those without a journal included."""
    journals, wake = map(checkpoint.for_journal, count()), wake_of(plan, checkpoint)
    for number, each in enumerate(plan.inputs):
        if isinstance(each, StreamInput):
            yield each.read(input_place(checkpoint, number), through)
        else:
            place, rows = next(journals), plan.batch_rows
            yield JournalRead(place, rows, checkpoint.plans, through, wake)


def input_place(checkpoint: Checkpoint, number: int) -> InputPlace:
    """Where the input of that number keeps what it has to know, if it has no journal."""
    return InputPlace(checkpoint.place, number, checkpoint.run)


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
