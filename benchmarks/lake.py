"""How fast rows get into tables of files and out, beside the bare libraries on the same disk.

``python -m benchmarks.lake`` makes its tables in a temporary folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from pyarrow import parquet
from pyiceberg.catalog import Catalog

from benchmarks.beside import Beside, held_by, print_beside
from penstock import Flow
from penstock.connectors import (
    Writer,
    read_delta,
    read_iceberg,
    read_parquet,
    write_delta,
    write_iceberg,
    write_parquet,
)
from penstock.delivery import Epoch
from tests.lake.iceberg import catalog_in

__all__ = ["report"]

ROWS: Final = 800_000
FILES: Final = 4
WRITTEN_ROWS: Final = 50_000
COMMITS: Final = (1_000, 5_000)
"""The rows of a commit, one by one."""
ARROW_ROWS: Final = 500_000
ARROW_BATCH: Final = 50_000
ROUNDS: Final = 3
BY_ROW: Final = 0.7
BY_BATCH: Final = 0.9
NAME: Final = "lake.rows"
CLASSES: Final[dict[str, tuple[pyarrow.DataType, set[type]]]] = {
    "number": (pyarrow.int64(), {int}),
    "text": (pyarrow.string(), {str}),
    "delay": (pyarrow.float64(), {float}),
}
"""The columns, and of which class their values are."""


def report() -> None:
    """Print rows per second of this program's CPU time, the best of some interleaved rounds."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        catalog = catalog_in(folder)
        readers = filled(folder, catalog)
        cases = {**reading(folder, catalog, readers), **writing(folder, catalog)}
        print_stalled(readers)
        print_beside("rows of three columns", cases, ROUNDS)
        catalog.close()


def table(rows: int) -> pyarrow.Table:
    """What is written and read."""
    return pyarrow.table(
        {
            "number": range(rows),
            "text": [f"airport {number % 100}" for number in range(rows)],
            "delay": [number * 1.5 for number in range(rows)],
        }
    )


