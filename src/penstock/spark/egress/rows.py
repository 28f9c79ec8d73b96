"""From Arrow batches to rows: named tuples, whose class is made once for each set of names."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as compute

from penstock.core import is_identifier

__all__ = ["RowReader", "as_lists", "row_fields", "row_type"]

Row: TypeAlias = tuple[Any, ...]
Decode: TypeAlias = Callable[[pa.Array], Sequence[Any]]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST: Final = datetime(1, 1, 1)
LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999999)


def row_fields(names: Sequence[str]) -> tuple[str, ...]:
    """The attributes of a row: a name that cannot be one is replaced by ``_`` and its place."""
    fields: tuple[str, ...] = row_type(tuple(names))._fields
    return fields


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
    return dict(zip(row._names, row, strict=True))


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


def _decoder(kind: pa.DataType) -> Decode:
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


def _children(kind: pa.DataType) -> list[Decode]:
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
    make: Callable[[tuple[Any, ...]], Row], children: list[Decode], array: pa.Array
) -> list[Any]:
    columns = [decode(child) for decode, child in zip(children, array.flatten(), strict=True)]
    rows = map(make, zip(*columns, strict=True))
    if not array.null_count:
        return list(rows)
    present = array.is_valid().to_pylist()
    return [row if is_there else None for row, is_there in zip(rows, present, strict=True)]


def _lists(decode: Decode, array: pa.Array) -> list[Any]:
    values = iter(decode(array.flatten()))
    lengths = compute.list_value_length(array).to_pylist()
    return [None if length is None else list(islice(values, length)) for length in lengths]


def _maps(decode_key: Decode, decode_value: Decode, array: pa.Array) -> list[Any]:
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
