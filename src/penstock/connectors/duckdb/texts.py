"""Values that come to DuckDB as texts: Arrow has no type for them, or not for all of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import time
from numbers import Integral
from typing import Any, Final

import pyarrow as pa

from penstock.arrow.leaf_types import family_of
from penstock.connectors.shared.arrow_values import WrongValue, column_array
from penstock.connectors.shared.formats import json_text
from penstock.runtime.shown_text import shown_value, shown_words

__all__ = ["AS_TEXT", "is_for_duckdb", "text_array"]


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


def integer_text(value: Any) -> str:
    """An integer of any size."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"it is of type {type(value).__name__}, and needs to be an integer")
    return str(value)


def time_text(value: Any) -> str:
    """A time with its zone, which Arrow does not have."""
    if not isinstance(value, time) or value.tzinfo is None:
        raise TypeError("it needs to be a time with a zone")
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
    return bool(pa.types.is_union(wanted) or pa.types.is_interval(wanted))


READ: Final = {
    "BIGNUM": {"integer", "text"},
    "BIT": {"text"},
    "TIME WITH TIME ZONE": {"text"},
}
"""What of Arrow such a type can be made of; of other types it is not said, since all goes."""
