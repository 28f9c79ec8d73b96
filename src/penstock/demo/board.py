"""The departure board: a sink that keeps one row for each airport and hour."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.demo.week import DAYS, Totals, local_day

__all__ = ["Board", "hours_on", "rows_on", "totals_on"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS board (
    origin TEXT, hour TEXT, departures INTEGER, cancelled INTEGER, delay REAL, wind REAL,
    PRIMARY KEY (origin, hour)
)
"""


class Board:
    """Writes each row, and commits it, before it takes the next one.

    After a crash Spark gives the rows of its last batch once more. The board knows them by airport
    and hour; ``duplicated`` counts those that came with another content than before.
    """

    def __init__(self, path: Path) -> None:
        self.duplicated = 0
        self.recognised = 0
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(SCHEMA)

    def __call__(self, row: Any) -> None:
        """Take a row."""
        hour = row.hour.replace(tzinfo=UTC).isoformat()
        values = (row.origin, hour, row.departures, row.cancelled, row.delay, row.wind)
        written = self._database.execute(
            "INSERT OR IGNORE INTO board VALUES (?, ?, ?, ?, ?, ?)", values
        )
        if not written.rowcount:
            self._seen_again(values)

    def close(self) -> None:
        """Nothing more will come."""
        self._database.close()

    def _seen_again(self, values: tuple[Any, ...]) -> None:
        found = self._database.execute(
            "SELECT * FROM board WHERE origin = ? AND hour = ?", values[:2]
        ).fetchone()
        if tuple(found) == values:
            self.recognised += 1
        else:
            self.duplicated += 1


def rows_on(path: Path) -> int:
    """How many rows a board has; also while somebody writes on it."""
    return len(list(read(path)))


def hours_on(path: Path) -> set[tuple[str, datetime]]:
    """The airports and hours of which a board says anything."""
    return {(origin, datetime.fromisoformat(hour)) for origin, hour, *_ in read(path)}


def totals_on(path: Path) -> Totals:
    """What a board says of the week."""
    departures: Counter[int] = Counter()
    cancelled: Counter[int] = Counter()
    for _, hour, scheduled, missing, *_ in read(path):
        day = local_day(datetime.fromisoformat(hour))
        if day in DAYS:
            departures[day] += scheduled
            cancelled[day] += missing
    return Totals(dict(departures), dict(cancelled))


def read(path: Path) -> Iterator[tuple[Any, ...]]:
    """All rows."""
    if path.exists():
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            try:
                yield from database.execute("SELECT * FROM board").fetchall()
            except sqlite3.OperationalError:
                return  # its table is not there yet
