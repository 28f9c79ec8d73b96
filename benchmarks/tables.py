"""How fast rows get into tables of SQLite and DuckDB and out, beside their own libraries.

``python -m benchmarks.tables`` runs it alone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import pyarrow as pa
from pyarrow import compute

from benchmarks.stalled import REQUESTED, stalled
from penstock import Flow
from penstock.connectors import read_duckdb, read_sqlite, write_duckdb, write_sqlite
from penstock.delivery import Epoch

__all__ = ["report"]

Pair = tuple[Callable[[], object], Callable[[], object]]

ROWS: Final = 200_000
BATCH_ROWS: Final = 10_000
LARGE: Final = 100_000
MANY: Final = 2_000_000
"""As many are read in batches, since a batch takes next to no time."""
ROUNDS: Final = 9
FETCH: Final = 1_000
ONE_BY_ONE: Final = 0.7
BATCHES: Final = 0.9
QUERY: Final = "SELECT * FROM ready"
MANY_ROWS: Final = "SELECT * FROM many"


def report() -> None:
    """Print rows per second of CPU time, the best of some interleaved rounds."""
    rows = [
        {"flight": number, "origin": f"airport {number % 100}", "delay": number / 7}
        for number in range(ROWS)
    ]
    with TemporaryDirectory() as folder:
        print_stalled(Path(folder))
        pairs = {
            **in_sqlite(Path(folder, "a.db"), rows),
            **reading_duckdb(Path(folder, "read.duckdb")),
            **writing_duckdb(Path(folder, "write.duckdb"), rows),
        }
        best = {name: [0.0, 0.0] for name in pairs}
        for _ in range(ROUNDS):
            for name, pair in pairs.items():
                for index, case in enumerate(pair):
                    number = MANY if "read Arrow" in name else ROWS
                    best[name][index] = max(best[name][index], number / timed(case))
    print(f"{'rows (long, string, double)':42} {'bare':>10} {'ours':>10} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        bar = BATCHES if "batches" in name else ONE_BY_ONE
        word = "met" if ours / bare >= bar else "MISSED"
        print(f"{name:42} {bare:10,.0f} {ours:10,.0f} {ours / bare:7.2f}  bar {bar:g}: {word}")
    print()


def print_stalled(folder: Path) -> None:
    """What a subscriber that has had enough for now makes this program read and hold."""
    small, large = folder / "stalled.db", folder / "stalled.duckdb"
    with closing(sqlite3.connect(small)) as database:
        database.execute("CREATE TABLE large (n INTEGER PRIMARY KEY, text)")
        rows = ((number, f"{number:1000}") for number in range(LARGE))
        database.executemany("INSERT INTO large VALUES (?, ?)", rows)
        database.commit()
    with duckdb.connect(str(large)) as database:
        database.execute(
            f"CREATE TABLE large AS SELECT range AS n, lpad(range::VARCHAR, 1000, ' ') AS text "
            f"FROM range({LARGE})"
        )
    readers: dict[str, Callable[..., Flow[Any]]] = {
        "SQLite": lambda **options: read_sqlite(small, "SELECT * FROM large", **options),
        "DuckDB": lambda **options: read_duckdb(large, "SELECT * FROM large", **options),
    }
    for name, reader in readers.items():
        for key in (None, "n"):
            with stalled(reader(key=key)) as cost:
                pass
            title = f"{name}{', key' if key else ''}"
            read = f"{cost.read / 1e3:,.0f} kB read"
            print(f"{REQUESTED} of {LARGE:,} rows of 1 kB requested, {title}: {read}, {cost}")
    print()


def timed(case: Callable[[], object]) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


def in_sqlite(path: Path, rows: list[dict[str, Any]]) -> dict[str, Pair]:
    """The same by ``sqlite3`` alone and by ours."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    for table in ("ready", "bare", "ours"):
        database.execute(f"CREATE TABLE {table} (flight INTEGER PRIMARY KEY, origin, delay)")
    names = ["flight", "origin", "delay"]

    def bare(elements: Callable[[], Any], table: str = "bare") -> None:
        database.execute(f"DELETE FROM {table}")
        database.execute("BEGIN IMMEDIATE")
        database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", elements())
        database.execute("COMMIT")

    def read() -> int:
        seen = 0
        found = database.execute(f"{QUERY} ORDER BY flight")
        while some := found.fetchmany(FETCH):
            for _ in [dict(zip(names, row, strict=True)) for row in some]:
                seen += 1
        return seen

    write = written(write_sqlite(path, "ours").sink, lambda: database.execute("DELETE FROM ours"))
    bare(lambda: plain(rows), "ready")
    flights = read_sqlite(path, QUERY, key="flight", fetch=FETCH)
    batches = batches_of(rows)
    return {
        "SQLite: read rows, one by one": (read, lambda: flights.count().run_sync()),
        "SQLite: write rows, one by one": (lambda: bare(lambda: plain(rows)), lambda: write(rows)),
        "SQLite: write Arrow batches": (
            lambda: bare(lambda: columnar(batches)),
            lambda: write(batches),
        ),
    }


