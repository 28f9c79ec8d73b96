"""Dates and times of which PostgreSQL would drop a part in silence, since COPY gives it texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import Any, Final

from psycopg.postgres import types
from psycopg.types.range import Range

from penstock.connectors.postgres.copying import RowRefused, shown_row
from penstock.runtime.shown_text import shown_value

__all__ = ["MomentColumns"]

DATE, TIMESTAMP, TIME, ZONED_TIME = (
    types[name].oid for name in ("date", "timestamp", "time", "timetz")
)
SELECTIVE: Final = {
    **{kind: kind for kind in (DATE, TIMESTAMP, TIME, ZONED_TIME)},
    **{types[name].array_oid: types[name].oid for name in ("date", "timestamp", "time", "timetz")},
    types["daterange"].oid: DATE,
    types["tsrange"].oid: TIMESTAMP,
}
"""Types that have no place for all that a text says, and what arrays and ranges have of them.

Of composite types, and of arrays of ranges, the server alone knows.
"""


class MomentColumns:
    """The columns of a table whose values have to be looked at; ``types`` are those of all."""

    def __init__(self, names: Sequence[str], types: Sequence[int]) -> None:
        self._names = names
        self._columns = [
            (place, name, SELECTIVE[kind])
            for place, (name, kind) in enumerate(zip(names, types, strict=True))
            if kind in SELECTIVE
        ]

    def require_kept(self, rows: Sequence[Sequence[Any]]) -> None:
        """Refuse the first row with a value of which something would be dropped."""
        for place, name, kind in self._columns:
            for row in rows:
                for value in moments_in(row[place]):
                    if lost := dropped(value, kind):
                        raise RowRefused(
                            f"{name} cannot be {shown_value(name, value)}, since its column has no "
                            f"place for {lost}; the row is {shown_row(self._names, row)}"
                        )


def moments_in(value: Any) -> Iterator[datetime | time]:
    """The value, or what an array or a range has."""
    if isinstance(value, datetime | time):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from moments_in(each)
    elif isinstance(value, Range):
        yield from moments_in([value.lower, value.upper])


def dropped(value: datetime | time, kind: int) -> str:
    """What the server would leave out; empty if that is nothing."""
    is_moment = isinstance(value, datetime)
    if kind == DATE:
        return "a time"
    if kind in (TIME, ZONED_TIME) and is_moment:
        return "a date"
    return "a time zone" if kind != ZONED_TIME and value.tzinfo is not None else ""
