"""What a batch of Spark becomes in this program: rows, Arrow batches, a batch with its number.

A row is a named tuple, whose class is made once for each set of names.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as compute

from penstock.core import is_identifier
from penstock.delivery import DeliveryRefused, Epoch

__all__ = [
    "Decode",
    "NumberedBatch",
    "Positioned",
    "RowReader",
    "as_lists",
    "batches_of",
    "nothing_of",
    "numbered",
    "positioned_in",
    "row_type",
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


Row: TypeAlias = tuple[Any, ...]
DecodeColumn: TypeAlias = Callable[[pa.Array], Sequence[Any]]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST: Final = datetime(1, 1, 1)
LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999999)


@lru_cache(maxsize=256)
def row_type(names: tuple[str, ...]) -> Any:
    """The class of the rows with these names, which ``_asdict`` has as Spark has them."""
    # A column may be called anything, perhaps by the data: namedtuple, which writes code of the
    # names, gets only those that are the same for Python once they stand there.
    fields = [name if is_identifier(name) else "" for name in names]
    make_class: Callable[..., Any] = namedtuple  # mypy wants to know the names beforehand
    row = make_class("Row", fields, rename=True)
    row.__doc__ = "A row of Spark."
    row._names = names
    row._asdict = _as_dict
    row.__reduce__ = _reduce
    return row


def _as_dict(row: Any) -> dict[str, Any]:
    named = dict(zip(row._names, row, strict=True))
    if len(named) < len(row):  # as after a join; a value would be lost in silence
        again = next(name for place, name in enumerate(row._names) if name in row._names[:place])
        raise ValueError(f"a row has two columns called {again!r}; give one of them another name")
    return named


def _reduce(row: Any) -> tuple[Any, ...]:
    return _row, (row._names, tuple(row))


def _row(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    row: Row = row_type(names)._make(values)
    return row


class RowReader:
    """Reads the rows of batches that have one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._make = _maker(schema.names)
        self._decoders = [_decoder(field.type) for field in schema]

    def rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        """The rows of ``batch``, one by one; the values are there at once."""
        if not self._decoders:
            return map(self._make, ((),) * batch.num_rows)
        columns = [
            decode(column) for decode, column in zip(self._decoders, batch.columns, strict=True)
        ]
        return map(self._make, zip(*columns, strict=True))


def _maker(names: Sequence[str]) -> Callable[[tuple[Any, ...]], Row]:
    # Twice as fast as the class itself, which would unpack the values and pack them again.
    return partial(tuple.__new__, row_type(tuple(names)))


def _decoder(kind: pa.DataType) -> DecodeColumn:
    """How arrays of this type become lists."""
    types = pa.types
    if types.is_timestamp(kind):
        return _zoned if kind.tz is not None else _unzoned
    if types.is_date32(kind):
        return _unzoned
    if types.is_duration(kind):
        return _by_numpy
    if types.is_struct(kind):
        return partial(_structs, _maker([field.name for field in kind]), _children(kind))
    if types.is_map(kind):
        return partial(_maps, _decoder(kind.key_type), _decoder(kind.item_type))
    if types.is_list(kind) and _decoder(kind.value_type) is not _plain:
        return partial(_lists, _decoder(kind.value_type))
    return _plain


def _children(kind: pa.DataType) -> list[DecodeColumn]:
    return [_decoder(field.type) for field in kind]


def _plain(array: pa.Array) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def _by_numpy(array: pa.Array) -> list[Any]:
    # Twenty times as fast as Arrow's own way; a null is NaT here, and None in the list.
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _unzoned(array: pa.Array) -> list[Any]:
    _require_years_of_python(array)
    return _by_numpy(array)


def _zoned(array: pa.Array) -> list[Any]:
    _require_years_of_python(array)
    since_epoch = array.to_numpy(zero_copy_only=False).view("m8[us]").tolist()
    if array.null_count:
        return [None if since is None else EPOCH + since for since in since_epoch]
    return [EPOCH + since for since in since_epoch]


def _require_years_of_python(array: pa.Array) -> None:
    """Beyond them numpy would give numbers instead of dates."""
    first, last = pa.array([FIRST, LAST], pa.timestamp("us")).cast(array.type)
    ends = compute.min_max(array)
    if array.null_count < len(array) and not (
        compute.less_equal(first, ends["min"]).as_py()
        and compute.less_equal(ends["max"], last).as_py()
    ):
        raise ValueError(
            f"a {array.type} lies outside the years 1 to 9999, which is all that Python's "
            "datetime has; take batches instead of rows"
        )


def _structs(
    make: Callable[[tuple[Any, ...]], Row], children: list[DecodeColumn], array: pa.Array
) -> list[Any]:
    columns = [decode(child) for decode, child in zip(children, array.flatten(), strict=True)]
    rows = map(make, zip(*columns, strict=True))
    if not array.null_count:
        return list(rows)
    present = array.is_valid().to_pylist()
    return [row if is_there else None for row, is_there in zip(rows, present, strict=True)]


def _lists(decode: DecodeColumn, array: pa.Array) -> list[Any]:
    values = iter(decode(array.flatten()))
    lengths = compute.list_value_length(array).to_pylist()
    return [None if length is None else list(islice(values, length)) for length in lengths]


def _maps(decode_key: DecodeColumn, decode_value: DecodeColumn, array: pa.Array) -> list[Any]:
    lists = as_lists(array)
    keys, values = lists.flatten().flatten()
    entries = zip(decode_key(keys), decode_value(values), strict=True)
    lengths = compute.list_value_length(lists).to_pylist()
    return [None if length is None else dict(islice(entries, length)) for length in lengths]


def as_lists(maps: pa.Array) -> pa.Array:
    """Maps as what they are made of: lists of entries, which Arrow can take apart."""
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], names=["key", "value"])
    validity, offsets, *_ = maps.buffers()
    return pa.ListArray.from_buffers(
        pa.list_(entries.type),
        len(maps),
        [validity, offsets],
        maps.null_count,
        maps.offset,
        [entries],
    )
