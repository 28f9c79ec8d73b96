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

__all__ = ["report"]

ROWS: Final = 100_000
COMMIT_ROWS: Final = 1_000
"""As many as ours commits together."""
ROUNDS: Final = 9
BAR: Final = 0.7
COLUMNS: Final = ["flight", "origin", "delay"]
TABLE: Final = "CREATE TABLE flights (flight BIGINT, origin VARCHAR, delay DOUBLE)"

Rows = list[dict[str, Any]]


def report() -> None:
    """Print rows per second of this program's CPU time, the best of some interleaved rounds."""
    rows: Rows = [
        {"flight": number, "origin": f"airport {number % 100}", "delay": number / 7}
        for number in range(ROWS)
    ]
    with TemporaryDirectory() as folder:
        places = (Path(folder, str(number)) for number in count())
        cases = {
            name: Beside(ROWS, *both(rows, places, alone, make), BAR)
            for name, (alone, make) in WAYS.items()
        }
        print_beside("rows of a flow, one by one", cases, ROUNDS)


Alone = Callable[[Rows, Path], object]
Make = Callable[[Path], Writer]


def both(
    rows: Rows, places: Iterator[Path], alone: Alone, make: Make
) -> tuple[Callable[[], object], Callable[[], object]]:
    """The library alone, and a flow."""
    return lambda: alone(rows, next(places)), lambda: from_a_flow(rows, make(next(places)))


def json_lines_alone(rows: Rows, path: Path) -> None:
    """A loop, and all of it on the disk at the end, as the others have it."""
    with path.open("w") as file:
        for row in rows:
            file.write(f"{json.dumps(row)}\n")
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


def parquet_alone(rows: Rows, path: Path) -> None:
    """Rows come one by one to any program, which is to gather them for the library."""
    some: Rows = []
    for row in rows:
        some.append(row)
    parquet.write_table(pyarrow.Table.from_pylist(some), path)


def sqlite_alone(rows: Rows, path: Path) -> None:
    """As many in a transaction as ours has."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(TABLE)
        for some in portions(rows):
            database.executemany("INSERT INTO flights VALUES (:flight, :origin, :delay)", some)
            database.commit()


def duckdb_alone(rows: Rows, path: Path) -> None:
    """The same by way of Arrow, which is its fastest."""
    with duckdb.connect(str(path)) as database:
        database.execute(TABLE)
        for some in portions(rows):
            database.register("incoming", pyarrow.Table.from_pylist(some))
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


WAYS: Final[dict[str, tuple[Alone, Make]]] = {
    "JSON lines": (json_lines_alone, write_json_lines),
    "CSV": (csv_alone, lambda path: write_csv(path, COLUMNS)),
    "Parquet": (parquet_alone, write_parquet),
    "SQLite": (sqlite_alone, into_sqlite),
    "DuckDB": (duckdb_alone, into_duckdb),
}


if __name__ == "__main__":
    report()
