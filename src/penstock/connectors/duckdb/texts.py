"""Values that come to DuckDB as texts: Arrow has no type for them, or not for all of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import time, timedelta
from numbers import Integral
from typing import Any, Final

import pyarrow as pa

from penstock.arrow import cast_exactly
from penstock.arrow.leaf_types import family_of, has_nanoseconds
from penstock.connectors.shared.arrow_values import WrongValue, column_array
from penstock.connectors.shared.formats import json_text
from penstock.runtime.shown_text import shown_value, shown_words

__all__ = ["AS_TEXT", "interval_array", "is_for_duckdb", "require_microseconds", "text_array"]

NANOSECONDS: Final = 1_000
TOO_FINE: Final = "it has nanoseconds, and needs to be INTERVAL"


def text_array(name: str, values: Sequence[Any], kind: str) -> pa.Array:
    """The values of a column; what is a text already stays one."""
    text_of = AS_TEXT[kind]
    texts: list[str | None] = []
    for place, value in enumerate(values):
        try:
            is_ready = value is None or isinstance(value, str)
            texts.append(value if is_ready else text_of(value))
        except (TypeError, ValueError) as error:
            words = shown_words(type(error).__name__, str(error), name)
            message = f"{name} cannot be {shown_value(name, value)}: {words}"
            raise WrongValue(message, place) from None
    return column_array(name, texts, pa.field(name, pa.string()))


def interval_array(name: str, values: Sequence[Any], field: pa.Field) -> pa.Array:
    """The values of a column of intervals, which have microseconds."""
    for place, value in enumerate(values):
        if has_nanoseconds(value) and isinstance(value, timedelta):
            raise WrongValue(f"{name} cannot be {shown_value(name, value)}: {TOO_FINE}", place)
    array = column_array(name, values, field)
    require_microseconds(name, array)
    return array


def integer_text(value: Any) -> str:
    """An integer of any size."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"it is of type {type(value).__name__}, and needs to be an integer")
    return str(value)


def time_text(value: Any) -> str:
    """A time with its zone, which Arrow does not have."""
    if not isinstance(value, time) or value.utcoffset() is None:
        raise TypeError("it needs to be a time with a zone that is the same on each day")
    return value.isoformat()


def no_text(value: Any) -> str:
    """For what has to be a text already."""
    raise TypeError(f"it is of type {type(value).__name__}, and needs to be a text")


AS_TEXT: Final[dict[str, Callable[[Any], str]]] = {
    "BIGNUM": integer_text,
    "BIT": no_text,
    "JSON": json_text,
    "TIME WITH TIME ZONE": time_text,
    "UUID": str,
}
"""What makes texts of values, by the type of the column."""


def is_for_duckdb(given: pa.DataType, wanted: pa.DataType, kind: str) -> bool:
    """Whether DuckDB itself makes the values of a column, of what a batch has; none is changed."""
    if kind in AS_TEXT:
        return READ.get(kind) is None or family_of(given) in READ[kind]
    return bool(pa.types.is_union(wanted))


def require_microseconds(name: str, column: pa.Array | pa.ChunkedArray) -> None:
    """Refuse intervals of which DuckDB would drop a part."""
    if pa.types.is_duration(column.type):
        cast_exactly(column, pa.duration("us"), name)
        return
    for place, value in enumerate(column.to_pylist()):
        if value is not None and value.nanoseconds % NANOSECONDS:
            raise WrongValue(f"{name} cannot be {shown_value(name, value)}: {TOO_FINE}", place)


READ: Final = {
    "BIGNUM": {"integer", "text"},
    "BIT": {"text"},
    "TIME WITH TIME ZONE": {"text"},
}
"""What of Arrow such a type can be made of; of other types it is not said, since all goes."""
