"""Strategies for the types that a schema can have, and for values that fit them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.spark.ingest.schema import Schema

SIMPLE = (
    "boolean", "byte", "short", "int", "long", "float", "double", "string", "binary", "date",
    "timestamp", "timestamp_ntz", "interval day to second", "decimal(10,2)", "decimal(38,10)",
)  # fmt: skip
NAMES = st.sampled_from(("a", "b2", "Mixed", "class", "_under", "with space", "tick`ed", "größe"))
ZONES = st.sampled_from((UTC, timezone(timedelta(hours=2)), timezone(-timedelta(minutes=210))))
EARLIEST, LATEST = datetime(2, 1, 1), datetime(9998, 12, 31)
EXACT = Context(prec=40)


def fields_of(types: st.SearchStrategy[str], between: str) -> st.SearchStrategy[str]:
    """One to four fields, as they are written in a schema or a struct."""
    names = st.lists(NAMES, min_size=1, max_size=4, unique=True)
    return names.flatmap(
        lambda chosen: st.tuples(*(field(name, types, between) for name in chosen)).map(", ".join)
    )


def field(name: str, types: st.SearchStrategy[str], between: str) -> st.SearchStrategy[str]:
    quoted = f"`{name.replace('`', '``')}`"
    ending = st.sampled_from(("", " NOT NULL"))
    return st.tuples(types, ending).map(lambda pair: f"{quoted}{between}{pair[0]}{pair[1]}")


def nested(types: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        types.map(lambda kind: f"array<{kind}>"),
        st.tuples(st.sampled_from(("string", "int", "date")), types).map(
            lambda pair: f"map<{pair[0]},{pair[1]}>"
        ),
        fields_of(types, ": ").map(lambda fields: f"struct<{fields}>"),
    )


TYPES = st.recursive(st.sampled_from(SIMPLE), nested, max_leaves=4)
SCHEMAS = fields_of(TYPES, " ").map(Schema.of)


def elements(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings that fit the schema."""
    return mappings(list(schema.arrow))


def mappings(fields: list[pa.Field]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field.name: values(field) for field in fields})


def values(field: pa.Field) -> st.SearchStrategy[Any]:
    present = of_type(field.type)
    return st.none() | present if field.nullable else present


def of_type(kind: pa.DataType) -> st.SearchStrategy[Any]:
    types = pa.types
    if types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return st.integers(-most, most - 1)
    if types.is_floating(kind):
        return st.floats(width=32 if kind.bit_width == 32 else 64, allow_nan=False)
    if types.is_decimal(kind):
        most = 10**kind.precision - 1
        return st.integers(-most, most).map(lambda n: Decimal(n).scaleb(-kind.scale, EXACT))
    if types.is_timestamp(kind):
        zones = ZONES if kind.tz else st.none()
        return st.datetimes(EARLIEST, LATEST, timezones=zones)
    if types.is_list(kind):
        return st.lists(values(kind.value_field), max_size=3)
    if types.is_map(kind):
        return st.dictionaries(of_type(kind.key_type), values(kind.item_field), max_size=3)
    if types.is_struct(kind):
        return mappings(list(kind))
    return PLAIN[kind]


PLAIN: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.date32(): st.dates(),
    pa.duration("us"): st.timedeltas(timedelta(days=-(10**8)), timedelta(days=10**8)),
}


def as_row(value: Any, kind: pa.DataType) -> Any:
    """What a value that fits has to come back as: structs as tuples, all else as it was."""
    types = pa.types
    if value is None:
        return None
    if types.is_struct(kind):
        return tuple(as_row(value[field.name], field.type) for field in kind)
    if types.is_list(kind):
        return [as_row(each, kind.value_type) for each in value]
    if types.is_map(kind):
        return {key: as_row(each, kind.item_type) for key, each in value.items()}
    return value
