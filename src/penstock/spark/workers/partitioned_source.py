"""Publishers as a streaming source of Spark: each partition of a batch subscribes to one of them.

Spark plans batches in a process of its own, a child of the driver's JVM, and reads their
partitions in the workers of the executors. What is read goes on there: no row is in the driver.

An offset says how many batches there are up to it, and where the last of these began in each
partition. Where that batch ended, its tasks know; see ``partition_ends.py``.
"""

from __future__ import annotations

import os
import pickle
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

from penstock.api import Publisher
from penstock.flow.resume.planning import Resumption, resumption_of
from penstock.flow.resume.resumption import PositionedElement, plain
from penstock.spark.ingest.conversion import Converter
from penstock.spark.ingest.schema import Schema
from penstock.spark.workers.functions import blaming
from penstock.spark.workers.partition_ends import (
    BATCHES,
    BEGAN,
    START,
    PartitionEnd,
    PartitionEnds,
    as_begun,
    began_in,
    is_of_publishers,
)
from penstock.spark.workers.partition_subscriber import taken_again, taken_first

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.stream_input import RowsTaken
    from penstock.spark.workers.functions import FusedFunctions, FusedPass

__all__ = ["FORMAT", "PartitionedRead", "PartitionedSource", "Publishers"]

FORMAT: Final = "penstock-publishers"
PART_ROWS: Final = 1 << 14
"""So many rows go through functions at a time, while Spark goes on with those before."""


@dataclass(frozen=True)
class Publishers:
    """What makes the publisher of each partition, and how it is read.

    ``most``        elements of a partition in one batch
    ``seconds``     for which a task waits for them
    ``repeatable``  somebody knows that they give the same each time
    """

    make: Callable[[int], Publisher[Any]]
    partitions: int
    ddl: str
    most: int
    seconds: float
    repeatable: bool

    def resumption(self, partition: int) -> Resumption:
        """The publisher of a partition; raises ``CannotResume``."""
        made = self.make(partition)
        return resumption_of(made, repeatable=self.repeatable).repeating()


@dataclass(frozen=True)
class PartitionedRead:
    """How a query reads publishers.

    ``text``     the publishers, as Spark gets them
    ``ends``     the place where the tasks write down how far they came
    ``run``      the run, of all those that the checkpoint has had
    ``through``  the functions that rows go through where they are read
    """

    text: str
    schema: Schema
    ends: str
    run: int
    through: FusedFunctions | None = None

    def frame(self, session: SparkSession) -> DataFrame:
        """The rows as a stream of Spark."""
        session.dataSource.register(PartitionedSource)
        reader = session.readStream.format(FORMAT).option("publishers", self.text)
        reader = reader.option("ends", self.ends).option("run", self.run)
        if self.through is None:
            return reader.schema(self.schema.spark).load()
        return reader.option("through", self.through.text).schema(self.through.schema.spark).load()

    @property
    def rows_taken(self) -> RowsTaken | None:
        """Where functions have left rows out, only the tasks know how many there were."""
        return None if self.through is None else self._rows_taken

    def _rows_taken(self, end: object) -> int | None:
        if not is_of_publishers(end):
            return None
        try:
            return PartitionEnds(self.ends).rows_of(end[BATCHES], began_in(end))
        except OSError:
            return None


class PartitionedSource(DataSource):
    """The rows of publishers.

    Options: ``publishers``, the text of them; ``ends``; ``run``; and ``through``, the text of what
    the rows go through as they are read.
    """

    @classmethod
    def name(cls) -> str:
        """What ``spark.readStream.format`` is given."""
        return FORMAT

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._text = options["publishers"]
        self._ends = options["ends"]
        self._run = int(options["run"])
        self._through: str | None = options.get("through")

    def streamReader(self, schema: StructType) -> PartitionedStream:  # noqa: N802 - Spark's name
        """The same as a stream."""
        return PartitionedStream(self._text, self._ends, self._run, self._through)


class PartitionRows(InputPartition):
    """What one task reads: the elements of a partition after a position."""

    def __init__(self, batch: int, partition: int, position: Any) -> None:
        self.batch = batch
        self.partition = partition
        self.position = position


class PartitionedStream(DataSourceStreamReader):
    """Plans a batch as soon as the last one is done, until all publishers have completed."""

    def __init__(self, text: str, ends: str, run: int, through: str | None = None) -> None:
        self._text = text
        self._place = ends
        self._run = run
        self._through = through

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        return {BATCHES: 0, BEGAN: []}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """What a batch may have is told to each partition."""
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """One more batch, which begins where the last one ended."""
        batch = start[BATCHES]
        ends = self._ended(start)
        if all(end.over for end in ends):
            return start
        over = [partition for partition, end in enumerate(ends) if end.over]
        PartitionEnds(self._place).forget_before(batch, over)
        return {BATCHES: batch + 1, BEGAN: [*map(as_begun, ends)]}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for each publisher that has not completed."""
        return [
            PartitionRows(end[BATCHES], partition, each.position)
            for partition, each in enumerate(began_in(end))
            if not each.over
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What comes of one publisher, through the functions. In a worker of an executor."""
        assert isinstance(partition, PartitionRows)
        batch = self._rows(partition)
        if self._through is None:
            return iter([batch])
        way: FusedPass = pickle.loads(b64decode(self._through))
        return way(in_parts(batch))

    def _rows(self, partition: PartitionRows) -> pa.RecordBatch:
        with blaming("partitioned"):
            publishers = self._publishers()
            elements = self._taken(publishers, partition)
            batch, dead_letters = Converter(Schema.of(publishers.ddl)).convert(
                [plain(each) for each in elements]
            )
            if dead_letters:
                raise ValueError(f"partition {partition.partition}: {dead_letters[0]}")
        return batch

    def commit(self, end: dict[str, Any]) -> None:
        """Says nothing: it comes only when the next batch begins."""

    def stop(self) -> None:
        """The reader holds nothing. If the JVM has hung up, there is nobody to be told."""
        if isinstance(sys.exception(), EOFError | BrokenPipeError):
            os._exit(0)

    def _publishers(self) -> Publishers:
        found: Publishers = pickle.loads(b64decode(self._text))
        return found

    def _ended(self, offset: dict[str, Any]) -> list[PartitionEnd]:
        """Where the last batch before ``offset`` ended; what is over may have more in this run."""
        if not offset[BATCHES]:
            return [START] * self._publishers().partitions
        ends = PartitionEnds(self._place).of_batch(offset[BATCHES], began_in(offset))
        return [end.in_run(self._run) for end in ends]

    def _taken(self, publishers: Publishers, part: PartitionRows) -> Sequence[PositionedElement]:
        """The elements of this batch, as the first attempt to read them has decided."""
        ends = PartitionEnds(self._place)
        source = publishers.resumption(part.partition)
        decided = ends.find(part.batch, part.partition)
        if decided is None:
            elements, end = taken_first(source, part.position, publishers.most, publishers.seconds)
            if end.over and not source.is_finite:
                end = end._replace(run=self._run)
            decided = ends.decide(part.batch, part.partition, end)
            if decided == end:
                return elements
        return taken_again(source, part.position, decided)


def in_parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The same rows, so many at a time; none at all of a batch that has none."""
    return (batch.slice(first, PART_ROWS) for first in range(0, batch.num_rows, PART_ROWS))
