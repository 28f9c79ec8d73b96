"""Publishers that run on Spark's executors as an input: one for each partition of its batches."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.flow.checks import require_callable
from penstock.flow.resume.planning import CannotResume
from penstock.runtime import shorten
from penstock.runtime.arguments import require_int, require_seconds
from penstock.spark.ingest.schema import Schema, SchemaLike
from penstock.spark.private_api import pickled
from penstock.spark.stream_input import InputPlace, StreamInput, StreamRead, StreamSource
from penstock.spark.workers.partition_ends import PartitionEnds

if TYPE_CHECKING:
    from penstock.spark.workers.functions import FusedFunctions
    from penstock.spark.workers.partitioned_source import Publishers

__all__ = ["PARTITIONED", "PartitionedInput", "partitioned_input"]

PARTITIONED: Final = "partitioned"


@dataclass(frozen=True, eq=False)
class PartitionedInput(StreamInput):
    """Publishers that are made, and subscribed to, by the tasks of each batch."""

    operator: ClassVar[str] = PARTITIONED
    publishers: Publishers = field(repr=False)
    schema: Schema

    @property
    def identity(self) -> str:
        """Positions are those of so many partitions."""
        return f"{super().identity}: {self.schema.ddl}"

    @property
    def schema_read(self) -> Schema:
        """That of all elements."""
        return self.schema

    def read(self, place: InputPlace, through: FusedFunctions | None = None) -> StreamRead:
        """Spark keeps where a batch begins, and its tasks where it ends."""
        from penstock.spark.workers.partitioned_source import PartitionedRead

        text = b64encode(pickled(self.publishers)).decode()
        return PartitionedRead(text, self.schema, ends_of(place).place, place.run, through)

    def is_over(self, place: InputPlace) -> bool:
        """Whether all publishers have completed."""
        return ends_of(place).are_all_over(self.publishers.partitions, place.run)


def ends_of(place: InputPlace) -> PartitionEnds:
    """What the tasks write down of an input."""
    return PartitionEnds(f"{place.checkpoint}/ends-{place.number}")


def partitioned_input(
    make_publisher: Any, partitions: Any, schema: SchemaLike, rows: Any, within: Any, resume: Any
) -> PartitionedInput:
    """Publishers as an input, if the first of them can go on after a position.

    ``rows`` are those of a batch, of all partitions.
    """
    if find_spec("pyspark.sql.streaming.datasource") is None:
        raise RuntimeError(
            f"{PARTITIONED} needs Spark 4.2 or later: older ones do not tell a source in Python "
            "where a batch begins"
        )
    from penstock.spark.workers.partitioned_source import Publishers

    if resume not in (None, "from_start"):
        raise ValueError(f"{PARTITIONED}: resume is 'from_start' or None, not {shorten(resume)}")
    count = require_int(PARTITIONED, "partitions", partitions)
    columns = Schema.of(schema)
    made = Publishers(
        require_callable(PARTITIONED, make_publisher),
        count,
        columns.ddl,
        max(require_int(PARTITIONED, "batch_rows", rows) // count, 1),
        require_seconds(PARTITIONED, "within", within),
        repeatable=resume is not None,
    )
    require_replay_of(made)
    return PartitionedInput((StreamSource(f"{count} publishers", limited=True),), made, columns)


def require_replay_of(publishers: Publishers) -> None:
    """Refuse publishers of which nobody knows how they go on, before anything runs."""
    made = publishers.make(0)
    if not callable(getattr(made, "subscribe", None)):
        raise TypeError(
            f"{PARTITIONED} needs a function that makes a publisher for the number of a "
            f"partition; for 0 it has made {shorten(made)}"
        )
    try:
        publishers.resumption(0)
    except CannotResume as error:
        raise CannotResume(
            f"{PARTITIONED} reads a partition again when a task fails, and goes on after a "
            f"restart, which this publisher cannot: {error}"
        ) from None