def reading_duckdb(path: Path) -> dict[str, Pair]:
    """The same by ``duckdb`` alone and by ours."""
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE ready AS {numbers(ROWS)}")
        made.execute(f"CREATE TABLE many AS {numbers(MANY)}")
    reader = duckdb.connect(str(path), read_only=True)
    names = ["flight", "origin", "delay"]

    def read() -> int:
        seen = 0
        found = reader.execute(f"{QUERY} ORDER BY flight")
        while some := found.fetchmany(FETCH):
            for _ in [dict(zip(names, row, strict=True)) for row in some]:
                seen += 1
        return seen

    def read_batches() -> int:
        relation = reader.sql(f"{MANY_ROWS} ORDER BY flight")
        return sum(batch.num_rows for batch in relation.to_arrow_reader(BATCH_ROWS))

    def read_batches_once() -> int:
        """With what it takes to go on after the last row: its key, which no other row has."""
        seen, last = 0, None
        for batch in reader.sql(f"{MANY_ROWS} ORDER BY flight").to_arrow_reader(BATCH_ROWS):
            key = batch.column("flight")
            if key.null_count or key[0].as_py() == last or is_twice(key):
                raise ValueError(key)
            seen, last = seen + batch.num_rows, key[-1].as_py()
        return seen

    flights = read_duckdb(path, QUERY, key="flight", fetch=FETCH)
    keyed = read_duckdb(path, MANY_ROWS, key="flight", batches=True)
    plainly = read_duckdb(path, f"{MANY_ROWS} ORDER BY flight", batches=True)
    return {
        "DuckDB: read rows, one by one": (read, lambda: flights.count().run_sync()),
        "DuckDB: read Arrow batches": (read_batches, lambda: plainly.count().run_sync()),
        "DuckDB: read Arrow batches, key": (read_batches, lambda: keyed.count().run_sync()),
        "DuckDB: read Arrow batches, key, checked": (
            read_batches_once,
            lambda: keyed.count().run_sync(),
        ),
    }


def numbers(rows: int) -> str:
    """A query of DuckDB that gives so many rows."""
    return (
        "SELECT range AS flight, 'airport ' || range % 100 AS origin, range / 7 AS delay "
        f"FROM range({rows})"
    )


def writing_duckdb(path: Path, rows: list[dict[str, Any]]) -> dict[str, Pair]:
    """The same, the other way."""
    batches = batches_of(rows)
    writer = duckdb.connect(str(path))
    for table in ("bare", "ours"):
        writer.execute(f"CREATE TABLE {table} (flight BIGINT, origin VARCHAR, delay DOUBLE)")

    def bare(tables: Callable[[], Any]) -> None:
        writer.execute("DELETE FROM bare").fetchall()
        writer.execute("BEGIN").fetchall()
        for table in tables():
            writer.register("incoming", table)
            writer.execute("INSERT INTO bare FROM incoming").fetchall()
        writer.execute("COMMIT").fetchall()

    writer.execute("CREATE TABLE marks (sink VARCHAR PRIMARY KEY, mark VARCHAR)").fetchall()
    writer.execute("INSERT INTO marks VALUES ('bare', '0')").fetchall()

    def bare_once(tables: Callable[[], Any]) -> None:
        """With the number of the batch in the same transaction, which nobody else may store."""
        writer.execute("DELETE FROM bare").fetchall()
        writer.execute("BEGIN").fetchall()
        writer.execute("UPDATE marks SET mark = coalesce(mark, '') WHERE sink = 'bare'").fetchall()
        writer.execute("SELECT mark FROM marks WHERE sink = 'bare'").fetchall()
        for table in tables():
            writer.register("incoming", table)
            writer.execute("INSERT INTO bare FROM incoming").fetchall()
        writer.unregister("incoming")
        writer.execute("UPDATE marks SET mark = '1' WHERE sink = 'bare'").fetchall()
        writer.execute("COMMIT").fetchall()

    sink = write_duckdb(path, "ours").sink
    write = written(sink, lambda: writer.execute("DELETE FROM ours").fetchall())
    return {
        "DuckDB: write rows, one by one": (
            lambda: bare(lambda: tables_of(rows)),
            lambda: write(rows),
        ),
        "DuckDB: write rows, one by one, once": (
            lambda: bare_once(lambda: gathered(rows)),
            lambda: write(rows),
        ),
        "DuckDB: write Arrow batches": (
            lambda: bare(lambda: map(pa.table, batches)),
            lambda: write(batches),
        ),
        "DuckDB: write Arrow batches, once": (
            lambda: bare_once(lambda: map(pa.table, batches)),
            lambda: write(batches),
        ),
    }


def written(sink: Any, clear: Callable[[], object]) -> Callable[[list[Any]], None]:
    """What writes elements as one batch after the other."""
    sink.open(Epoch.begun())
    numbers = count()

    def write(elements: list[Any]) -> None:
        clear()
        batch = next(numbers)
        sink.begin(batch)
        for element in elements:
            sink(element)
        sink.commit(batch)

    return write


def plain(rows: list[dict[str, Any]]) -> Any:
    return ((row["flight"], row["origin"], row["delay"]) for row in rows)


def batches_of(rows: list[dict[str, Any]]) -> Any:
    return pa.Table.from_pylist(rows).to_batches(max_chunksize=BATCH_ROWS)


def tables_of(rows: list[dict[str, Any]]) -> Any:
    """As somebody would do it who knows Arrow."""
    for first in range(0, len(rows), BATCH_ROWS):
        some = rows[first : first + BATCH_ROWS]
        yield pa.table({name: [row[name] for row in some] for name in some[0]})


def gathered(rows: list[dict[str, Any]]) -> Any:
    """The same where rows come one by one, as those of a stream do."""
    some: list[dict[str, Any]] = []
    for row in rows:
        some.append(row)
        if len(some) == BATCH_ROWS:
            yield from tables_of(some)
            some = []


def is_twice(key: Any) -> bool:
    """Whether two rows have the same key; they come in its order."""
    return bool(compute.any(compute.equal(key[1:], key[:-1])).as_py())


def columnar(batches: list[Any]) -> Any:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


if __name__ == "__main__":
    report()
