"""Queries of DuckDB databases as sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import islice
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, Final

import duckdb
from pyarrow import compute

from penstock.connectors.duckdb.opening import explanation, opened, still_open, words_of
from penstock.connectors.shared.pulled_source import FETCH, from_pulled
from penstock.connectors.shared.query_reading import Busy, QueryReading, require_poll
from penstock.connectors.shared.sql_query import Dialect, SqlQuery
from penstock.flow import Flow
from penstock.runtime.arguments import (
    PathGiven,
    require_file,
    require_flag,
    require_int,
    require_seconds,
)

__all__ = ["read_duckdb"]

CONNECTOR: Final = "read_duckdb"
DIALECT: Final = Dialect(CONNECTOR, named="${}", has_rows=False)
BATCH_ROWS: Final = 10_000
BATCHES_AHEAD: Final = 2
"""Handing one over costs a tenth of reading it, and two the same as one."""
AT_ONCE: Final = 0.01
"""The seconds in which a batch comes that may wait for the next one."""
CUT: Final = frozenset({"BIGNUM", "BIT", "TIME WITH TIME ZONE"})
"""Types for which Arrow has none: a batch would have DuckDB's own bytes, or no zone."""
PATIENCE: Final = 2.0
"""The seconds that the one who cancels waits at most for a query to take notice."""
PAUSE: Final = 0.01


def read_duckdb(
    path: PathGiven,
    query: str,
    *,
    key: str | Iterable[str] | None = None,
    after: object = None,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    batches: bool = False,
    fetch: int | None = None,
    poll: float | None = None,
    read_only: bool = True,
    timeout: float = 30.0,
) -> Flow[Any]:
    """The rows of a query of a DuckDB database as dictionaries, or as ``pyarrow.RecordBatch``.

    ``parameters`` are for the places of the query that are ``?`` or ``$name``.

    With ``key``, a column or several that tell each row from all others, rows come in that order,
    from the first one after ``after``, and a pipeline goes on after the last row.

    With ``poll`` it never ends: so many seconds after the last row was read, the query is asked for
    rows after that one. It finds what has a larger key, and no change of a row.

    DuckDB lets several programs read a database, or one write it. Who else has it is waited for up
    to ``timeout`` seconds. A program that reads and writes the same database at a time reads with
    ``read_only=False``; then no other program can open it meanwhile.

    Emits when: a row, or a batch, is wanted and there is one.
    Backpressures when: nothing is wanted; the query stands still.
    Completes when: there are no more rows; with ``poll``, never.
    Cancels when: the subscriber does; a query that still runs is interrupted.

    Demand: exact. The query goes on by as many rows as are wanted, at most ``fetch`` at a time,
    1,000 unless you say otherwise; a batch has ``fetch`` rows, 10,000 unless you say otherwise.

    Replay: position with ``key``; else none, since the rows of a query need not come in the same
    order again.

    Errors: ``LookupError`` for tables and columns that are not there, ``PermissionError``,
    ``TimeoutError`` if another program has the file, and ``ValueError`` for what is no database,
    for any other query that DuckDB refuses, and for a key that is NULL or that two rows have. At
    once: ``FileNotFoundError``, ``IsADirectoryError``, ``TypeError`` and ``ValueError`` for
    arguments that cannot be used.

    Example:
        >>> import duckdb
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import read_duckdb
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.duckdb")
        ...     with duckdb.connect(str(path)) as database:
        ...         _ = database.execute("CREATE TABLE flights (id INTEGER, origin VARCHAR)")
        ...         _ = database.execute("INSERT INTO flights VALUES (2, 'EWR'), (1, 'JFK')")
        ...     read_duckdb(path, "FROM flights", key="id").to_list().run_sync()
        [{'id': 1, 'origin': 'JFK'}, {'id': 2, 'origin': 'EWR'}]
    """
    file = require_file(CONNECTOR, path)
    is_columnar = require_flag(CONNECTOR, "batches", batches)
    kind = BatchQuery if is_columnar else SqlQuery
    asked = kind.checked(DIALECT, query, key, parameters)
    every = require_poll(CONNECTOR, asked, poll)
    most = fetch if fetch is not None else BATCH_ROWS if is_columnar else FETCH
    if is_columnar:
        most = require_int(CONNECTOR, "fetch", most)
    options: dict[str, Any] = {
        "poll": every,
        "read_only": require_flag(CONNECTOR, "read_only", read_only),
        "timeout": require_seconds(CONNECTOR, "timeout", timeout),
    }
    return from_pulled(
        CONNECTOR,
        lambda position: (
            BatchReading(file, asked, position, most, **options)
            if is_columnar
            else RowReading(file, asked, position, **options)
        ),
        address=str(file),
        after=asked.require_position(after),
        position_of=asked.position_of if asked.key else None,
        fetch=BATCHES_AHEAD if is_columnar else most,
    )


