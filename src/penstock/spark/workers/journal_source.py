"""The journal as a streaming source of Spark.

Spark makes the reader in a process of its own, a child of the driver's JVM, and reads ranges in
the workers of the executors. None of them is the user's program: all they share with it is the
place of the journal.
"""

from __future__ import annotations

import pickle
from base64 import b64decode
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.spark.ingest.schema import Schema
from penstock.spark.journal import JournalReader, JournalUnusable
from penstock.spark.workers.functions import FusedFunctions, FusedPass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FORMAT", "JournalRead", "JournalSource", "offset", "position_of"]

FORMAT: Final = "penstock-journal"


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


class JournalSource(DataSource):
    """The rows of a journal.

    Options: ``path`` of the journal, ``batch_rows``, and ``through``, the text of what the rows go
    through as they are read.
    """

    @classmethod
    def name(cls) -> str:
        """What ``spark.readStream.format`` is given."""
        return FORMAT

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._reader = JournalReader(options["path"])
        self._batch_rows = int(options["batch_rows"])
        self._through: str | None = options.get("through")

    def schema(self) -> StructType:
        """The columns, as the journal has them."""
        return Schema.of(self._reader.schema).spark

    def streamReader(self, schema: StructType) -> JournalStream:  # noqa: N802 - Spark's name
        """The same as a stream."""
        return JournalStream(self._reader, self._batch_rows, self._through)


@dataclass(frozen=True)
class JournalRead:
    """How a query reads a journal."""

    journal: str
    batch_rows: int
    through: FusedFunctions | None = None

    def frame(self, session: SparkSession) -> DataFrame:
        """The rows as a stream of Spark."""
        session.dataSource.register(JournalSource)
        reader = session.readStream.format(FORMAT).option("path", self.journal)
        reader = reader.option("batch_rows", str(self.batch_rows))
        if self.through is not None:
            reader = reader.option("through", self.through.text).schema(self.through.schema.spark)
        return reader.load()


class JournalRows(InputPartition):
    """The rows that one task reads."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lets Spark read a journal in batches of bounded size."""

    def __init__(self, journal: JournalReader, batch_rows: int, through: str | None = None) -> None:
        self._journal = journal
        self._batch_rows = batch_rows
        self._through = through
        self._identity = journal.identity
        self._final: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        return offset(self._identity, self._journal.start())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The bound of a batch, whatever else the query says."""
        return ReadMaxRows(self._batch_rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the next batch ends."""
        position = position_of(start, self._identity)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._batch_rows
        return offset(self._identity, max(position, min(self._end(), position + most)))

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """How far the journal goes, from which Spark computes how far it lags behind."""
        return offset(self._identity, self._journal.end())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What comes from now on belongs to a later query."""
        self._final = self._journal.end()

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
        """The reader holds nothing."""

    def _end(self) -> int:
        return self._journal.end() if self._final is None else self._final
