"""Queries of SQLite databases as sources."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from penstock.connectors.shared.pulled_source import FETCH, from_pulled
from penstock.connectors.shared.query_reading import Busy, QueryReading, require_poll
from penstock.connectors.shared.sql_query import Dialect, SqlQuery
from penstock.connectors.sqlite.errors import code_of
from penstock.flow import Flow
from penstock.runtime import printable
from penstock.runtime.arguments import PathGiven, require_file, require_seconds

__all__ = ["read_sqlite"]

CONNECTOR: Final = "read_sqlite"
DIALECT: Final = Dialect(CONNECTOR, collate=" COLLATE BINARY")
LOCKED: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
CLOSED: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
INSTRUCTIONS: Final = 100_000
"""Of SQLite's machine, after which a query looks whether somebody still waits for it."""
ABSENT: Final = ("no such table", "no such column")

Row = dict[str, Any]


def read_sqlite(
    path: PathGiven,
    query: str,
    *,
    key: str | Iterable[str] | None = None,
    after: object = None,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    fetch: int = FETCH,
    poll: float | None = None,
    timeout: float = 30.0,
) -> Flow[Row]:
    """The rows of a query of a SQLite database as dictionaries.

    ``parameters`` are for the places of the query that are ``?`` or ``:name``. The database is only
    read.

    With ``key``, a column or several that tell each row from all others, rows come in that order,
    from the first one after ``after``, and a pipeline goes on after the last row. An index on these
    columns makes that quick. Texts are in the order of their characters, whatever the table says.

    With ``poll`` it never ends: so many seconds after the last row was read, the query is asked for
    rows after that one. It finds what has a larger key, and no change of a row.

    A database with a write-ahead log, as ``write_sqlite`` makes it, is read as it was when the
    query began, and others write meanwhile. Without that log they have to wait for a reader; so
    with ``key`` the query is asked anew for each ``fetch`` rows, and lets others write between.
    Where others keep it locked, they are waited for up to ``timeout`` seconds.

    Emits when: a row is wanted and there is one.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: there are no more rows; with ``poll``, never.
    Cancels when: the subscriber does; a query that still runs is interrupted.

    Demand: exact. The query goes on by as many rows as are wanted, at most ``fetch`` at a time.

    Replay: position with ``key``; else none, since the rows of a query need not come in the same
    order again.

    Errors: ``LookupError`` for tables and columns that are not there, ``PermissionError``,
    ``TimeoutError`` if others keep it locked, and ``ValueError`` for what is no database, for any
    other query that SQLite refuses, and for a key that is NULL or that two rows have. At once:
    ``FileNotFoundError``, ``IsADirectoryError``, ``TypeError`` and ``ValueError`` for arguments
    that cannot be used.

    Example:
        >>> import sqlite3
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import read_sqlite
        >>> with TemporaryDirectory() as folder:
        ...     database = sqlite3.connect(Path(folder, "flights.db"))
        ...     _ = database.execute("CREATE TABLE flights (id, origin)")
        ...     _ = database.execute("INSERT INTO flights VALUES (1, 'JFK'), (2, 'EWR')")
        ...     database.commit()
        ...     database.close()
        ...     flights = read_sqlite(Path(folder, "flights.db"), "SELECT * FROM flights", key="id")
        ...     flights.to_list().run_sync()
        [{'id': 1, 'origin': 'JFK'}, {'id': 2, 'origin': 'EWR'}]
    """
    file = require_file(CONNECTOR, path)
    asked = SqlQuery.checked(DIALECT, query, key, parameters)
    every = require_poll(CONNECTOR, asked, poll)
    seconds = require_seconds(CONNECTOR, "timeout", timeout)
    return from_pulled(
        CONNECTOR,
        lambda position: SqliteReading(file, asked, position, every, seconds),
        address=str(file),
        after=asked.require_position(after),
        position_of=asked.position_of if asked.key else None,
        fetch=fetch,
    )


class SqliteReading(QueryReading[Row]):
    """One reading of a query, after a position."""

    def __init__(
        self, path: Path, query: SqlQuery, position: Any, poll: float | None, timeout: float
    ) -> None:
        super().__init__(query, position, poll)
        self._path = path
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._cursor: sqlite3.Cursor | None = None
        self._names: list[str] = []
        self._locks = False

    def connect(self) -> None:
        """Open the database, and ask for the rows after the last one."""
        with self.explained():
            self._connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode=ro",
                uri=True,
                timeout=0,  # waited for by us, so that a cancelled run need not wait
                isolation_level=None,
            )
            self._connection.set_progress_handler(self.interrupted.is_set, INSTRUCTIONS)
        self.begin()

    def interrupt(self) -> None:
        """Wake up a reading that waits; end a query that still runs. On any thread."""
        self.interrupted.set()

    def disconnect(self) -> None:
        """Close the database."""
        connection, self._connection, self._cursor = self._connection, None, None
        if connection is not None:
            connection.close()

    def ask(self, statement: str, parameters: Any) -> list[str]:
        """Begin the query, once nobody keeps the database locked."""
        self._cursor = self.patiently(
            lambda: self._asked(statement, parameters or ()), self._timeout
        )
        self._names = [column[0] for column in self._cursor.description or ()]
        return self._names

    def read(self, most: int) -> list[Row]:
        """The next rows; without a write-ahead log, others may write when they are read."""
        assert self._cursor is not None
        names = self._names
        rows = [dict(zip(names, row, strict=True)) for row in self._cursor.fetchmany(most)]
        if self._locks and self._query.key and len(rows) == most:
            following = self._cursor.fetchone()
            if following is not None:  # with the same key, it would be left out
                both = [rows[-1], dict(zip(names, following, strict=True))]
                self._query.require_order(both, None)
            self.forget()
        return rows

    def let_go(self) -> None:
        """End the query, and with it the lock."""
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.close()

    def _asked(self, statement: str, parameters: Any) -> sqlite3.Cursor:
        assert self._connection is not None
        try:
            (mode,) = self._connection.execute("PRAGMA journal_mode").fetchone()
            self._locks = mode != "wal"
            return self._connection.execute(statement, parameters)
        except sqlite3.OperationalError as error:
            if code_of(error) in LOCKED:
                raise Busy(str(error)) from error
            raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """The errors of SQLite, by what can be done about them."""
        try:
            yield
        except Busy:
            raise TimeoutError(
                f"{CONNECTOR}: another program has kept {self._path} locked for "
                f"{self._timeout:g} s; stop that one, or give a longer timeout"
            ) from None
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise self._explanation(error) from None

    def _explanation(self, error: Exception) -> Exception:
        words = f"{CONNECTOR}: {self._path}: {printable(' '.join(str(error).split()))}"
        code = code_of(error)
        if code == sqlite3.SQLITE_NOTADB:
            return ValueError(f"{CONNECTOR}: {self._path} is no SQLite database")
        if code in CLOSED:
            if not self._path.exists():
                return FileNotFoundError(f"{CONNECTOR}: {self._path} is not there any more")
            return PermissionError(f"{words}; it cannot be read by this user")
        return (LookupError if str(error).startswith(ABSENT) else ValueError)(words)