class BatchQuery(SqlQuery):
    """A query whose elements are Arrow batches: where one stands is the key of its last row."""

    def keys_of(self, elements: Sequence[Any]) -> list[Any]:
        """The keys of all rows of the batches."""
        keys: list[Any] = []
        for batch in elements:
            columns = [batch.column(name).to_pylist() for name in self.key]
            keys += columns[0] if len(columns) == 1 else zip(*columns, strict=True)
        return keys

    def require_order(self, elements: Sequence[Any], before: Any) -> None:
        """By columns; only what is wrong is looked at row by row, for the message."""
        for number, batch in enumerate(elements):
            columns = [batch.column(name) for name in self.key]
            last = before if number == 0 else self.position_of(elements[number - 1])
            if (
                any(column.null_count for column in columns)
                or has_twice(columns)
                or (last is not None and self._position_at(batch, 0) == last)
            ):
                super().require_order([batch], last)

    def position_of(self, element: Any) -> Any:
        """The key of the last row."""
        return self._position_at(element, element.num_rows - 1)

    def _position_at(self, batch: Any, row: int) -> Any:
        values = {name: batch.column(name)[row].as_py() for name in self.key}
        if None in values.values():
            return None
        return super().position_of(values)


def has_twice(columns: Sequence[Any]) -> bool:
    """Whether two rows have the same key; they come in its order."""
    if len(columns[0]) < 2:
        return False
    same = [compute.equal(column[1:], column[:-1]) for column in columns]
    return bool(reduce(compute.and_, same).true_count)


class DuckdbReading(QueryReading[Any]):
    """One reading of a query, after a position; rows and batches differ in how they are asked."""

    def __init__(
        self,
        path: Path,
        query: SqlQuery,
        position: Any,
        *,
        poll: float | None,
        read_only: bool,
        timeout: float,
    ) -> None:
        super().__init__(query, position, poll)
        self._path = path
        self._read_only = read_only
        self._timeout = timeout
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._is_asking = False
        self._has_asked = Event()

    def connect(self) -> None:
        """Open the database, once nobody else has it, and ask for the rows after the last one."""
        with self.explained():
            self._connection = self.patiently(
                lambda: opened(self._path, read_only=self._read_only), self._timeout
            )
        try:
            self.begin()
        except BaseException:
            self.disconnect()
            raise

    def fetch(self, most: int) -> Sequence[Any] | None:
        """Read so many; the database is closed before the end is told.

        So whoever hears of the end can open it in another way.
        """
        elements = None
        try:
            elements = super().fetch(most)
        finally:
            if elements is None:
                self.disconnect()
        return elements

    def interrupt(self) -> None:
        """Wake up a reading that waits; end a query that still runs. On any thread.

        A query that begins at the same moment would forget about it, so it is told again.
        """
        self.interrupted.set()
        until = monotonic() + PATIENCE
        while self._is_asking and monotonic() < until:
            connection = self._connection
            if connection is not None:
                with suppress(duckdb.Error):  # it is closed by now
                    connection.interrupt()
            self._has_asked.wait(PAUSE)

    def disconnect(self) -> None:
        """Close the database."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self.let_go()
            connection.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """The errors of DuckDB, by what can be done about them."""
        self._has_asked.clear()
        self._is_asking = True
        try:
            if self.interrupted.is_set():
                raise InterruptedError
            yield
        except Busy as busy:
            raise TimeoutError(still_open(CONNECTOR, self._path, self._timeout, busy)) from None
        except duckdb.Error as error:
            raise explanation(CONNECTOR, self._path, error) from None
        finally:
            self._is_asking = False
            self._has_asked.set()


class RowReading(DuckdbReading):
    """Gives dictionaries."""

    _names: list[str]

    def ask(self, statement: str, parameters: Any) -> list[str]:
        """Begin the query, which goes on as rows are fetched."""
        assert self._connection is not None
        found = self._connection.execute(statement, parameters or [])
        self._names = [column[0] for column in found.description or ()]
        return self._names

    def read(self, most: int) -> list[dict[str, Any]]:
        """The next rows."""
        assert self._connection is not None
        names = self._names
        return [dict(zip(names, row, strict=True)) for row in self._connection.fetchmany(most)]

    def let_go(self) -> None:
        """A result that was read to its end holds nothing."""


class BatchReading(DuckdbReading):
    """Gives Arrow batches of ``rows`` rows."""

    def __init__(
        self, path: Path, query: SqlQuery, position: Any, rows: int, **options: Any
    ) -> None:
        super().__init__(path, query, position, **options)
        self._rows = rows
        self._batches: Any = None

    def ask(self, statement: str, parameters: Any) -> list[str]:
        """Begin the query, which goes on as batches are read."""
        assert self._connection is not None
        relation = self._connection.sql(statement, params=parameters or None)
        if relation is None:
            raise ValueError(f"{CONNECTOR}: {self._path}: the query gives no rows")
        for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
            if kind in CUT:
                raise ValueError(
                    f"{CONNECTOR}: the column {name} is {kind}, which an Arrow batch cannot hold; "
                    f'read rows, or select CAST("{name}" AS VARCHAR)'
                )
        self._batches = relation.to_arrow_reader(self._rows)
        return list(self._batches.schema.names)

    def fetch(self, most: int) -> Sequence[Any] | None:
        """The next batch, and one more, unless that would keep the first one waiting."""
        began = monotonic()
        batches = super().fetch(1)
        if batches and most > 1 and monotonic() - began < AT_ONCE:
            batches = [*batches, *(super().fetch(1) or ())]
        return batches

    def read(self, most: int) -> list[Any]:
        """The next batch."""
        try:
            return [*islice((batch for batch in self._batches if batch.num_rows), most)]
        except (OSError, ValueError) as error:  # as Arrow passes on those of DuckDB
            raise ValueError(f"{CONNECTOR}: {self._path}: {words_of(error)}") from None

    def let_go(self) -> None:
        """End the query."""
        batches, self._batches = self._batches, None
        if batches is not None:
            batches.close()
