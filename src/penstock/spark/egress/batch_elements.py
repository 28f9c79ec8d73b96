"""What a batch of Spark becomes in this program: rows, Arrow batches, a batch with its number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from penstock.delivery import DeliveryRefused, Epoch
from penstock.spark.egress.rows import RowReader

__all__ = [
    "Decode",
    "NumberedBatch",
    "Positioned",
    "batches_of",
    "nothing_of",
    "numbered",
    "positioned_in",
    "rows_of",
]

Decode: TypeAlias = Callable[[int, pa.Table, Epoch], tuple[int, Iterator[Any]]]
"""How many elements a batch has, and these, from its number, its rows, and the epoch of the run."""

SINK: Final = "the sink"


class NumberedBatch(NamedTuple):
    """All rows of one batch, and what a sink needs to store them once.

    A sink stores ``mark`` and the rows in one transaction, and asks ``is_stored`` of the mark that
    it has before it stores the next batch.

    ``batch_id``  Spark's number of the batch; a batch that comes again has the same one
    ``table``     its rows, none if Spark has run a batch without any
    ``epoch``     the life of the checkpoint; without a checkpoint, that of this run
    """

    batch_id: int
    table: pa.Table
    epoch: Epoch

    @property
    def mark(self) -> str:
        """What a sink stores together with the rows."""
        return self.epoch.mark(self.batch_id)

    def is_stored(self, mark_of_sink: str | None, sink: str = SINK) -> bool:
        """Whether a sink whose last mark that is has the batch; ``None`` if it has no mark.

        ``DeliveryRefused`` if the sink was written from another checkpoint, or from this one before
        it was deleted or restored; ``sink`` is how that sentence calls it.
        """
        return self.epoch.has(mark_of_sink, self.batch_id, sink)

    @property
    def num_rows(self) -> int:
        """How many rows it has."""
        rows: int = self.table.num_rows
        return rows


class Positioned(NamedTuple):
    """A row, and where it stands: the same after a crash, so that a sink can tell what it has.

    ``batch``  Spark's number of its batch
    ``row``    its place in the batch
    ``epoch``  the life of the checkpoint; without a checkpoint, that of this run
    """

    batch: int
    row: int
    value: Any
    epoch: Epoch

    @property
    def mark(self) -> str:
        """What a sink stores together with the row."""
        return json.dumps({**json.loads(self.epoch.mark(self.batch)), "row": self.row})

    def is_stored(self, mark_of_sink: str | None, sink: str = SINK) -> bool:
        """Whether a sink whose last mark that is has the row; as ``NumberedBatch.is_stored``."""
        if mark_of_sink is None or not self.epoch.has(mark_of_sink, self.batch, sink):
            return False
        try:
            return self.row <= int(json.loads(mark_of_sink)["row"])
        except (KeyError, TypeError, ValueError):
            raise DeliveryRefused(
                f"{sink} holds the mark of a batch and not of a row: {mark_of_sink[:80]!r}"
            ) from None


def rows_of(number: int, table: pa.Table, epoch: Epoch) -> tuple[int, Iterator[Any]]:
    """How many rows a batch has, and the rows."""
    reader = RowReader(table.schema)
    rows = (row for batch in table.to_batches() for row in reader.rows(batch))
    return table.num_rows, rows


def batches_of(number: int, table: pa.Table, epoch: Epoch) -> tuple[int, Iterator[pa.RecordBatch]]:
    """The same in Arrow batches."""
    batches = [batch for batch in table.to_batches() if batch.num_rows]
    return len(batches), iter(batches)


def numbered(number: int, table: pa.Table, epoch: Epoch) -> tuple[int, Iterator[NumberedBatch]]:
    """The same in one piece, also if it has no rows: a result may have become empty."""
    return 1, iter((NumberedBatch(number, table, epoch),))


def positioned_in(number: int, table: pa.Table, epoch: Epoch) -> tuple[int, Iterator[Positioned]]:
    """The rows, each with its place."""
    size, rows = rows_of(number, table, epoch)
    return size, (Positioned(number, place, row, epoch) for place, row in enumerate(rows))


def nothing_of(number: int, table: pa.Table, epoch: Epoch) -> tuple[int, Iterator[Any]]:
    """For sinks that keep what they get."""
    return 0, iter(())
