"""The types that Iceberg has, as Arrow knows them.

A table gives its columns in other types of Arrow than those that it was made of: texts as long
ones, for instance. Here each type of Iceberg has one type of Arrow, so that they can be compared.
"""

from __future__ import annotations

from typing import Final

import pyarrow
from pyarrow import types

__all__ = ["iceberg_schema"]

SAME: Final = {
    pyarrow.int8(): pyarrow.int32(),
    pyarrow.int16(): pyarrow.int32(),
    pyarrow.uint8(): pyarrow.int32(),
    pyarrow.uint16(): pyarrow.int32(),
    pyarrow.uint32(): pyarrow.int64(),
    pyarrow.uint64(): pyarrow.int64(),
    pyarrow.float16(): pyarrow.float32(),
    pyarrow.large_string(): pyarrow.string(),
    pyarrow.string_view(): pyarrow.string(),
    pyarrow.large_binary(): pyarrow.binary(),
    pyarrow.binary_view(): pyarrow.binary(),
    pyarrow.date64(): pyarrow.date32(),
    pyarrow.time32("s"): pyarrow.time64("us"),
    pyarrow.time32("ms"): pyarrow.time64("us"),
    pyarrow.time64("ns"): pyarrow.time64("us"),
}
UNKNOWN: Final = (types.is_null, types.is_duration, types.is_interval, types.is_union)


def iceberg_schema(connector: str, schema: pyarrow.Schema) -> pyarrow.Schema:
    """The types that a table has for these; ``ValueError`` if it has none."""
    fields = []
    for field in schema:
        if any(is_kind(field.type) for is_kind in UNKNOWN):
            raise ValueError(
                f"{connector}: Iceberg has no type for the column {field.name}, {field.type}; "
                "schema= can say another"
            )
        fields.append(plain_field(field))
    return pyarrow.schema(fields)


def plain_field(field: pyarrow.Field) -> pyarrow.Field:
    """Without the number of the column, which is its own for each table."""
    return field.with_type(plain_type(field.type)).remove_metadata()


def plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The one type of Arrow that stands for a type of Iceberg."""
    if types.is_timestamp(kind):
        return pyarrow.timestamp("us", "UTC" if kind.tz else None)
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if types.is_struct(kind):
        return pyarrow.struct([plain_field(each) for each in kind])
    if types.is_map(kind):
        return pyarrow.map_(plain_type(kind.key_type), plain_field(kind.item_field))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pyarrow.list_(plain_field(kind.value_field).with_name("element"))
    return SAME.get(kind, kind)
