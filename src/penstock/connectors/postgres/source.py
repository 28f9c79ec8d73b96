"""Queries of PostgreSQL as sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from penstock.connectors.postgres.connecting import DatabaseAccess, is_lost, words_of
from penstock.connectors.shared.pulled_source import FETCH, from_pulled
from penstock.connectors.shared.query_reading import QueryReading, require_poll
from penstock.connectors.shared.reconnecting import FOREVER, ConnectionLost, Tell
from penstock.connectors.shared.sql_query import Dialect, SqlQuery
from penstock.flow import Flow, Retry

__all__ = ["read_postgres"]

CONNECTOR: Final = "read_postgres"
DIALECT: Final = Dialect(CONNECTOR, place="%s", named="%({})s", percent="%%", float_text=True)
CURSOR: Final = "penstock"
PATIENCE: Final = 2.0
"""The seconds that the one who cancels waits at most for the server to take notice."""

Row = dict[str, Any]


def read_postgres(
    conninfo: str,
    query: str,
    *,
    key: str | Iterable[str] | None = None,
    after: object = None,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    fetch: int = FETCH,
    poll: float | None = None,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[Row]:
    """The rows of a query of PostgreSQL as dictionaries, by a cursor at the server.

    ``conninfo`` is a connection string or address, as libpq takes it. ``parameters`` are for the
    places of the query that are ``%s`` or ``%(name)s``; then ``%%`` is a percent sign.

    With ``key``, a column or several that tell each row from all others, rows come in that order,
    from the first one after ``after``, and a lost connection, or a pipeline, goes on after the last
    row. An index on these columns makes that quick.

    With ``poll`` it never ends: so many seconds after the last row was read, the query is asked for
    rows after that one. It finds what has a larger key, as a serial number or a time of insertion
    has. A row that is committed after one with a larger key was read is never seen, and neither is
    a change of a row: for these there is logical replication.

    The cursor keeps a transaction open, read only, as long as rows are left: all of them are as
    they were when it began, and VACUUM cannot clean up what is newer. If the server ends a
    transaction that is idle for too long, that is a lost connection.

    Emits when: a row is wanted and there is one.
    Backpressures when: nothing is wanted; nothing is fetched.
    Completes when: there are no more rows; with ``poll``, never.
    Cancels when: the subscriber does; a query that still runs is cancelled at the server.

    Demand: exact. ``FETCH`` asks the server for as many rows as are wanted, at most ``fetch`` at a
    time.

    Replay: position with ``key``; else none, since the rows of a query need not come in the same
    order again.

    Errors: ``ConnectionError`` if the server does not let us in, ``reconnect`` gives up, or a
    connection is lost after the first row and there is no ``key``; ``LookupError`` for tables and
    columns that are not there, ``PermissionError``, ``TimeoutError``, and ``ValueError`` for any
    other query that the server refuses, and for a key that is NULL or that two rows have. At once:
    ``TypeError`` and ``ValueError`` for arguments that cannot be used.

    Example:
        >>> from penstock.connectors import read_postgres
        >>> flights = read_postgres("host=127.0.0.1 port=9", "SELECT * FROM flights", key="id",
        ...     reconnect=Retry(times=0))
        >>> try:
        ...     flights.take(3).to_list().run_sync()
        ... except ConnectionError as error:
        ...     print(str(error)[:71])
        read_postgres gave up on postgresql://127.0.0.1:9/ after 1 attempt: con
    """
    access = DatabaseAccess(CONNECTOR, conninfo)
    asked = SqlQuery.checked(DIALECT, query, key, parameters)
    every = require_poll(CONNECTOR, asked, poll)
    return from_pulled(
        CONNECTOR,
        lambda position: PostgresReading(access, asked, position, every),
        address=access.address,
        after=asked.require_position(after),
        position_of=asked.position_of if asked.key else None,
        fetch=fetch,
        reconnect=reconnect,
        on_state=on_state,
    )


class PostgresReading(QueryReading[Row]):
    """One reading of a query, after a position."""

    def __init__(
        self, access: DatabaseAccess, query: SqlQuery, position: Any, poll: float | None
    ) -> None:
        super().__init__(query, position, poll)
        self._access = access
        self._connection: psycopg.Connection[Any] | None = None
        self._cursor: psycopg.ServerCursor[Row] | None = None
        self._is_asking = False

    def connect(self) -> None:
        """Connect, and ask for the rows after the last one."""
        self._connection = self._access.connect()
        self.begin()

    def interrupt(self) -> None:
        """Wake up a reading that waits; end a query that still runs. On any thread."""
        self.interrupted.set()
        connection = self._connection
        if self._is_asking and connection is not None:
            connection.cancel_safe(timeout=PATIENCE)

    def disconnect(self) -> None:
        """Close the connection; the cursor ends with it."""
        connection, self._connection = self._connection, None
        cursor, self._cursor = self._cursor, None
        if connection is not None:
            connection.close()
        if cursor is not None:
            cursor.close()  # without a word to the server

    def ask(self, statement: str, parameters: Any) -> list[str]:
        """Open a cursor, which gives rows when it is told to."""
        assert self._connection is not None
        self._connection.execute("BEGIN READ ONLY")
        self._cursor = cursor = self._connection.cursor(CURSOR, row_factory=dict_row)
        cursor.execute(statement, parameters)
        return [column.name for column in cursor.description or ()]

    def read(self, most: int) -> list[Row]:
        """``FETCH`` so many."""
        assert self._cursor is not None
        return self._cursor.fetchmany(most)

    def let_go(self) -> None:
        """End the cursor and its transaction, so that the server may clean up."""
        connection, cursor, self._cursor = self._connection, self._cursor, None
        assert connection is not None
        assert cursor is not None
        cursor.close()
        connection.execute("COMMIT")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """What is lost may come back, if it is known where to go on."""
        self._is_asking = True
        try:
            yield
        except psycopg.Error as error:
            if not is_lost(error):
                raise self._access.explained(error) from None
            if self.given and not self._query.key:
                raise ConnectionError(
                    f"{CONNECTOR}: {self._access.address}: the connection was lost after "
                    f"{self.given} rows, and without key= it is not known which ones are left: "
                    f"{words_of(error)}"
                ) from None
            raise ConnectionLost(words_of(error)) from error
        finally:
            self._is_asking = False
