"""Queries of PostgreSQL as sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from penstock.connectors.postgres.connecting import DatabaseAccess, is_lost, words_of
from penstock.connectors.postgres.query import CONNECTOR, SqlQuery
from penstock.connectors.shared.pulled_source import FETCH, PulledSource, from_pulled
from penstock.connectors.shared.reconnecting import FOREVER, ConnectionLost, Tell
from penstock.flow import Flow, Retry
from penstock.runtime.arguments import require_seconds

__all__ = ["read_postgres"]

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
    asked = SqlQuery.checked(query, key, parameters)
    if poll is not None:
        poll = require_seconds(CONNECTOR, "poll", poll)
        if not asked.key:
            raise ValueError(
                f"{CONNECTOR}: poll asks for rows after the last key, so it needs key="
            )
    return from_pulled(
        CONNECTOR,
        lambda position: QueryReading(access, asked, position, poll),
        address=access.address,
        after=asked.require_position(after),
        position_of=asked.position_of if asked.key else None,
        fetch=fetch,
        reconnect=reconnect,
        on_state=on_state,
    )


class QueryReading(PulledSource[Row]):
    """One reading of a query, after a position."""

    def __init__(
        self, access: DatabaseAccess, query: SqlQuery, position: Any, poll: float | None
    ) -> None:
        self._access = access
        self._query = query
        self._position = position
        self._poll = poll
        self._connection: psycopg.Connection[Any] | None = None
        self._cursor: psycopg.ServerCursor[Row] | None = None
        self._given = 0
        self._is_over = False
        self._is_asking = False
        self._interrupted = Event()

    def connect(self) -> None:
        """Connect, and ask for the rows after the last one."""
        self._connection = self._access.connect()
        self._is_over = False
        with self._explained():
            self._ask(self._connection)

    def fetch(self, most: int) -> Sequence[Row] | None:
        """``FETCH`` so many; fewer are the last ones, for now."""
        if self._is_over:
            if self._poll is None:
                return None
            self._interrupted.wait(self._poll)
        with self._explained():
            if self._cursor is None:
                assert self._connection is not None
                self._ask(self._connection)
            assert self._cursor is not None
            rows = self._cursor.fetchmany(most)
            self._is_over = len(rows) < most
            if self._is_over:
                self._let_go()
        if rows and self._query.key:
            self._query.require_order(rows, self._position)
            self._position = self._query.position_of(rows[-1])
        self._given += len(rows)
        return rows or (None if self._poll is None else rows)

    def interrupt(self) -> None:
        """Wake up a reading that waits; end a query that still runs. On any thread."""
        self._interrupted.set()
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

    def _ask(self, connection: psycopg.Connection[Any]) -> None:
        """Open a cursor, which gives rows when it is told to."""
        statement, parameters = self._query.after(self._position)
        connection.execute("BEGIN READ ONLY")
        cursor = connection.cursor(CURSOR, row_factory=dict_row)
        self._cursor = cursor
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description or ()]
        if missing := [name for name in self._query.key if name not in names]:
            raise LookupError(
                f"{CONNECTOR}: the query has the columns {', '.join(names)}, and not {missing[0]}, "
                "which is its key"
            )
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"{CONNECTOR}: two columns of the query are called {twice[0]}; rename one by AS"
            )

    def _let_go(self) -> None:
        """End the cursor and its transaction, so that the server may clean up."""
        connection, cursor, self._cursor = self._connection, self._cursor, None
        assert connection is not None
        assert cursor is not None
        cursor.close()
        connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        self._is_asking = True
        try:
            yield
        except psycopg.Error as error:
            if not is_lost(error):
                raise self._access.explained(error) from None
            if self._given and not self._query.key:
                raise ConnectionError(
                    f"{CONNECTOR}: {self._access.address}: the connection was lost after "
                    f"{self._given} rows, and without key= it is not known which ones are left: "
                    f"{words_of(error)}"
                ) from None
            raise ConnectionLost(words_of(error)) from error
        finally:
            self._is_asking = False
