"""What a pipeline needs to run on Spark: its functions, its checkpoint, its query."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from penstock.cli.places import try_out
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.checkpoint_upkeep import rows_of
from penstock.spark.egress.batch_transport import require_transport
from penstock.spark.failures import explained
from penstock.spark.journal import Journal
from penstock.spark.plan import SparkInput, SparkPlan, require_resumable
from penstock.spark.session.spark_session import require_startable, spark_session
from penstock.spark.state import in_words, require_same_state
from penstock.spark.stream_input import InputPlace, StreamInput
from penstock.spark.workers.journal_source import JournalRead
from penstock.spark.workers.pickling import require_sendable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkCheck"]

Question = Callable[[], object]
RESUMES: Final = {
    "from_start": "after a restart its source is read again, up to where it was",
    "position": "after a restart its source goes on after the last position",
    "none": "after a restart its source goes on live, with gaps or duplicates",
}
STREAM_RESUMES: Final = "after a restart Spark goes on with its offsets of the source"
PATIENCE: Final = 60
"""The seconds that Spark gets to find that there are no rows."""


class SparkCheck:
    """Checks a plan for Spark."""

    def __init__(self, pipeline: SparkPlan) -> None:
        self._pipeline = pipeline

    @property
    def schemas(self) -> str:
        """What goes onto Spark."""
        return "; ".join(self._pipeline.identities)

    def questions(self, *, with_session: bool) -> Iterator[tuple[str, str, Question]]:
        """Each with its subject, and what to say if nothing is wrong."""
        yield "functions", "they can be sent to Spark's workers", self._functions
        yield "resume", "", self._resume
        yield "checkpoint", "there is none: a crash loses what is on its way", self._checkpoint
        if with_session:
            yield "spark", "it can start", lambda: require_startable(self._pipeline.settings)
            yield "query", "Spark accepts it", self._query

    def _functions(self) -> None:
        require_sendable(self._pipeline)

    def _resume(self) -> str:
        """How the sources go on, which only a pipeline with a checkpoint has to."""
        if self._pipeline.checkpoint is None:
            return "it begins again each time, without a checkpoint"
        require_resumable(self._pipeline)
        return "; ".join(map(goes_on, self._pipeline.inputs))

    def _checkpoint(self) -> str | None:
        place = self._pipeline.checkpoint
        if place is None:
            return None
        checkpoint = Checkpoint(place)
        held = checkpoint.holds(self._pipeline.name, self._pipeline.identities)
        trial = try_out(place)
        speed = f"a write takes {trial.seconds * 1_000:.1f} ms"
        if not held:
            return f"{checkpoint.place} is new; {speed}"
        places = (checkpoint.for_journal(number) for number in range(len(self._pipeline.journaled)))
        extents = list(map(rows_of, places))
        checkpoint.require_whole(extents)
        done = checkpoint.progress(extents).batch + 1
        return f"{checkpoint.place} is of this pipeline, and whole; batches done: {done:,}; {speed}"

    def _query(self) -> str:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        session = spark_session(self._pipeline.settings)
        try:
            with tempfile.TemporaryDirectory(prefix="penstock-check-") as folder:
                if self._pipeline.streams:
                    return self._plan_streams(session, folder)
                if self._pipeline.settings.remote is None:
                    return self._run_empty(session, folder)
                way_back = require_transport(session)
                frame = self._pipeline.transform(self._streams_elsewhere(session))
                return f"{self._accepted(frame)}; {way_back}"
        except (Py4JError, PySparkException) as error:
            raise explained(error) from error

    def _plan_streams(self, session: SparkSession, folder: str) -> str:
        """Let Spark plan the query; to run it would read what is not to be read yet."""
        journals = empty_journals(self._pipeline.journaled, folder)
        frames = [
            (
                each.read(InputPlace(folder, number, run=1))
                if isinstance(each, StreamInput)
                else JournalRead(next(journals), self._pipeline.batch_rows, folder)
            ).frame(session)
            for number, each in enumerate(self._pipeline.inputs)
        ]
        return self._accepted(self._pipeline.transform(frames))

    def _accepted(self, frame: DataFrame) -> str:
        """What comes out, if the state that is kept means the same as before."""
        place, known = self._pipeline.checkpoint, False
        if place is not None:
            known = require_same_state(in_words(frame), Checkpoint(place), self._pipeline.name)
        return f"{comes_out(frame)}{'; its state means the same as before' if known else ''}"

    def _run_empty(self, session: SparkSession, folder: str) -> str:
        """Let Spark plan the query and run it over journals without rows."""
        journals = empty_journals(self._pipeline.journaled, folder)
        reads = [JournalRead(place, self._pipeline.batch_rows, folder) for place in journals]
        frame = self._pipeline.transform([read.frame(session) for read in reads])
        text = self._accepted(frame)
        query = (
            frame.writeStream.format("noop")
            .outputMode(self._pipeline.output_mode)
            .option("checkpointLocation", f"{folder}/spark")
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination(PATIENCE)
        finally:
            query.stop()
        return text

    def _streams_elsewhere(self, session: SparkSession) -> list[DataFrame]:
        """Streams with the columns of the inputs, for a Spark that cannot see our files.

        They come out of a function, as nothing else hides how they are made: what state means is
        told by where its columns come from.
        """
        return [
            session.readStream.format("rate").load().mapInArrow(pass_on, each.schema.spark)
            for each in self._pipeline.journaled
        ]


def pass_on(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """Spark plans with it, and never calls it."""
    return batches


def goes_on(each: SparkInput | StreamInput) -> str:
    """How an input goes on after a restart, and what is not known of that before it runs."""
    if isinstance(each, StreamInput):
        return STREAM_RESUMES if each.replays else RESUMES["none"]
    resumption = each.resume_mode.resumption
    unseen = () if resumption is None else resumption.unseen
    return "; ".join((RESUMES[each.replay], *unseen))


def empty_journals(inputs: Sequence[SparkInput], folder: str) -> Iterator[str]:
    """The places of journals without rows, one for each input."""
    for number, each in enumerate(inputs):
        place = f"{folder}/journal-{number}"
        Journal.open(
            place, each.schema.arrow, max_rows=each.max_rows, max_bytes=each.max_bytes
        ).close()
        yield place


def comes_out(frame: DataFrame) -> str:
    """The columns of the rows that come back."""
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    return f"Spark accepts it, and makes {columns}"
