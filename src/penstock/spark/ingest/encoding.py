"""From Python values to Arrow columns, with no value changed on the way.

Whole columns are encoded at once. A value is taken only if it comes back as it was: Arrow alone
would cut 1.5 down to 1 for a ``long``, and a ``datetime`` down to a ``date``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate, chain
from numbers import Integral, Real
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from penstock.runtime import shorten
from penstock.spark.egress.rows import row_fields
from penstock.spark.ingest.ddl import SIMPLE, write_type

__all__ = ["Columns", "SchemaMismatch", "columns_of", "encode", "mismatch"]

Values: TypeAlias = Sequence[Any]
Columns: TypeAlias = list[Values]
Kind: TypeAlias = type[Any]

ZONED: Final = SIMPLE["timestamp"]
WITHOUT_ZONE: Final = SIMPLE["timestamp_ntz"]


class SchemaMismatch(ValueError):
    """A value does not fit the schema.

    ``field``   the field that is wrong, such as ``delay`` or ``place.city``; empty if all are
    ``reason``  why it does not fit
    """

    def __init__(self, message: str, field: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.reason = reason


def mismatch(field: str, reason: str) -> SchemaMismatch:
    """For some of the values that were to be encoded; ``field`` is right for a single one."""
    return SchemaMismatch(f"{field}: {reason}" if field else reason, field, reason)


def encode(values: Values, field: pa.Field, path: str) -> pa.Array:
    """The values of one field as an Arrow array of its type."""
    kinds = set(map(type, values))
    has_nulls = NoneType in kinds
    if has_nulls and not field.nullable:
        raise mismatch(path, "there is no value, and the field is NOT NULL")
    kinds.discard(NoneType)
    for accepts, encode_nested in NESTED:
        if accepts(field.type):
            if not has_nulls:
                return encode_nested(values, kinds, field.type, path)
            present = [value for value in values if value is not None]
            return encode_nested(present, kinds, field.type, path).take(_places(values))
    return _leaf(values, kinds, field.type, path)


def columns_of(elements: Values, names: Sequence[str], path: str = "") -> Columns:
    """The values of each field, for elements of any kind that has fields."""
    return _columns(elements, set(map(type, elements)), names, path)


def _columns(elements: Values, kinds: set[Kind], names: Sequence[str], path: str) -> Columns:
    if len(kinds) == 1:
        (kind,) = kinds
        return _columns_of_kind(elements, kind, names, path)
    rows = [_columns_of_kind([each], type(each), names, path) for each in elements]
    return [[row[index][0] for row in rows] for index in range(len(names))]


def _columns_of_kind(elements: Values, kind: Kind, names: Sequence[str], path: str) -> Columns:
    if kind is dict:
        return _of_dicts(elements, names, path)
    if issubclass(kind, Mapping):
        return _of_mappings(elements, names, path)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        _require_fields(kind, kind._fields, row_fields(names), path)
        return _each(itemgetter, map(kind._fields.index, row_fields(names)), elements)
    if issubclass(kind, tuple | list):
        return _of_sequences(elements, names, path)
    if is_dataclass(kind):
        _require_fields(kind, [field.name for field in dataclass_fields(kind)], names, path)
        return _each(attrgetter, names, elements)
    raise mismatch(
        path,
        f"it is of type {kind.__name__}, and needs to be a mapping, a tuple or a dataclass",
    )


def _each(getter: Callable[[Any], Any], keys: Iterable[object], elements: Values) -> Columns:
    return [list(map(getter(key), elements)) for key in keys]


def _of_dicts(elements: Values, names: Sequence[str], path: str) -> Columns:
    try:
        columns = _each(itemgetter, names, elements)
    except KeyError:
        return _of_mappings(elements, names, path)
    if set(map(len, elements)) != {len(names)}:
        _refuse_unknown(elements, names, path)
    return columns


def _of_mappings(elements: Values, names: Sequence[str], path: str) -> Columns:
    """A field that a mapping does not have is null, but a name that no field has is an error."""
    _refuse_unknown(elements, names, path)
    return [[element.get(name) for element in elements] for name in names]


def _refuse_unknown(elements: Values, names: Sequence[str], path: str) -> None:
    known = set(names)
    for element in elements:
        if not known.issuperset(element):
            (unknown, *_) = element.keys() - known
            raise mismatch(path, f"the schema has no field {shorten(unknown)}")


def _of_sequences(elements: Values, names: Sequence[str], path: str) -> Columns:
    lengths = set(map(len, elements)) - {len(names)}
    if lengths:
        raise mismatch(path, f"the number of values is {lengths.pop()}, of fields {len(names)}")
    return _each(itemgetter, range(len(names)), elements)


def _require_fields(kind: Kind, found: Iterable[str], names: Sequence[str], path: str) -> None:
    if set(found) != set(names):
        raise mismatch(
            path,
            f"a {kind.__name__} has the fields {', '.join(found)}, and the schema "
            f"{', '.join(names)}",
        )


# Values without parts.


def _leaf(values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
    fits = _is_decimal if pa.types.is_decimal(kind) else LEAVES[kind]
    for found in kinds:
        if not fits(found):
            raise mismatch(
                path, f"it is of type {found.__name__}, and needs to be {write_type(kind)}"
            )
    if kind == WITHOUT_ZONE and any(value.tzinfo for value in values if value is not None):
        raise mismatch(path, f"it has a time zone, and needs to be {write_type(kind)}")
    try:
        return pa.array(values, kind)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise mismatch(path, str(error)) from error


def _is_integer(kind: Kind) -> bool:
    return issubclass(kind, Integral) and not issubclass(kind, bool)


def _is_real(kind: Kind) -> bool:
    return issubclass(kind, Real) and not issubclass(kind, bool)


def _is_decimal(kind: Kind) -> bool:
    return issubclass(kind, Decimal) or _is_integer(kind)


def _is_date(kind: Kind) -> bool:
    return issubclass(kind, date) and not issubclass(kind, datetime)


def _is(*classes: Kind) -> Callable[[Kind], bool]:
    return lambda kind: issubclass(kind, classes)


LEAVES: Final[dict[pa.DataType, Callable[[Kind], bool]]] = {
    pa.bool_(): _is(bool, np.bool_),
    pa.int8(): _is_integer,
    pa.int16(): _is_integer,
    pa.int32(): _is_integer,
    pa.int64(): _is_integer,
    pa.float32(): _is_real,
    pa.float64(): _is_real,
    pa.string(): _is(str),
    pa.binary(): _is(bytes, bytearray, memoryview),
    pa.date32(): _is_date,
    ZONED: _is(datetime),
    WITHOUT_ZONE: _is(datetime),
    pa.duration("us"): _is(timedelta),
}


# Values with parts. They are encoded without the nulls, which are put in afterwards.


def _places(values: Values) -> pa.Array:
    """For each value its place among those that are not null."""
    present = [value is not None for value in values]
    places = (count - 1 for count in accumulate(present))
    return pa.array(
        [place if is_there else None for place, is_there in zip(places, present, strict=True)],
        pa.int64(),
    )


def _require(fits: Callable[[Kind], bool], kinds: set[Kind], what: str, path: str) -> None:
    for kind in kinds:
        if not fits(kind):
            raise mismatch(path, f"it is of type {kind.__name__}, and needs to be {what}")


def _offsets(values: Values) -> pa.Array:
    return pa.array(accumulate(map(len, values), initial=0), pa.int32())


def _list(values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
    _require(_is(list, tuple, np.ndarray), kinds, "an array", path)
    elements = encode(list(chain.from_iterable(values)), kind.value_field, f"{path}.element")
    return pa.ListArray.from_arrays(_offsets(values), elements, type=kind)


def _map(values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
    _require(_is(Mapping), kinds, "a map", path)
    keys = encode(list(chain.from_iterable(values)), kind.key_field, f"{path}.key")
    items = list(chain.from_iterable(value.values() for value in values))
    encoded = encode(items, kind.item_field, f"{path}.value")
    return pa.MapArray.from_arrays(_offsets(values), keys, encoded, type=kind)


def _struct(values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
    fields = list(kind)
    columns = _columns(values, kinds, [field.name for field in fields], path)
    arrays = [
        encode(column, field, f"{path}.{field.name}")
        for column, field in zip(columns, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)


NESTED: Final = (
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
)