def filled(folder: Path, catalog: Catalog) -> dict[str, Callable[..., Flow[Any]]]:
    """Ways to read the same rows, from a few files each."""
    whole = table(ROWS)
    (folder / "parquet").mkdir()
    ready = catalog.create_table(NAME, whole.schema)
    for number in range(FILES):
        part = whole.slice(number * ROWS // FILES, ROWS // FILES)
        parquet.write_table(part, folder / "parquet" / f"{number}.parquet")
        write_deltalake(folder / "delta", part, mode="append")
        ready.append(part)
    return {
        "Parquet": lambda **options: read_parquet(folder / "parquet", **options),
        "Delta": lambda **options: read_delta(folder / "delta", **options),
        "Iceberg": lambda **options: read_iceberg(catalog, NAME, **options),
    }


def print_stalled(readers: dict[str, Callable[..., Flow[Any]]]) -> None:
    """What a subscriber that has had enough for now makes this program hold."""
    for name, reader in readers.items():
        before = pyarrow.total_allocated_bytes()
        held, allocated = held_by(reader(), pyarrow.total_allocated_bytes)
        kilobytes = (held + int(str(allocated)) - before) / 1e3
        print(f"10 of {ROWS:,} rows requested, {name}: {kilobytes:,.0f} kB held at most")
    print()


def reading(
    folder: Path, catalog: Catalog, readers: dict[str, Callable[..., Flow[Any]]]
) -> dict[str, Beside]:
    """The same rows by the library alone and by ours."""

    def parquet_batches() -> Any:
        for number in range(FILES):
            with parquet.ParquetFile(folder / "parquet" / f"{number}.parquet") as file:
                yield from file.iter_batches()

    bare: dict[str, Callable[[], Any]] = {
        "Parquet": parquet_batches,
        "Delta": lambda: DeltaTable(folder / "delta").to_pyarrow_dataset().to_batches(),
        "Iceberg": lambda: catalog.load_table(NAME).scan().to_arrow_batch_reader(),
    }
    cases: dict[str, Beside] = {}
    for name, reader in readers.items():
        by_row, by_batch = reader().count(), reader(batches=True).count()
        cases[f"read {name}, one by one"] = Beside(
            ROWS, partial(count_rows, bare[name]), by_row.run_sync, BY_ROW
        )
        cases[f"read {name}, in batches"] = Beside(
            ROWS, partial(walk, bare[name]), by_batch.run_sync, BY_BATCH
        )
    return cases


def count_rows(batches: Callable[[], Any]) -> int:
    """As dictionaries."""
    return sum(1 for batch in batches() for _ in batch.to_pylist())


def walk(batches: Callable[[], Any]) -> int:
    """As they are."""
    return sum(batch.num_rows for batch in batches())


def parquet_alone(folder: Path, tables: Iterable[pyarrow.Table], place: str) -> None:
    """A file for each."""
    (folder / place).mkdir()
    for number, each in enumerate(tables):
        parquet.write_table(each, folder / place / f"{number}.parquet")


def parquet_by_hand(folder: Path, tables: Iterable[pyarrow.Table], place: str) -> None:
    """With what each row once takes: a file is on the disk before it appears."""
    (folder / place).mkdir()
    for number, each in enumerate(tables):
        unfinished = folder / place / ".unfinished"
        with unfinished.open("wb") as file:
            parquet.write_table(each, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(folder / place / f"{number}.parquet")
        opened = os.open(folder / place, os.O_RDONLY)
        os.fsync(opened)
        os.close(opened)


def writing(folder: Path, catalog: Catalog) -> dict[str, Beside]:
    """The same rows into new tables, in as many commits."""
    places = (str(number) for number in count())
    rows = table(WRITTEN_ROWS).to_pylist()
    batches = table(ARROW_ROWS).to_batches(ARROW_BATCH)

    def delta_alone(tables: Iterable[pyarrow.Table], place: str) -> None:
        for each in tables:
            write_deltalake(folder / place, each, mode="append")

    def delta_by_hand(tables: Iterable[pyarrow.Table], place: str) -> None:
        """With what each row once takes: a look at the last number, and one with the rows."""
        DeltaTable.create(str(folder / place), table(1).schema)
        made = DeltaTable(folder / place)
        for number, each in enumerate(tables):
            made.update_incremental()
            assert made.transaction_version("by hand") == (number - 1 if number else None)
            marked = CommitProperties(app_transactions=[Transaction("by hand", number, None)])
            write_deltalake(made, each, mode="append", commit_properties=marked)

    def iceberg_alone(tables: Iterable[pyarrow.Table], place: str) -> None:
        made = catalog.create_table(f"lake.bare{place}", table(1).schema)
        for each in tables:
            made.append(each)

    ways: dict[str, tuple[Callable[..., None], Callable[[str], Writer], float | None]] = {
        "Parquet": (
            partial(parquet_alone, folder), lambda place: write_parquet(folder / place), BY_ROW,
        ),
        "Parquet, each once by hand": (
            partial(parquet_by_hand, folder), lambda place: write_parquet(folder / place), BY_ROW,
        ),
        "Delta": (delta_alone, lambda place: write_delta(folder / place), BY_ROW),
        "Delta, each once by hand": (
            delta_by_hand, lambda place: write_delta(folder / place), None,
        ),
        "Iceberg": (
            iceberg_alone, lambda place: write_iceberg(catalog, f"lake.ours{place}"), BY_ROW,
        ),
    }  # fmt: skip
    arrow = [[each] for each in batches]
    cases: dict[str, Beside] = {}
    for commit in COMMITS:
        portions = [rows[start : start + commit] for start in range(0, WRITTEN_ROWS, commit)]
        cases[f"write Parquet, once and exact by hand, by {commit:,} rows"] = Beside(
            WRITTEN_ROWS,
            partial(given_alone, partial(parquet_by_hand, folder), checked, portions, places),
            partial(given, ways["Parquet"][1], portions, places),
            BY_ROW,
        )
    for name, (alone, make, bar) in ways.items():
        for commit in COMMITS:
            portions = [rows[start : start + commit] for start in range(0, WRITTEN_ROWS, commit)]
            cases[f"write {name}, by {commit:,} rows"] = Beside(
                WRITTEN_ROWS,
                partial(given_alone, alone, gathered, portions, places),
                partial(given, make, portions, places),
                bar,
            )
        cases[f"write {name}, in batches"] = Beside(
            ARROW_ROWS,
            partial(given_alone, alone, pyarrow.Table.from_batches, arrow, places),
            partial(given, make, arrow, places),
            None if bar is None else BY_BATCH,
        )
    return cases


def gathered(rows: list[Any]) -> pyarrow.Table:
    """Rows come one by one to any program, which is to gather them for the library."""
    some: list[Any] = []
    for row in rows:
        some.append(row)
    return pyarrow.Table.from_pylist(some)


def checked(rows: list[Any]) -> pyarrow.Table:
    """The same with what it takes that no value is changed: a look at the class of each."""
    some: list[Any] = []
    for row in rows:
        if type(row) is not dict or len(row) != len(CLASSES):
            raise TypeError(f"{row} has other columns")
        some.append(row)
    arrays = []
    for name, (kind, found) in CLASSES.items():
        values = [*map(itemgetter(name), some)]
        if not found >= {*map(type, values)}:
            raise TypeError(f"a value of {name} is of another class")
        arrays.append(pyarrow.array(values, kind))
    return pyarrow.Table.from_arrays(arrays, names=[*CLASSES])


def given_alone(
    alone: Callable[..., None],
    made: Callable[[Any], pyarrow.Table],
    batches: list[Any],
    places: Iterator[str],
) -> None:
    """The library has tables only."""
    alone(map(made, batches), next(places))


def given(make: Callable[[str], Writer], batches: list[Any], places: Iterator[str]) -> None:
    """As a pipeline with a checkpoint does."""
    give(make(next(places)), batches)


def give(writer: Writer, batches: list[list[Any]]) -> None:
    """Batch after batch."""
    sink = writer.sink
    give_one = sink.__call__
    sink.open(Epoch.begun())
    for number, batch in enumerate(batches):
        sink.begin(number)
        for element in batch:
            give_one(element)
        sink.commit(number)
    sink.close()


if __name__ == "__main__":
    report()
