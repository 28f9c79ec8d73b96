"""A table of PostgreSQL that has each row once, over kills and restarts of either end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from time import sleep
from typing import Any, Final, TypeVar

import psycopg

from penstock.connectors.postgres.connecting import DatabaseAccess, ServerFull, is_lost, words_of
from penstock.connectors.postgres.copying import CopiedRows, RowRefused
from penstock.connectors.postgres.moments import MomentColumns
from penstock.connectors.postgres.questions import (
    column_types,
    has_table,
    lock_mark,
    make_marks,
    make_table,
    require_fits,
    stored_mark,
)
from penstock.connectors.postgres.shape import CONNECTOR, PostgresShape
from penstock.connectors.shared.reconnecting import ConnectionLost, Reconnecting
from penstock.connectors.shared.rows import CHUNK_ROWS, RowValues, is_arrow, rows_in
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.runtime.shown_text import shown_words

__all__ = ["PostgresTable"]

T = TypeVar("T")

Connection = psycopg.Connection[Any]

BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
SETTINGS: Final = (
    "SELECT set_config('lock_timeout', %s, false), "
    "set_config('tcp_keepalives_idle', '30', false), "
    "set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false), "
    "CASE WHEN current_setting('synchronous_commit') = 'off' "
    "THEN set_config('synchronous_commit', 'on', false) END"
)
"""What is committed is stored, and a connection that we have lost does not keep its locks long."""
CHANGED: Final = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.DatatypeMismatch,
    psycopg.errors.InvalidColumnReference,
)
NOT_SEEN: Final = "not seen"


@dataclass
class Transaction:
    """The open transaction, whichever connection it is on: one that is lost is followed by another.

    ``is_begun``     whether the connection is within it
    ``locks``        whether it holds, or shall hold, the lock of the mark; ``is_locked``: it does
    ``mark_before``  the mark that was there when it was locked first, if it was
    ``mark_found``   the one that was there the last time
    ``mark_after``   the one that is stored with the rows
    ``number``       by which the server knows it, once the commit may have been sent
    """

    is_begun: bool = False
    locks: bool = False
    is_locked: bool = False
    mark_before: str | None = NOT_SEEN
    mark_found: str | None = None
    mark_after: str | None = None
    number: int | None = None

    def may_have_stored(self, mark: str | None) -> bool:
        """Whether a commit of which no answer came has stored it."""
        return self.number is not None and mark is not None and mark == self.mark_after


class PostgresTable(TransactionalSink):
    """Writes rows into a table; ``mark_name`` is under which name its mark is kept.

    When the connection is lost, the transaction is begun again on another one, with the rows that
    were kept. If it was lost while it committed, the mark says whether that was done; where no
    marks are kept, the server knows it by the number of the transaction. All happens on the thread
    that calls the sink, waiting included.
    """

    def __init__(
        self,
        access: DatabaseAccess,
        shape: PostgresShape,
        *,
        mark_name: str,
        commit_rows: int,
        timeout: float,
        reconnecting: Reconnecting,
    ) -> None:
        super().__init__(
            f"the table {shape.table} at {access.address}",
            chunk_rows=CHUNK_ROWS,
            commit_rows=commit_rows,
        )
        self.advice = access.advice
        self._access = access
        self._shape = shape
        self._mark_name = mark_name
        self._timeout = timeout
        self._reconnecting = reconnecting
        self._connection: Connection | None = None
        self._rows = CopiedRows()
        self._row_values: RowValues | None = None
        self._first_row: Sequence[Any] = ()
        self._moments: MomentColumns | None = None
        self._is_prepared = False
        self._failure: Exception | None = None
        self._transaction: Transaction | None = None

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; the database is only read."""
        with self._explained(), closing(self._connected()) as connection:
            mark = stored_mark(connection, self._shape, self._mark_name)
            BatchProgress(self.name, epoch, None if epoch is None else mark)
            if not has_table(connection, self._shape.quoted_table):
                return f"makes {self.name}"
            require_fits(connection, self._shape, self.name)
            return f"goes on in {self.name}" if epoch and mark else f"adds to {self.name}"

    def connect(self) -> None:
        """Connect, and refuse a table that does not fit."""
        with self._explained():
            self._failure = None
            self._connection = connection = self._connected()
            if has_table(connection, self._shape.quoted_table):
                require_fits(connection, self._shape, self.name)

    def disconnect(self) -> None:
        """Close the connection; what is not committed is rolled back."""
        self._hang_up()
        self._rows.clear()
        self._transaction = None

    def start_transaction(self) -> None:
        """Begin; the mark is locked when it is read."""
        self._failure = None
        self._transaction = Transaction()
        self._persist(lambda connection: None)

    def load_mark(self) -> str | None:
        """The mark under our name; in a transaction, others wait from here on."""
        if self._transaction is None:
            return self._persist(self._made_mark)
        self._transaction.locks = True
        self._persist(lambda connection: None)
        return self._transaction.mark_before

    def store_mark(self, mark: str) -> None:
        """Stored after the rows, with the commit."""
        assert self._transaction is not None
        self._transaction.mark_after = mark

    def is_block(self, element: Any) -> bool:
        """An Arrow batch or table is many rows."""
        return is_arrow(element)

    def take(self, block: Any) -> None:
        """Take its rows."""
        for rows in rows_in(CONNECTOR, block, self._shape.columns):
            if self._row_values is None:
                self._values_like(dict(zip(block.schema.names, rows[0], strict=True)))
            self.take_rows(rows)

    def row_of(self, element: Any) -> Any:
        """Its values, in the order of the columns."""
        return self._values_like(element)(element)

    def rows_of(self, elements: Sequence[Any]) -> list[Any]:
        """The same for many."""
        rows = self._values_like(elements[0]).of_all(elements)
        return super().rows_of(elements) if rows is None else rows

    def _values_like(self, element: Any) -> RowValues:
        """Gets the values of elements; the first one says the columns, if nobody did."""
        if self._row_values is None:
            self._shape = self._shape.like(element)
            row_values = RowValues(CONNECTOR, self._shape.names)
            self._first_row = row_values(element)
            self._row_values = row_values
        return self._row_values

    def insert(self, rows: Sequence[Any]) -> None:
        """Copy rows; the table is there by now."""
        if self._failure is not None:
            raise self._failure
        if not self._rows.is_started:
            self._persist(self._start_copy)
        assert self._moments is not None
        try:
            self._moments.require_kept(rows)
            self._rows.write(self._shape.names, rows)
        except RowRefused as error:
            self._failure = RowRefused(f"{CONNECTOR}: {self.name}: {error}")
            raise self._failure from None

    def commit_transaction(self) -> None:
        """The server has it when this returns, however often it went away before."""
        if self._failure is not None:
            raise self._failure
        self._persist(self._commit_once)
        self._reconnecting.progressed()
        self._rows.clear()
        self._transaction = None

    def rollback(self) -> None:
        """The connection stays, with a table that was made meanwhile."""
        self._rows.clear()
        self._transaction = None
        self._failure = None
        if self._connection is not None:
            try:
                self._connection.execute("ROLLBACK")
            except psycopg.Error:
                self._hang_up()  # with it goes all that was not committed

    # One attempt, and the next one.

    def _persist(self, step: Callable[[Connection], T]) -> T:
        """What ``step`` returns, on a connection that is within the transaction again."""
        while True:
            try:
                return step(self._restored())
            except (ConnectionLost, psycopg.Error) as error:
                self._await_server(error)
            except Exception as error:
                self._fail(error)
                raise

    def _await_server(self, error: ConnectionLost | psycopg.Error) -> None:
        """Return when it is time for another attempt; raise what none would change."""
        try:
            if isinstance(error, psycopg.Error):
                if not is_lost(error):
                    raise self._explanation(error)
                loss = ConnectionLost(words_of(error))
                loss.__cause__ = error
            else:
                loss = error
            self._hang_up()
            delay = self._reconnecting.next_delay(loss)
        except Exception as failure:
            self._fail(failure)
            raise failure from None
        sleep(delay)

    def _fail(self, failure: Exception) -> None:
        """Nothing of the transaction counts any more."""
        self._failure = failure
        self._hang_up()

    def _restored(self) -> Connection:
        """The connection, in the transaction if there is one, which holds the lock if it shall."""
        if self._connection is None:
            self._connection = self._connected(first=False)
            self._reconnecting.connected()
        transaction = self._transaction
        if transaction is not None:
            if not transaction.is_begun:
                self._prepare(self._connection)
                self._connection.execute(BEGIN)
                transaction.is_begun = True
            if transaction.locks and not transaction.is_locked:
                self._lock_mark(self._connection, transaction)
        return self._connection

    def _lock_mark(self, connection: Connection, transaction: Transaction) -> None:
        try:
            mark = lock_mark(connection, self._shape, self._mark_name)
        except psycopg.errors.LockNotAvailable:
            if transaction.mark_before == NOT_SEEN:
                raise
            raise ConnectionLost("the connection that was lost still holds its lock") from None
        if transaction.mark_before == NOT_SEEN:
            transaction.mark_before = mark
        elif mark != transaction.mark_before and not transaction.may_have_stored(mark):
            raise self._progress.loss(transaction.mark_before, mark) or DeliveryRefused(
                f"{self.name} was written by another pipeline while the connection was lost; stop "
                "that one, or write somewhere else"
            )
        transaction.mark_found = mark
        transaction.is_locked = True

    def _prepare(self, connection: Connection) -> None:
        """Make the table if it is not there.

        Not in the transaction of a batch: another sink that is to make it would wait for its end.
        """
        if self._is_prepared:
            return
        if not has_table(connection, self._shape.quoted_table):
            make_table(
                connection, self._shape.quoted_table, self._shape.typed_as(self._first_row).create
            )
        require_fits(connection, self._shape, self.name)
        self._moments = MomentColumns(self._shape.names, column_types(connection, self._shape))
        if self._shape.key:
            connection.execute(self._shape.create_incoming)
        self._is_prepared = True

    def _start_copy(self, connection: Connection) -> None:
        """Copy into the table, beginning with the rows that were kept."""
        self._rows.start(connection, self._shape.copy)

    def _commit_once(self, connection: Connection) -> None:
        assert self._transaction is not None
        if self._is_committed(connection, self._transaction):
            connection.execute("ROLLBACK")
            return
        if not self._rows.is_started:
            self._start_copy(connection)
        self._rows.finish()
        if self._shape.key:
            connection.execute(self._shape.merge)
        if self._transaction.mark_after is not None:
            connection.execute(
                f"UPDATE {self._shape.marks} SET mark = %s WHERE sink = %s",
                (self._transaction.mark_after, self._mark_name),
            )
        (row,) = connection.execute("SELECT txid_current()").fetchall()
        self._transaction.number = row[0]
        connection.execute("COMMIT")

    def _is_committed(self, connection: Connection, transaction: Transaction) -> bool:
        """Whether an attempt to commit that was interrupted has been done."""
        if transaction.number is None:
            return False
        if transaction.mark_after is not None:
            return transaction.may_have_stored(transaction.mark_found)
        asked = connection.execute("SELECT txid_status(%s)", (transaction.number,))
        status = asked.fetchall()[0][0]
        if status == "in progress":
            raise ConnectionLost("the server has not noticed yet that the connection is lost")
        return bool(status == "committed")

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        self._is_prepared = False
        if self._transaction is not None:
            self._transaction.is_begun = self._transaction.is_locked = False
        self._rows.abandon()
        if connection is not None:
            connection.close()

    # What is asked of the server.

    def _connected(self, *, first: bool = True) -> Connection:
        try:
            connection = self._access.connect()
        except ConnectionLost as error:
            if not first:
                raise
            how = "has no connection for us" if isinstance(error, ServerFull) else "does not answer"
            raise ConnectionError(f"{CONNECTOR}: {self._access.address} {how}: {error}") from None
        connection.execute(SETTINGS, (str(max(1, round(self._timeout * 1_000))),))
        return connection

    def _made_mark(self, connection: Connection) -> str | None:
        make_marks(connection, self._shape)
        return stored_mark(connection, self._shape, self._mark_name)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._explanation(error) from None

    def _explanation(self, error: psycopg.Error) -> Exception:
        """An error of the server in one line."""
        words = words_of(error)
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return TimeoutError(
                f"{CONNECTOR}: another program has kept {self.name} locked for {self._timeout:g} "
                "s; stop that one, or give a longer timeout"
            )
        if isinstance(error, CHANGED):
            return DeliveryRefused(f"{self.name} cannot take the rows: {words}")
        if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            row = self._rows.refused(self._shape.names, error)
            words = shown_words(type(error).__name__, words)
            return RowRefused(f"{CONNECTOR}: {self.name} refuses a row: {words}{row}")
        return self._access.explained(error)
