"""How fast a flow gets into files and tables without Spark, beside a loop over the library alone.

``python -m benchmarks.writers`` makes them in a temporary folder.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import pyarrow
from pyarrow import parquet

from benchmarks.beside import Beside, from_a_flow, print_beside
from penstock.connectors import (
    Writer,
    write_csv,
    write_duckdb,
    write_json_lines,
    write_parquet,
    write_sqlite,
)
from penstock.spark.egress.rows import row_type

__all__ = ["report"]

ROWS: Final = 100_000
COMMIT_ROWS: Final = 1_000
"""As many as ours commits together."""
ROUNDS: Final = 9
BAR: Final = 0.7
COLUMNS: Final = ["flight", "origin", "delay"]
TABLE: Final = "CREATE TABLE flights (flight BIGINT, origin VARCHAR, delay DOUBLE)"

Rows = list[Any]


def report() -> None:
    """Print rows per second of this program's CPU time, the best of some interleaved rounds."""
    values = [(number, f"airport {number % 100}", number / 7) for number in range(ROWS)]
    dictionaries = [dict(zip(COLUMNS, each, strict=True)) for each in values]
    of_spark = [*map(row_type(tuple(COLUMNS))._make, values)]
    with TemporaryDirectory() as folder:
        places = (Path(folder, str(number)) for number in count())
        for title, rows, ways in (
            ("rows of a flow, one by one", dictionaries, OF_DICTIONARIES),
            ("the same as Spark gives them, named tuples", of_spark, OF_TUPLES),
        ):
            cases = {
                name: Beside(ROWS, *both(rows, places, alone, OURS[name]), BAR)
                for name, alone in ways.items()
            }
            print_beside(title, cases, ROUNDS)


Alone = Callable[[Rows, Path], object]
Make = Callable[[Path], Writer]


def both(
    rows: Rows, places: Iterator[Path], alone: Alone, make: Make
) -> tuple[Callable[[], object], Callable[[], object]]:
    """The library alone, and a flow."""
    return lambda: alone(rows, next(places)), lambda: from_a_flow(rows, make(next(places)))


def lines_alone(rows: Rows, path: Path, named: Callable[[Any], Any] | None = None) -> None:
    """A loop, and all of it on the disk at the end, as the others have it."""
    with path.open("w") as file:
        for row in rows:
            file.write(f"{json.dumps(row if named is None else named(row))}\n")
        file.flush()
        os.fsync(file.fileno())


def csv_alone(rows: Rows, path: Path) -> None:
    """The same by ``csv``."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())


def csv_of_tuples(rows: Rows, path: Path) -> None:
    """The same by place."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())


def table_of(rows: Rows) -> pyarrow.Table:
    """The columns of tuples."""
    return pyarrow.table([*map(pyarrow.array, zip(*rows, strict=True))], COLUMNS)


def parquet_alone(
    rows: Rows, path: Path, table: Callable[[Rows], pyarrow.Table] = pyarrow.Table.from_pylist
) -> None:
    """Rows come one by one to any program, which is to gather them for the library."""
    some: Rows = []
    for row in rows:
        some.append(row)
    parquet.write_table(table(some), path)


def sqlite_alone(rows: Rows, path: Path, values: str = ":flight, :origin, :delay") -> None:
    """As many in a transaction as ours has."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(TABLE)
        for some in portions(rows):
            database.executemany(f"INSERT INTO flights VALUES ({values})", some)
            database.commit()


def duckdb_alone(
    rows: Rows, path: Path, table: Callable[[Rows], pyarrow.Table] = pyarrow.Table.from_pylist
) -> None:
    """The same by way of Arrow, which is its fastest."""
    with duckdb.connect(str(path)) as database:
        database.execute(TABLE)
        for some in portions(rows):
            database.register("incoming", table(some))
            database.execute("INSERT INTO flights SELECT * FROM incoming")


def portions(rows: Rows) -> Iterator[Rows]:
    """Some rows at a time."""
    left = iter(rows)
    while some := [*islice(left, COMMIT_ROWS)]:
        yield some


def into_sqlite(path: Path) -> Writer:
    """A table that is there."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(TABLE)
    return write_sqlite(path, "flights")


def into_duckdb(path: Path) -> Writer:
    """A table that is there."""
    with duckdb.connect(str(path)) as database:
        database.execute(TABLE)
    return write_duckdb(path, "flights")


def as_dictionary(row: Any) -> Any:
    """A named tuple, for what wants names."""
    return row._asdict()


OF_DICTIONARIES: Final[dict[str, Alone]] = {
    "JSON lines": lines_alone,
    "CSV": csv_alone,
    "Parquet": parquet_alone,
    "SQLite": sqlite_alone,
    "DuckDB": duckdb_alone,
}
OF_TUPLES: Final[dict[str, Alone]] = {
    "JSON lines": partial(lines_alone, named=as_dictionary),
    "CSV": csv_of_tuples,
    "Parquet": partial(parquet_alone, table=table_of),
    "SQLite": partial(sqlite_alone, values="?, ?, ?"),
    "DuckDB": partial(duckdb_alone, table=table_of),
}
OURS: Final[dict[str, Make]] = {
    "JSON lines": write_json_lines,
    "CSV": lambda path: write_csv(path, COLUMNS),
    "Parquet": write_parquet,
    "SQLite": into_sqlite,
    "DuckDB": into_duckdb,
}


if __name__ == "__main__":
    report()
