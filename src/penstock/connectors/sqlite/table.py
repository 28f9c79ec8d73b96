"""A table of a SQLite database that has each row once, over kills and restarts of a checkpoint."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from penstock.connectors.files.file_start import size_of
from penstock.connectors.shared.durable_files import require_writable
from penstock.connectors.shared.opened_file import OpenedFile
from penstock.connectors.shared.rows import RowValues, is_arrow, rows_in
from penstock.connectors.shared.table_shape import MARKS, TableShape, joined, quoted
from penstock.connectors.sqlite.errors import WrittenTable
from penstock.connectors.sqlite.staging import StagedRows, enter, is_shared, leave
from penstock.connectors.sqlite.values import CONNECTOR, is_plain_column, is_storable, value_for
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.runtime import shorten
from penstock.runtime.shown_text import shown_element, shown_value

__all__ = ["SqliteShape", "SqliteTable"]

TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(\([0-9]+(, *[0-9]+)?\))?[A-Za-z ]*|")


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
    def into(self) -> str:
        """The beginning of what adds rows."""
        return f"INSERT INTO {self.quoted_table} ({joined(self.names)})"

    @property
    def insert(self) -> str:
        """What adds a row, or replaces the one with the same key."""
        values = ", ".join("?" for _ in self.names)
        return f"{self.into} VALUES ({values}){self.on_conflict}"


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
        self._written = WrittenTable(CONNECTOR, path, self.name, timeout)
        self._database: sqlite3.Connection | None = None
        self._file = OpenedFile(self.name, path)
        self._is_entered = False
        self._is_prepared = False
        self._row_values: RowValues | None = None
        self._is_staging = False
        self._staged: StagedRows | None = None
        self._mark_before: str | None = None
        self._mark_after: str | None = None

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; the database is only read."""
        require_writable(CONNECTOR, self._path.parent)
        if not size_of(self._path):
            BatchProgress(self.name, epoch)
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
        enter(self._path)
        self._is_entered = True
        with self._explained():
            self._database = self._connected("rwc")
            self._database.execute("PRAGMA synchronous = FULL")
            if is_new:  # the mode of one that is there is for its owner to choose
                self._database.execute("PRAGMA journal_mode = WAL")
            if has_table(self._database, self._shape.table):
                self._require_fits(self._database)
        self._file = OpenedFile(self.name, self._path)

    def disconnect(self) -> None:
        """Close the database."""
        database, self._database = self._database, None
        self._is_prepared = False
        self._staged = None
        if self._is_entered:
            self._is_entered = False
            leave(self._path)
        if database is not None:
            database.close()

    def start_transaction(self) -> None:
        """Wait for other writers; from here on there are none.

        Another sink of this program may be one whose rows come by the same thread: then this one
        waits when it commits.
        """
        self._is_staging = self._in_batch and is_shared(self._path)
        self._mark_after = None
        if not self._is_staging:
            with self._explained():
                self._opened.execute("BEGIN IMMEDIATE")

    def load_mark(self) -> str | None:
        """The mark under our name."""
        with self._explained():
            self._mark_before = self._mark_in(self._opened)
        return self._mark_before

    def store_mark(self, mark: str) -> None:
        """Replace it, in a table that is made with the first one."""
        if self._is_staging:
            self._mark_after = mark
            return
        with self._explained():
            self._opened.execute(
                f"CREATE TABLE IF NOT EXISTS {MARKS} (sink TEXT PRIMARY KEY, mark TEXT NOT NULL)"
            )
            self._opened.execute(
                f"INSERT INTO {MARKS} (sink, mark) VALUES (?, ?)"
                " ON CONFLICT (sink) DO UPDATE SET mark = excluded.mark",
                (self._mark_name, mark),
            )

    def is_block(self, element: Any) -> bool:
        """An Arrow batch or table is many rows."""
        return is_arrow(element)

    def take(self, block: Any) -> None:
        """Take its rows."""
        is_plain = all(map(is_plain_column, block.columns))
        for rows in rows_in(CONNECTOR, block, self._shape.columns):
            if self._shape.columns is None:
                self._shape = self._shape.of(dict.fromkeys(block.schema.names, ""))
            self.take_rows(rows if is_plain else self._storable(rows))

    def row_of(self, element: Any) -> Sequence[Any]:
        """Its values, in the order of the columns."""
        values = self._values_like(element)(element)
        return [value_for(*named) for named in zip(self._shape.names, values, strict=True)]

    def rows_of(self, elements: Sequence[Any]) -> list[Any]:
        """The same for many."""
        rows = self._values_like(elements[0]).of_all(elements)
        return super().rows_of(elements) if rows is None else self._storable(rows)

    def _values_like(self, element: Any) -> RowValues:
        """Gets the values of elements; the first one says the columns, if nobody did."""
        if self._row_values is None:
            self._shape = self._shape.like(element)
            self._row_values = RowValues(CONNECTOR, self._shape.names)
        return self._row_values

    def insert(self, rows: Sequence[Any]) -> None:
        """Add rows to the table, which is made in the same transaction if it is not there."""
        if self._shape.key:
            self._require_keys(rows)
        with self._explained(staged=self._is_staging), self._encoded(rows):
            if not self._is_staging:
                self._prepare()
                self._opened.executemany(self._shape.insert, rows)
                return
            if self._staged is None:
                self._staged = StagedRows(self._opened, self._shape.names)
            self._staged.add(rows)

    def commit_transaction(self) -> None:
        """The disk has it when this returns."""
        with self._explained():
            if self._is_staging:
                self._move_staged()
            self._file.require_there()
            self._opened.execute("COMMIT")
            self._drop_staged()

    def rollback(self) -> None:
        """A table that was made in the transaction is gone again."""
        self._is_prepared = False
        with self._explained():
            if self._opened.in_transaction:  # some errors have rolled it back already
                self._opened.execute("ROLLBACK")
            self._drop_staged()

    def _move_staged(self) -> None:
        """Begin the transaction only now, and end it soon."""
        self._opened.execute("BEGIN IMMEDIATE")
        self._is_staging = False
        if self._mark_after is not None:
            before = self._mark_before
            if self.load_mark() != before:
                raise DeliveryRefused(
                    f"{self.name} was written by another pipeline meanwhile; stop that one, or "
                    "write somewhere else"
                )
        if self._staged is not None:
            self._prepare()
            self._staged.move(self._shape.into, self._shape.on_conflict)
        if self._mark_after is not None:
            self.store_mark(self._mark_after)

    def _drop_staged(self) -> None:
        staged, self._staged = self._staged, None
        if staged is not None:
            staged.drop()

    def _prepare(self) -> None:
        """Make the table if it is not there, in the transaction."""
        if self._is_prepared:
            return
        if has_table(self._opened, self._shape.table):
            self._require_fits(self._opened)
        else:
            self._opened.execute(self._shape.create)
        self._is_prepared = True

    def _storable(self, rows: list[Any]) -> list[Any]:
        """The rows, with values that SQLite can hold."""
        if all(map(is_storable, zip(*rows, strict=True))):
            return rows
        names = self._shape.names
        return [[value_for(*named) for named in zip(names, row, strict=True)] for row in rows]

    def _require_keys(self, rows: Sequence[Any]) -> None:
        """Refuse a key that is NULL: SQLite makes one of its own of it, which another row has."""
        names = self._shape.names
        for name in self._shape.key:
            keys = [*map(itemgetter(names.index(name)), rows)]
            if None in keys:
                row = dict(zip(names, rows[keys.index(None)], strict=True))
                raise ValueError(
                    f"{CONNECTOR}: the key {name} of a row is NULL; the row is {shorten(row)}"
                )

    @contextmanager
    def _encoded(self, rows: Sequence[Any]) -> Iterator[None]:
        """Name a text that has no bytes, such as half of a pair of surrogates."""
        try:
            yield
        except UnicodeEncodeError as error:
            named = (each for row in rows for each in zip(self._shape.names, row, strict=True))
            column = next((name for name, value in named if value == error.object), None)
            shown = shown_value(column, error.object) if column else shown_element(error.object)
            raise ValueError(
                f"{CONNECTOR}: {column or 'a value'} is {shown}, which is no text that can be "
                f"stored: {error.reason}"
            ) from None

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
    def _explained(self, *, staged: bool = False) -> Iterator[None]:
        """Explain the errors of SQLite, which do not name the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._written.explanation(error, staged=staged) from None


def has_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether there is a table or a view of that name."""
    found = database.execute(
        "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE",
        (name,),
    )
    return found.fetchone() is not None
