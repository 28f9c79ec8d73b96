"""The schema of what crosses onto Spark: one description for Arrow, for Spark and for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias, Union

import pyarrow as pa

from penstock.runtime import shorten
from penstock.spark.ingest.ddl import (
    ALLOWED,
    INTERVAL,
    LARGEST_PRECISION,
    SIMPLE,
    SchemaError,
    parse_schema,
    write_fields,
)
from penstock.spark.private_api import arrow_type_of, spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["Schema", "SchemaError", "SchemaLike"]

SchemaLike: TypeAlias = Union["Schema", pa.Schema, "StructType", str]
"""A schema in any of the ways in which it can be given."""


@dataclass(frozen=True)
class Schema:
    """The names and types of the fields of an element.

    ``arrow`` is exactly what Spark expects of the batches of a source.
    """

    arrow: pa.Schema

    @staticmethod
    def of(given: SchemaLike) -> Schema:
        """The schema that is given as a text, by pyarrow, or by pyspark; needs no Java."""
        if isinstance(given, Schema):
            return given
        if isinstance(given, str):
            return Schema(parse_schema(given))
        if isinstance(given, pa.Schema):
            return Schema(_as_spark_has_it(given))
        if _is_struct_type(given):
            return Schema(_from_spark(given))
        raise TypeError(
            "a schema is a text such as 'id long, name string', a pyarrow.Schema or a StructType "
            f"of pyspark, not {shorten(given)}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.arrow.names)

    @cached_property
    def ddl(self) -> str:
        """The schema as a text, from which ``of`` makes an equal one."""
        return write_fields(self.arrow)

    @cached_property
    def spark(self) -> StructType:
        """The schema as pyspark has it; needs no Java."""
        return spark_schema_of(self.arrow)

    def __str__(self) -> str:
        return self.ddl


def _is_struct_type(given: object) -> bool:
    """Without an import of pyspark: a caller with a ``StructType`` has imported it."""
    return any(
        (base.__module__, base.__name__) == ("pyspark.sql.types", "StructType")
        for base in type(given).__mro__
    )


def _from_spark(struct: StructType) -> pa.Schema:
    from pyspark.errors import PySparkException

    fields = []
    for field in struct:
        try:
            kind = arrow_type_of(field.dataType)
        except PySparkException:
            kind = None
        if kind is None:
            raise _not_allowed(field.name, field.dataType.simpleString())
        fields.append(pa.field(field.name, kind, nullable=field.nullable))
    return _as_spark_has_it(pa.schema(fields))


def _as_spark_has_it(schema: pa.Schema) -> pa.Schema:
    """``schema`` in the types that Spark has: one width of offsets, one unit of time."""
    _refuse_names(schema.names)
    return pa.schema([_field(field, field.name) for field in schema])


def _refuse_names(names: list[str], path: str = "") -> None:
    of = f" of {path!r}" if path else ""
    if not names:
        raise SchemaError(f"the schema{of} has no fields")
    known: set[str] = set()
    for name in names:
        if not name:
            raise SchemaError(f"the schema{of} has a field without a name")
        if name.lower() in known:  # Spark does not tell names apart by their case
            raise SchemaError(f"the schema{of} has the name {name!r} twice")
        known.add(name.lower())


def _field(field: pa.Field, path: str) -> pa.Field:
    return pa.field(field.name, _type(field.type, path), nullable=field.nullable)


def _type(kind: pa.DataType, path: str) -> pa.DataType:
    if kind in SIMPLE.values() or kind == INTERVAL:
        return kind
    for belongs, translate in TRANSLATIONS:
        if belongs(kind):
            return translate(kind, path)
    raise _not_allowed(path, str(kind))


def _decimal(kind: pa.DataType, path: str) -> pa.DataType:
    if kind.precision > LARGEST_PRECISION or not 0 <= kind.scale <= kind.precision:
        raise SchemaError(
            f"the field {path!r} is a {kind}; the precision of a decimal is at most "
            f"{LARGEST_PRECISION}, its scale from 0 to the precision"
        )
    return pa.decimal128(kind.precision, kind.scale)


def _list(kind: pa.DataType, path: str) -> pa.DataType:
    # The text of a schema cannot say that elements and values are never null.
    return pa.list_(pa.field("element", _type(kind.value_type, f"{path}.element")))


def _map(kind: pa.DataType, path: str) -> pa.DataType:
    key = pa.field("key", _type(kind.key_type, f"{path}.key"), nullable=False)
    return pa.map_(key, pa.field("value", _type(kind.item_type, f"{path}.value")))


def _struct(kind: pa.DataType, path: str) -> pa.DataType:
    _refuse_names([field.name for field in kind], path)
    return pa.struct([_field(field, f"{path}.{field.name}") for field in kind])


def _timestamp(kind: pa.DataType, path: str) -> pa.DataType:
    return pa.timestamp("us", tz=None if kind.tz is None else "UTC")


def _not_allowed(path: str, kind: str) -> SchemaError:
    return SchemaError(f"the field {path!r} is a {kind}, which is not allowed; use {ALLOWED}")


types = pa.types
TRANSLATIONS: Final[
    tuple[
        tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, str], pa.DataType]],
        ...,
    ]
] = (
    (types.is_decimal, _decimal),
    (types.is_timestamp, _timestamp),
    (types.is_struct, _struct),
    (types.is_map, _map),
    (types.is_list, _list),
    (types.is_large_list, _list),
    (types.is_fixed_size_list, _list),
    (types.is_large_string, lambda kind, path: pa.string()),
    (types.is_string_view, lambda kind, path: pa.string()),
    (types.is_large_binary, lambda kind, path: pa.binary()),
    (types.is_binary_view, lambda kind, path: pa.binary()),
    (types.is_fixed_size_binary, lambda kind, path: pa.binary()),
    (types.is_date64, lambda kind, path: pa.date32()),
    (types.is_duration, lambda kind, path: INTERVAL),
    (types.is_dictionary, lambda kind, path: _type(kind.value_type, path)),
)
