"""A connector of one's own: tables of DuckDB as a source and as a sink. Needs duckdb.

The source is asked for as many rows as are wanted, and goes on after a position. The sink has each
row once over kills and restarts of a checkpoint. ``tests/examples/test_own_connector.py`` is how
both are judged. ``penstock.connectors`` has its own for DuckDB; these are to show how it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from penstock import Flow
from penstock.connectors import ConnectionLost, PulledSource, Writer, from_pulled
from penstock.delivery import BatchProgress, Epoch, TransactionalSink

Row = dict[str, Any]


@contextmanager
def explained() -> Iterator[None]:
    """DuckDB has one writer at a time: if another program has the file, trying again may help."""
    try:
        yield
    except duckdb.IOException as error:
        raise ConnectionLost(str(error).splitlines()[0]) from error


class TableReading(PulledSource[Row]):
    """One reading of a table, in the order of a column, after a position."""

    def __init__(self, path: Path, table: str, key: str, after: Any) -> None:
        self._path = path
        self._table = table
        self._key = key
        self._last = after
        self._rows: duckdb.DuckDBPyConnection | None = None

    def connect(self) -> None:
        """Also after a connection was lost: then it goes on after the last row that it gave."""
        after = "" if self._last is None else f'WHERE "{self._key}" > ?'
        query = f'SELECT * FROM "{self._table}" {after} ORDER BY "{self._key}"'
        with explained():
            self._rows = duckdb.connect(str(self._path), read_only=True)
            self._rows.execute(query, [] if self._last is None else [self._last])

    def fetch(self, most: int) -> Sequence[Row] | None:
        """From one to ``most`` rows; ``None`` after the last one."""
        assert self._rows is not None
        columns = [column[0] for column in self._rows.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in self._rows.fetchmany(most)]
        if not rows:
            return None
        self._last = rows[-1][self._key]
        return rows

    def disconnect(self) -> None:
        """Close what is open."""
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()


def read_duckdb(path: Path, table: str, *, key: str, after: Any = None) -> Flow[Row]:
    """The rows of a table, in the order of ``key``, from the first one after ``after``."""
    return from_pulled(
        "read_duckdb",
        lambda position: TableReading(path, table, key, position),
        address=f"{table} in {path}",
        after=after,
        position_of=itemgetter(key),
    )


class DuckdbTable(TransactionalSink):
    """A table into which rows go, with the mark of their batch in the same transaction."""

    def __init__(self, path: Path, table: str, columns: dict[str, str]) -> None:
        super().__init__(f"the table {table} in {path}")
        self._path = path
        self._table = table
        self._columns = columns
        self._database: duckdb.DuckDBPyConnection | None = None

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; ``penstock check`` prints it."""
        if not self._path.exists():
            return f"makes {self._path}"
        with duckdb.connect(str(self._path), read_only=True) as database:
            mark = self._mark_in(database)
            BatchProgress(self.name, epoch, None if epoch is None else mark)
        return f"adds to {self.name}"

    def connect(self) -> None:
        self._database = duckdb.connect(str(self._path))
        columns = ", ".join(f'"{name}" {kind}' for name, kind in self._columns.items())
        self._do(f'CREATE TABLE IF NOT EXISTS "{self._table}" ({columns})')
        self._do("CREATE TABLE IF NOT EXISTS penstock_delivery (sink TEXT PRIMARY KEY, mark TEXT)")

    def disconnect(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def start_transaction(self) -> None:
        self._do("BEGIN")

    def load_mark(self) -> str | None:
        assert self._database is not None
        return self._mark_in(self._database)

    def store_mark(self, mark: str) -> None:
        self._do("INSERT OR REPLACE INTO penstock_delivery VALUES (?, ?)", [self._table, mark])

    def row_of(self, element: Any) -> list[Any]:
        if element.keys() != self._columns.keys():
            raise ValueError(f"{self.name} has {', '.join(self._columns)}, not so {element!r}")
        return [element[name] for name in self._columns]

    def insert(self, rows: Sequence[Any]) -> None:
        assert self._database is not None
        places = ", ".join("?" for _ in self._columns)
        self._database.executemany(f'INSERT INTO "{self._table}" VALUES ({places})', rows)

    def commit_transaction(self) -> None:
        self._do("COMMIT")

    def rollback(self) -> None:
        self._do("ROLLBACK")

    def _do(self, statement: str, values: Sequence[Any] = ()) -> None:
        assert self._database is not None
        self._database.execute(statement, values)

    def _mark_in(self, database: duckdb.DuckDBPyConnection) -> str | None:
        marks = "SELECT mark FROM penstock_delivery WHERE sink = ?"
        found = database.execute(marks, [self._table]).fetchone()
        return None if found is None else str(found[0])


def write_duckdb(path: Path, table: str, columns: dict[str, str]) -> Writer:
    """A subscriber that writes rows into a table, and a sink of a pipeline."""
    return Writer(DuckdbTable(path, table, columns))


def main() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "flights.duckdb")
        flights = Flow.range(5).map(lambda number: {"number": number, "delay": number * 1.5})
        writer = write_duckdb(path, "flights", {"number": "BIGINT", "delay": "DOUBLE"})
        flights.subscribe(writer)
        writer.wait()
        print(read_duckdb(path, "flights", key="number", after=2).to_list().run_sync())


if __name__ == "__main__":
    main()
