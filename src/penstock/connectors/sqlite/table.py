"""A table of a SQLite database that has each row once, over kills and restarts of a checkpoint."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from penstock.connectors.files.file_start import size_of
from penstock.connectors.shared.durable_files import require_writable
from penstock.connectors.shared.formats import fields_of, values_of
from penstock.connectors.shared.table_shape import MARKS, TableShape, joined, quoted
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.runtime import shorten

__all__ = ["CONNECTOR", "SqliteShape", "SqliteTable", "value_for"]

CONNECTOR: Final = "write_sqlite"
TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(\([0-9]+(, *[0-9]+)?\))?[A-Za-z ]*|")
PLAIN: Final = (str, bytes, float, bool, type(None))
INTEGERS: Final = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True)
class SqliteShape(TableShape):
    """A table of SQLite, which takes small letters and capitals for the same."""

    connector = CONNECTOR
    types = TYPE

    def __post_init__(self) -> None:
        if self.table.lower().startswith("sqlite_"):
            raise ValueError(f"{CONNECTOR}: names that begin with sqlite_ belong to SQLite itself")
        super().__post_init__()
        if self.columns and len({name.lower() for name in self.columns}) != len(self.columns):
            raise ValueError(
                f"{CONNECTOR}: columns must be different names, and SQLite takes small letters and "
                f"capitals for the same; not so {', '.join(self.columns)}"
            )

    @property
    def insert(self) -> str:
        """What adds a row, or replaces the one with the same key."""
        values = ", ".join("?" for _ in self.names)
        into = f"INSERT INTO {self.quoted_table} ({joined(self.names)})"
        return f"{into} VALUES ({values}){self.on_conflict}"


def value_for(column: str, value: Any) -> Any:
    """``value`` as SQLite holds it."""
    if type(value) in PLAIN or isinstance(value, str | bytes | float):
        return value
    if isinstance(value, int):
        if value not in INTEGERS:
            raise TypeError(f"{CONNECTOR}: {column} is {value}, and SQLite has 64 bits for that")
        return value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(
        f"{CONNECTOR}: {column} is {shorten(value)}, and SQLite holds texts, numbers, bytes and "
        "None"
    )


class SqliteTable(TransactionalSink):
    """Writes rows into a table; ``mark_name`` is under which name its mark is kept."""

    def __init__(
        self, path: Path, shape: SqliteShape, *, mark_name: str, commit_rows: int, timeout: float
    ) -> None:
        super().__init__(f"the table {shape.table} in {path}", commit_rows=commit_rows)
        self._path = path
        self._shape = shape
        self._mark_name = mark_name
        self._timeout = timeout
        self._database: sqlite3.Connection | None = None
        self._is_prepared = False

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; the database is only read."""
        require_writable(CONNECTOR, self._path.parent)
        if not size_of(self._path):
            return f"makes {self._path}"
        with self._explained(), closing(self._connected("ro")) as database:
            mark = self._mark_in(database)
            BatchProgress(self.name, epoch, None if epoch is None else mark)
            if not has_table(database, self._shape.table):
                return f"makes {self.name}"
            self._require_fits(database)
            return f"goes on in {self.name}" if epoch and mark else f"adds to {self.name}"

    def connect(self) -> None:
        """Open the database, made if it is not there, and refuse a table that does not fit."""
        require_writable(CONNECTOR, self._path.parent)
        is_new = not size_of(self._path)
        with self._explained():
            self._database = self._connected("rwc")
            self._database.execute("PRAGMA synchronous = FULL")
            if is_new:  # the mode of one that is there is for its owner to choose
                self._database.execute("PRAGMA journal_mode = WAL")
            if has_table(self._database, self._shape.table):
                self._require_fits(self._database)

    def disconnect(self) -> None:
        """Close the database."""
        database, self._database = self._database, None
        self._is_prepared = False
        if database is not None:
            database.close()

    def start_transaction(self) -> None:
        """Wait for other writers; from here on there are none."""
        with self._explained():
            self._opened.execute("BEGIN IMMEDIATE")

    def load_mark(self) -> str | None:
        """The mark under our name."""
        with self._explained():
            return self._mark_in(self._opened)

    def store_mark(self, mark: str) -> None:
        """Replace it, in a table that is made with the first one."""
        with self._explained():
            self._opened.execute(
                f"CREATE TABLE IF NOT EXISTS {MARKS} (sink TEXT PRIMARY KEY, mark TEXT NOT NULL)"
            )
            self._opened.execute(
                f"INSERT INTO {MARKS} (sink, mark) VALUES (?, ?)"
                " ON CONFLICT (sink) DO UPDATE SET mark = excluded.mark",
                (self._mark_name, mark),
            )

    def row_of(self, element: Any) -> list[Any]:
        """Its values, in the order of the columns."""
        if self._shape.columns is None:
            named = fields_of(element)
            if named is None:
                raise ValueError(
                    f"{CONNECTOR}: {shorten(element)} has no names for its values; give columns="
                )
            self._shape = self._shape.of(dict.fromkeys(named, ""))
        columns = self._shape.names
        return [
            value_for(column, value)
            for column, value in zip(columns, values_of(CONNECTOR, columns, element), strict=True)
        ]

    def insert(self, rows: Sequence[Any]) -> None:
        """Add rows to the table, which is made in the same transaction if it is not there."""
        with self._explained():
            if not self._is_prepared:
                if has_table(self._opened, self._shape.table):
                    self._require_fits(self._opened)
                else:
                    self._opened.execute(self._shape.create)
                self._is_prepared = True
            self._opened.executemany(self._shape.insert, rows)

    def commit_transaction(self) -> None:
        """The disk has it when this returns."""
        with self._explained():
            self._opened.execute("COMMIT")

    def rollback(self) -> None:
        """A table that was made in the transaction is gone again."""
        self._is_prepared = False
        if self._opened.in_transaction:  # some errors have rolled it back already
            self._opened.execute("ROLLBACK")

    @property
    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            raise ValueError(f"{CONNECTOR}: {self._path} is not open")
        return self._database

    def _connected(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,  # transactions begin and end where we say so
            check_same_thread=False,  # opened on one thread, written on another, never at once
        )

    def _mark_in(self, database: sqlite3.Connection) -> str | None:
        if not has_table(database, MARKS):
            return None
        found = database.execute(f"SELECT mark FROM {MARKS} WHERE sink = ?", (self._mark_name,))
        row = found.fetchone()
        return None if row is None else str(row[0])

    def _require_fits(self, database: sqlite3.Connection) -> None:
        """Refuse a table into which our rows cannot go; what they have may not be known yet."""
        wanted = self._shape.columns
        if wanted is None:
            return
        has = [
            row[1] for row in database.execute(f"PRAGMA table_info({quoted(self._shape.table)})")
        ]
        known = {name.lower() for name in has}
        if missing := [name for name in wanted if name.lower() not in known]:
            raise DeliveryRefused(
                f"{self.name} has the columns {', '.join(has)}, and not {', '.join(missing)}; give "
                "another table, or elements with its columns"
            )
        try:
            database.execute(f"EXPLAIN {self._shape.insert}", [None] * len(wanted))
        except sqlite3.Error as error:
            raise DeliveryRefused(
                f"{self.name} cannot take the columns {', '.join(wanted)}"
                f"{' by the key ' + ', '.join(self._shape.key) if self._shape.key else ''}: {error}"
            ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain the errors of SQLite that have a cause outside."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise TimeoutError(
                    f"{CONNECTOR}: another program has been writing into {self._path} for "
                    f"{self._timeout:g} s; stop that one, or give a longer timeout"
                ) from None
            if code == sqlite3.SQLITE_NOTADB:
                raise DeliveryRefused(f"{CONNECTOR}: {self._path} is no SQLite database") from None
            if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
                raise PermissionError(
                    f"{CONNECTOR}: {self._path} cannot be written by this user: {error}"
                ) from None
            error.add_note(f"in {self.name}")
            raise


def has_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether there is a table or a view of that name."""
    found = database.execute(
        "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE",
        (name,),
    )
    return found.fetchone() is not None
