"""Rows of a batch that wait beside a SQLite database until the batch is committed.

A database has one writer at a time. Two sinks of one pipeline that write into the same one would
wait for each other, each with a part of the batch: so they write into tables of their own
connections, which nobody else sees, and into the database one after the other.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from penstock.connectors.shared.table_shape import joined

__all__ = ["StagedRows", "enter", "is_shared", "leave"]

STAGED: Final = "temp.penstock_staged"


class StagedRows:
    """A table of this connection alone, with as many rows as have come."""

    def __init__(self, database: sqlite3.Connection, names: Sequence[str]) -> None:
        self._database = database
        # Names of our own: with some of the user's, ``rowid`` would be another column.
        self._columns = joined(f"column{number}" for number in range(len(names)))
        places = ", ".join("?" for _ in names)
        self._insert = f"INSERT INTO {STAGED} VALUES ({places})"
        database.execute(f"DROP TABLE IF EXISTS {STAGED}")
        # Without types: values stay as they are, and the table itself says what they become.
        database.execute(f"CREATE TEMPORARY TABLE penstock_staged ({self._columns})")

    def add(self, rows: Sequence[Any]) -> None:
        """Keep rows, in one transaction, which locks nothing but this table."""
        self._database.execute("BEGIN")
        try:
            self._database.executemany(self._insert, rows)
        finally:
            if self._database.in_transaction:  # a full disk has rolled it back already
                self._database.execute("COMMIT")

    def move(self, into: str, on_conflict: str) -> None:
        """Add all of them to the table, in their order; the transaction is the caller's."""
        # WHERE: else ON would be taken for the condition of a join.
        self._database.execute(
            f"{into} SELECT {self._columns} FROM {STAGED} WHERE true ORDER BY rowid{on_conflict}"
        )

    def drop(self) -> None:
        """Forget them."""
        self._database.execute(f"DROP TABLE IF EXISTS {STAGED}")


_open: Final[list[str]] = []
"""The databases that sinks of this program have open, one entry for each sink."""


def enter(path: Path) -> None:
    """A sink of this program opens the database. On any thread: a list takes one change a time."""
    _open.append(os.path.realpath(path))


def leave(path: Path) -> None:
    """It has closed it."""
    _open.remove(os.path.realpath(path))


def is_shared(path: Path) -> bool:
    """Whether several sinks of this program have it open."""
    return _open.count(os.path.realpath(path)) > 1
