"""The last rows at an edge, as text: few of them, cut, and without secret values.

Meters remember elements anyway. They become text here when somebody looks, so that an element costs
nothing more on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, Final
from uuid import UUID

from penstock.observe.meters import Timestamped, beginning_of, rows_in
from penstock.observe.status import SampleRow
from penstock.runtime import shorten, shown_element
from penstock.runtime.secret_fields import MASK, fields_of, has_secret_fields, is_secret

__all__ = ["sampled"]

ROWS: Final = 5
FIELDS: Final = 12
MOST_NAME: Final = 40
MOST_VALUE: Final = 60
AS_TEXT: Final = (str, date, time, timedelta, Decimal, UUID)
"""What says nothing more by its ``repr``."""


def sampled(last: Sequence[Timestamped]) -> tuple[SampleRow, ...]:
    """The last rows of what a meter remembers, the newest last; a batch is the rows in it."""
    found: list[SampleRow] = []
    for at, element in reversed(last):
        found.extend(row_of(at, row) for row in islice(newest_first(element), ROWS - len(found)))
        if len(found) == ROWS:
            break
    return tuple(reversed(found))


def newest_first(element: Any) -> Iterator[Any]:
    """The rows of an element, of a batch no more than are shown."""
    rows = rows_in(element)
    table = getattr(element, "table", element)  # a batch with its number has a table
    if rows is None or not hasattr(table, "to_pylist"):
        yield element
        return
    yield from reversed(table.slice(max(rows - ROWS, 0)).to_pylist())


def row_of(at: float, element: Any) -> SampleRow:
    """One row."""
    fields = fields_of(element)
    if fields is None:
        return SampleRow(at, (("", in_short(element)),))
    shown = islice(fields.items(), FIELDS)
    return SampleRow(at, tuple(shown_fields(shown)), max(len(fields) - FIELDS, 0))


def shown_fields(fields: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, str]]:
    """Names and values; those within a value are looked after by ``shorten``."""
    for name, value in fields:
        text = repr(MASK) if is_secret(name) else in_cell(value)
        yield beginning_of(str(name), MOST_NAME), text


def in_cell(value: Any) -> str:
    """The beginning of a value."""
    if isinstance(value, AS_TEXT):
        return beginning_of(str(value), MOST_VALUE)
    return beginning_of(shorten(value), MOST_VALUE)


def in_short(element: Any) -> str:
    """An element without fields."""
    return shown_element(element) if has_secret_fields() else in_cell(element)
