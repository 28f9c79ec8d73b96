"""The journal as a streaming source of Spark.

Spark makes the reader in a process of its own, a child of the driver's JVM, and reads ranges in
the workers of the executors. None of them is the user's program: all they share with it is the
place of the journal.
"""

from __future__ import annotations

import os
import pickle
import sys
from base64 import b64decode
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from penstock.spark.ingest.schema import Schema
from penstock.spark.journal import JournalReader, JournalUnusable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.workers.functions import FusedFunctions, FusedPass

__all__ = [
    "FORMAT",
    "JournalRead",
    "JournalSource",
    "JournalStream",
    "SelfBoundedStream",
    "is_of_journal",
    "offset",
    "position_of",
]

FORMAT: Final = "penstock-journal"
WAKE: Final = "wake"
"""What tells the offset of a batch without rows from that of the batch before."""


def offset(identity: str, position: int) -> dict[str, Any]:
    """How Spark writes down a position, and of which journal it is one."""
    return {"journal": identity, "position": position}


def position_of(offset: dict[str, Any], identity: str) -> int:
    """The position that Spark wrote down, if it is one of this journal."""
    if offset.get("journal") != identity:
        raise JournalUnusable(
            "the checkpoint belongs to another journal than the one that lies beside it; restore "
            "both from the same moment, or start with a new checkpoint"
        )
    return int(offset["position"])


def is_of_journal(offset: object) -> TypeGuard[dict[str, Any]]:
    """Whether Spark wrote it down for a journal, and not for a source of its own."""
    return isinstance(offset, dict) and offset.keys() - {WAKE} == {"journal", "position"}


class JournalSource(DataSource):
    """The rows of a journal.

    Options: ``path`` of the journal, ``batch_rows``, the ``checkpoint`` of the query, ``through``,
    the text of what the rows go through as they are read, and ``wake``, see ``JournalRead``.
    """

    @classmethod
    def name(cls) -> str:
        """What ``spark.readStream.format`` is given."""
        return FORMAT

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._reader = JournalReader(options["path"])
        self._batch_rows = int(options["batch_rows"])
        self._checkpoint = options["checkpoint"]
        self._through: str | None = options.get("through")
        self._wake = options.get(WAKE, "")

    def schema(self) -> StructType:
        """The columns, as the journal has them."""
        return Schema.of(self._reader.schema).spark

    def streamReader(self, schema: StructType) -> JournalStream:  # noqa: N802 - Spark's name
        """The same as a stream."""
        kind = stream_kind()
        return kind(self._reader, self._batch_rows, self._checkpoint, self._through, self._wake)


def stream_kind() -> type[JournalStream]:
    """The kind of stream that suits this Spark: releases before 4.2 have no limits for a batch."""
    if find_spec("pyspark.sql.streaming.datasource") is None:
        return SelfBoundedStream
    from penstock.spark.workers.limited_stream import LimitedStream

    return LimitedStream


@dataclass(frozen=True)
class JournalRead:
    """How a query reads a journal.

    ``checkpoint``  the place that the journal and Spark's checkpoint share
    ``wake``        lets the query begin with a batch even if there is no row; new each time
    """

    journal: str
    batch_rows: int
    checkpoint: str
    through: FusedFunctions | None = None
    wake: str = ""

    def frame(self, session: SparkSession) -> DataFrame:
        """The rows as a stream of Spark."""
        session.dataSource.register(JournalSource)
        reader = session.readStream.format(FORMAT).option("path", self.journal)
        reader = reader.option("batch_rows", str(self.batch_rows))
        reader = reader.option("checkpoint", self.checkpoint)
        if self.wake:
            reader = reader.option(WAKE, self.wake)
        if self.through is not None:
            reader = reader.option("through", self.through.text).schema(self.through.schema.spark)
        return reader.load()

    @property
    def rows_taken(self) -> None:
        """Offsets say how many rows a batch has."""


class JournalRows(InputPartition):
    """The rows that one task reads."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class JournalStream(DataSourceStreamReader):
    """Lets Spark read a journal. Each kind of it knows where the next batch begins and ends."""

    def __init__(
        self,
        journal: JournalReader,
        batch_rows: int,
        checkpoint: str,
        through: str | None = None,
        wake: str = "",
    ) -> None:
        self._wake = wake
        self._wakes_at: int | None = None
        self._journal = journal
        self._batch_rows = batch_rows
        self._checkpoint = checkpoint
        self._through = through
        self._identity = journal.identity

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        return offset(self._identity, self._journal.start())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The parts of a batch, in order."""
        first, stop = (position_of(each, self._identity) for each in (start, end))
        return [JournalRows(*each) for each in self._journal.ranges(first, stop)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What comes out of one part."""
        assert isinstance(partition, JournalRows)
        batches = self._journal.read(partition.start, partition.end)
        if self._through is None:
            return batches
        way: FusedPass = pickle.loads(b64decode(self._through))
        return way(batches)

    def commit(self, end: dict[str, Any]) -> None:
        """Says nothing: it comes only when the next batch begins. The commit log is the truth."""

    def stop(self) -> None:
        """The reader holds nothing. Spark calls this as the last thing, whatever has happened.

        If the JVM has hung up, there is nobody left to be told, and a traceback would be all that
        the user sees of it.
        """
        if isinstance(sys.exception(), EOFError | BrokenPipeError):
            os._exit(0)

    def _bounded(self, start: int, end: int, most: int) -> dict[str, Any]:
        """The end of a batch of at most so many rows, which is never before its start."""
        if self._wakes_at is None:
            self._wakes_at = start
        stop = max(start, min(end, start + most))
        found = offset(self._identity, stop)
        # Spark runs a batch when the offset is another one, and the same one has to stay.
        return {**found, WAKE: self._wake} if self._wake and stop == self._wakes_at else found


class SelfBoundedStream(JournalStream):
    """For a Spark that asks how far a stream goes, and always takes all of it.

    So what it is told is where the next batch shall end, and the stream has to know by itself where
    that batch begins: where the last one ends that Spark has planned. That is what Spark was told
    last, since it plans a batch as soon as there is a row. A reader that was just started, maybe
    again, finds it in Spark's own log. Spark asks, writes that log and asks again on one thread.
    """

    _planned: int | None = None

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the next batch ends."""
        if self._planned is None:
            self._planned = self._planned_before()
        end = self._bounded(self._planned, self._journal.end(), self._batch_rows)
        self._planned = position_of(end, self._identity)
        return end

    def _planned_before(self) -> int:
        from penstock.spark.checkpoint import Checkpoint  # late: the tasks that read do without it

        planned = Checkpoint(self._checkpoint).planned_end(self._identity)
        return self._journal.start() if planned is None else planned
