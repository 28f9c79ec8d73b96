"""A table of a DuckDB database that has each row once, over kills and restarts of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import duckdb
import pyarrow as pa

from penstock.connectors.duckdb.opening import explanation, opened, still_open, words_of
from penstock.connectors.duckdb.shape import (
    CONNECTOR,
    Columns,
    DuckdbShape,
    exact_table,
    require_types,
)
from penstock.connectors.files.file_start import size_of
from penstock.connectors.shared.durable_files import require_writable
from penstock.connectors.shared.opened_file import OpenedFile
from penstock.connectors.shared.query_reading import Busy
from penstock.connectors.shared.rows import RowValues, is_arrow
from penstock.connectors.shared.table_shape import MARKS, joined
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.runtime.shown_text import shown_words

__all__ = ["DuckdbTable"]

CHUNK_ROWS: Final = 10_000
"""Rows are gathered before they are added: each statement costs as much as a thousand of them."""
INCOMING: Final = "penstock_incoming"
ORDINAL: Final = "penstock_ordinal"
MAKE_MARKS: Final = f"CREATE TABLE IF NOT EXISTS {MARKS} (sink VARCHAR PRIMARY KEY, mark VARCHAR)"
CLAIM: Final = f"UPDATE {MARKS} SET mark = coalesce(mark, '') WHERE sink = ?"
"""A change in the eyes of DuckDB, which takes ``mark = mark`` for none."""
PAUSE: Final = 0.05
ATTEMPTS: Final = 20
"""How often what another thread of this program makes at the same time is tried."""

Connection = duckdb.DuckDBPyConnection


class DuckdbTable(TransactionalSink):
    """Writes rows into a table; ``mark_name`` is under which name its mark is kept."""

    def __init__(
        self, path: Path, shape: DuckdbShape, *, mark_name: str, commit_rows: int, timeout: float
    ) -> None:
        super().__init__(
            f"the table {shape.table} in {path}", chunk_rows=CHUNK_ROWS, commit_rows=commit_rows
        )
        self._path = path
        self._shape = shape
        self._mark_name = mark_name
        self._timeout = timeout
        self._database: Connection | None = None
        self._file = OpenedFile(self.name, path)
        self._schema: pa.Schema | None = None
        self._types: list[str] = []
        self._row_values: RowValues | None = None

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; the database is only read."""
        require_writable(CONNECTOR, self._path.parent)
        if not size_of(self._path):
            BatchProgress(self.name, epoch)
            return f"makes {self._path}"
        with self._explained(), closing(self._opened_soon(read_only=True)) as database:
            mark = self._mark_in(database)
            BatchProgress(self.name, epoch, None if epoch is None else mark)
            if not has_table(database, self._shape.table):
                return f"makes {self.name}"
            self._require_fits(database)
            return f"goes on in {self.name}" if epoch and mark else f"adds to {self.name}"

    def connect(self) -> None:
        """Open the database, made if it is not there, and refuse a table that does not fit."""
        require_writable(CONNECTOR, self._path.parent)
        with self._explained():
            self._database = self._opened_soon(read_only=False)
            if has_table(self._database, self._shape.table):
                self._require_fits(self._database)
        self._file = OpenedFile(self.name, self._path)

    def disconnect(self) -> None:
        """Close the database."""
        database, self._database = self._database, None
        self._schema = None
        if database is not None:
            database.close()

    def start_transaction(self) -> None:
        """Begin, when the table is there.

        It is not made in the transaction: two of them that make one would be in each other's way.
        """
        with self._explained():
            if self._schema is None:
                self._prepare()
            self._do("BEGIN")

    def load_mark(self) -> str | None:
        """The mark under our name; in a transaction, no other sink can store one from here on.

        Outside of it, a row for the mark is made, which transactions then change.
        """
        with self._explained():
            if not self._in_transaction:
                self._make_mark()
            else:
                try:
                    self._do(CLAIM, [self._mark_name])
                except duckdb.TransactionException:
                    raise DeliveryRefused(
                        f"{self.name} is being written by another pipeline of this program; stop "
                        "that one, or write somewhere else"
                    ) from None
            return self._mark_of(self._opened)

    def store_mark(self, mark: str) -> None:
        """Replace it."""
        with self._explained():
            self._do(f"UPDATE {MARKS} SET mark = ? WHERE sink = ?", [mark, self._mark_name])

    def is_block(self, element: Any) -> bool:
        """An Arrow batch or table is many rows."""
        return is_arrow(element)

    def take(self, block: Any) -> None:
        """Take it as it is."""
        if block.num_rows:
            self._require_names(block.schema.names)
            self.take_block(block, block.num_rows)

    def row_of(self, element: Any) -> Sequence[Any]:
        """Its values, in the order of the columns."""
        return self._values_like(element)(element)

    def rows_of(self, elements: Sequence[Any]) -> list[Any]:
        """Those of many, by columns."""
        columns = self._values_like(elements[0]).columns_of(elements)
        if columns is None:
            return super().rows_of(elements)
        return [Columns(self._shape.names, columns)]

    def _values_like(self, element: Any) -> RowValues:
        """Gets the values of elements; the first one says the columns, if nobody did."""
        if self._row_values is None:
            self._shape = self._shape.like(element)
            self._row_values = RowValues(CONNECTOR, self._shape.names)
        return self._row_values

    def insert(self, rows: Sequence[Any]) -> None:
        """Add rows and batches, in their order."""
        for kind, some in groupby(rows, kind_of):
            if kind is Columns:
                columns = Columns.joined([*some])
                self._add(columns.table(self._schema, self._types))
            elif kind is pa.Table:
                for _, alike in groupby(map(as_table, some), lambda table: table.schema):
                    table = pa.concat_tables(alike)
                    self._add(exact_table(table, self._shape.names, self._schema, self._types))
            else:
                columns = Columns.of_rows(self._shape.names, [*some])
                self._add(columns.table(self._schema, self._types))

    def commit_transaction(self) -> None:
        """The disk has it when this returns."""
        with self._explained():
            self._forget_incoming()
            self._file.require_there()
            self._do("COMMIT")

    def rollback(self) -> None:
        """Nothing of it is there; a table that was made stays."""
        with suppress(duckdb.TransactionException):  # a commit that failed has ended it
            self._do("ROLLBACK")
        self._forget_incoming()

    @property
    def _opened(self) -> Connection:
        if self._database is None:
            raise ValueError(f"{CONNECTOR}: {self._path} is not open")
        return self._database

    def _do(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._opened.execute(statement, values).fetchall()  # else it would not be over

    def _add(self, table: pa.Table) -> None:
        shape = self._shape
        ordinal = ORDINAL
        if shape.key:
            while ordinal in map(str.lower, shape.names):
                ordinal += "_"
            table = table.append_column(ordinal, pa.array(range(table.num_rows)))
        with self._explained():
            self._opened.register(INCOMING, table)  # in place of the one before
            if not shape.key:
                self._do(shape.insert_from(INCOMING))
                return
            self._do(shape.replace_from(INCOMING, ordinal))
            if any(table.column(name).null_count for name in shape.key):
                self._do(shape.insert_without_key(INCOMING))

    def _forget_incoming(self) -> None:
        """Let go of the last table that DuckDB was shown; that takes as long as to show it one."""
        with suppress(duckdb.Error):  # it went with the transaction
            self._opened.unregister(INCOMING)

    def _opened_soon(self, *, read_only: bool) -> Connection:
        """A connection, once no other program has the file."""
        until = monotonic() + self._timeout
        while True:
            try:
                return opened(self._path, read_only=read_only)
            except Busy as busy:
                if monotonic() >= until:
                    raise TimeoutError(
                        still_open(CONNECTOR, self._path, self._timeout, busy)
                    ) from None
                sleep(PAUSE)

    def _make_mark(self) -> None:
        self._make(MAKE_MARKS)
        self._make(
            f"INSERT INTO {MARKS} VALUES (?, NULL) ON CONFLICT DO NOTHING", [self._mark_name]
        )

    def _make(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Make what another thread of this program may be making as well."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._do(statement, values)
            except duckdb.TransactionException:
                if attempt == ATTEMPTS:
                    raise
                sleep(PAUSE)
        raise AssertionError("unreachable")

    def _mark_in(self, database: Connection) -> str | None:
        return self._mark_of(database) if has_table(database, MARKS) else None

    def _mark_of(self, database: Connection) -> str | None:
        """The same where the table of the marks is known to be there: to look costs more."""
        asked = f"SELECT mark FROM {MARKS} WHERE sink = ?"
        found = database.execute(asked, [self._mark_name]).fetchall()
        return str(found[0][0]) if found and found[0][0] else None

    def _require_names(self, names: Sequence[str]) -> None:
        if self._shape.columns is None:
            self._shape = self._shape.of(dict.fromkeys(names, ""))
        elif sorted(names) != sorted(self._shape.names):
            raise ValueError(
                f"{CONNECTOR}: the columns are {', '.join(self._shape.names)}, but a batch has "
                f"{', '.join(names)}"
            )

    def _prepare(self) -> None:
        """Make the table if it is not there, with the types of the rows that are to go into it."""
        if not has_table(self._opened, self._shape.table):
            create = self._shape.create_with(self._column_types())
            self._make(create.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
        self._require_fits(self._opened)
        columns = joined(self._shape.names)
        relation = self._opened.sql(f"SELECT {columns} FROM {self._shape.quoted_table} LIMIT 0")
        self._types = [str(kind) for kind in relation.types]
        self._schema = relation.to_arrow_table().schema

    def _column_types(self) -> dict[str, str]:
        """A type for each column: the one that was said, or that of the first rows."""
        columns = self._shape.columns
        assert columns is not None
        if all(columns.values()):
            return columns
        first = self._chunk[0]
        kind = kind_of(first)
        if kind is pa.Table:
            table = as_table(first.slice(0, 0))
        elif kind is Columns:
            table = Columns.joined(
                [some for some in self._chunk if kind_of(some) is Columns]
            ).table()
        else:
            rows = [row for row in self._chunk if kind_of(row) is tuple]
            table = Columns.of_rows(self._shape.names, rows).table()
        untyped = [name for name, said in columns.items() if not said]
        require_types(table.select(untyped).schema, inferred=kind is not pa.Table)
        self._opened.register(INCOMING, table)
        relation = self._opened.sql(f"FROM {INCOMING}")
        seen = {
            name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)
        }
        self._forget_incoming()
        return {name: kind or seen[name] for name, kind in columns.items()}

    def _require_fits(self, database: Connection) -> None:
        """Refuse a table into which our rows cannot go; what they have may not be known yet."""
        if self._shape.columns is None:
            return
        try:
            database.execute(self._shape.probe).fetchall()
        except duckdb.Error as error:
            raise DeliveryRefused(
                f"{self.name} cannot take the columns {', '.join(self._shape.names)}"
                f"{' by the key ' + ', '.join(self._shape.key) if self._shape.key else ''}: "
                f"{words_of(error)}"
            ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain the errors of DuckDB that have a cause outside."""
        try:
            yield
        except (duckdb.DataError, duckdb.IntegrityError) as error:
            words = shown_words(type(error).__name__, words_of(error))
            raise ValueError(f"{CONNECTOR}: {self.name} refuses a row: {words}") from None
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise DeliveryRefused(f"{self.name} cannot take the rows: {words_of(error)}") from None
        except duckdb.Error as error:
            raise explanation(CONNECTOR, self._path, error) from None


def kind_of(item: Any) -> type:
    """What ``insert`` is given: a row, the columns of many, or an Arrow batch or table."""
    if type(item) is Columns:
        return Columns
    return pa.Table if is_arrow(item) else tuple


def as_table(block: pa.Table | pa.RecordBatch) -> pa.Table:
    """A batch as a table."""
    return block if isinstance(block, pa.Table) else pa.Table.from_batches([block])


def has_table(database: Connection, name: str) -> bool:
    """Whether there is a table or a view of that name."""
    found = database.execute(
        "SELECT 1 FROM information_schema.tables"
        " WHERE table_catalog = current_database() AND table_schema = current_schema()"
        " AND lower(table_name) = lower(?)",
        [name],
    )
    return bool(found.fetchall())
