"""Values as SQLite holds them: as they are, as texts, or refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from math import isnan
from typing import Any, Final

from penstock.connectors.shared.formats import NO_TIME
from penstock.runtime.shown_text import shown_value

__all__ = ["CONNECTOR", "is_plain_column", "is_storable", "value_for"]

CONNECTOR: Final = "write_sqlite"
PLAIN: Final = frozenset({str, bytes, bool, type(None)})
WITH_FLOATS: Final = PLAIN | {float}
PLAIN_ARROW: Final = re.compile(
    r"u?int(8|16|32)|int64|float|double|bool|null|(large_)?(string|binary)"
)
"""The types of Arrow whose values SQLite holds as they are, but for the number that is none."""
FLOATS: Final = frozenset({"float", "double"})
SMALLEST: Final = -(1 << 63)
LARGEST: Final = (1 << 63) - 1


def value_for(column: str, value: Any) -> Any:
    """``value`` as SQLite holds it."""
    if type(value) in PLAIN or isinstance(value, str | bytes):
        return value
    if isinstance(value, float):
        if isnan(value):
            raise nothing_for(column, value)
        return value
    if isinstance(value, int):
        if not SMALLEST <= value <= LARGEST:
            raise TypeError(
                f"{CONNECTOR}: {column} is {shown_value(column, value)}, and SQLite has 64 bits "
                "for that"
            )
        return value
    if isinstance(value, date | time):
        text = value.isoformat()
        if text == NO_TIME:
            raise nothing_for(column, value)
        return text
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(
        f"{CONNECTOR}: {column} is {shown_value(column, value)}, and SQLite holds texts, numbers, "
        "bytes and None"
    )


def nothing_for(column: str, value: Any) -> ValueError:
    """SQLite has no number that is none, and no time that is none."""
    return ValueError(
        f"{CONNECTOR}: {column} is {shown_value(column, value)}, for which SQLite would hold NULL "
        "or a text; make None of it, if that is meant"
    )


def is_plain_column(column: Any) -> bool:
    """Whether SQLite holds the values of a column of Arrow as they are."""
    if not PLAIN_ARROW.fullmatch(str(column.type)):
        return False
    if str(column.type) not in FLOATS:
        return True
    import pyarrow.compute as pc  # which is there if a batch is

    return not pc.any(pc.is_nan(column)).as_py()


def is_float(value: Any) -> bool:
    return type(value) is float


def is_storable(values: Sequence[Any]) -> bool:
    """Whether SQLite holds all values of a column as they are; quicker than one by one."""
    kinds = {*map(type, values)}
    if kinds <= PLAIN:
        return True
    if kinds == {float}:
        return not isnan(sum(values))
    if kinds <= WITH_FLOATS:
        return not any(map(isnan, filter(is_float, values)))
    return kinds == {int} and min(values) >= SMALLEST and max(values) <= LARGEST
