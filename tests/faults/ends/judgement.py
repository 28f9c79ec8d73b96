"""What the sinks of the killed pipeline hold, read by programs that are not ours."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb

from tests.faults.ends.pipelines import HAS_ICEBERG
from tests.lake.delta import delta_rows

__all__ = ["READERS", "Verdict", "judge", "verdict"]

Row = tuple[str, int]


class Verdict(NamedTuple):
    """Rows that a sink lacks, has too often, and should not have; ``rows`` are all that it has."""

    sink: str
    rows: int
    lost: int
    again: int
    foreign: int

    @property
    def is_exact(self) -> bool:
        """Whether it has each row once."""
        return not (self.lost or self.again or self.foreign)

    @property
    def is_complete(self) -> bool:
        """Whether it has each row at least once."""
        return not (self.lost or self.foreign)


def json_rows(folder: Path) -> Iterator[Row]:
    with (folder / "out.jsonl").open() as lines:
        for line in lines:
            row = json.loads(line)
            yield row["source"], row["number"]


def csv_rows(folder: Path) -> Iterator[Row]:
    with (folder / "out.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            yield row["source"], int(row["number"])


def rotated_rows(read: str, name: str, folder: Path) -> Iterator[Row]:
    files = str(folder / name)
    found: Any = duckdb.sql(f"SELECT source, number FROM {read}('{files}')")
    yield from found.fetchall()


def sqlite_rows(table: str, folder: Path) -> Iterator[Row]:
    with closing(sqlite3.connect(f"file:{folder / 'out.db'}?mode=ro", uri=True)) as database:
        yield from database.execute(f"SELECT source, number FROM {table}")


def duckdb_rows(folder: Path) -> Iterator[Row]:
    with duckdb.connect(str(folder / "out.duckdb"), read_only=True) as database:
        yield from database.execute("SELECT source, number FROM numbers").fetchall()


def parquet_rows(name: str, folder: Path) -> Iterator[Row]:
    files = str(folder / name / "**" / "*.parquet")
    found: Any = duckdb.sql(
        f"SELECT source, number FROM read_parquet('{files}', hive_partitioning = false)"
    )
    yield from found.fetchall()


def delta_table_rows(folder: Path) -> Iterator[Row]:
    for row in delta_rows(folder / "out-delta"):
        yield row["source"], row["number"]


def iceberg_table_rows(folder: Path) -> Iterator[Row]:
    from tests.lake.iceberg import catalog_in, iceberg_rows

    with closing(catalog_in(folder)) as catalog:
        for row in iceberg_rows(catalog, "lake.outgoing"):
            yield row["source"], row["number"]


def function_rows(folder: Path) -> Iterator[Row]:
    for line in (folder / "function.txt").read_text().splitlines():
        source, number = line.split()
        yield source, int(number)


READERS: Final[dict[str, Callable[[Path], Iterator[Row]]]] = {
    "json lines": json_rows,
    "csv file": csv_rows,
    "rotated lines": partial(rotated_rows, "read_ndjson", "out-rotated*.jsonl"),
    "rotated csv": partial(rotated_rows, "read_csv", "out-rotated*.csv"),
    "parquet folder": lambda folder: parquet_rows("out-parquet", folder),
    "sqlite": partial(sqlite_rows, "numbers"),
    "sqlite too": partial(sqlite_rows, "again"),
    "duckdb": duckdb_rows,
    "delta table": delta_table_rows,
    **({"iceberg table": iceberg_table_rows} if HAS_ICEBERG else {}),
    "spark parquet": lambda folder: parquet_rows("out-spark", folder),
    "function": function_rows,
}


def judge(folder: Path, sources: tuple[str, ...], count: int) -> list[Verdict]:
    """Compare what each sink holds with what the sources gave, row by row."""
    expected = {(source, number) for source in sources for number in range(count)}
    return [verdict(name, Counter(read(folder)), expected) for name, read in READERS.items()]


def verdict(sink: str, found: Counter[Row], expected: set[Row]) -> Verdict:
    return Verdict(
        sink,
        rows=found.total(),
        lost=len(expected - found.keys()),
        again=sum(found[row] - 1 for row in found if row in expected),
        foreign=len(found.keys() - expected),
    )
