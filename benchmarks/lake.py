"""How fast rows get into tables of files and out, beside the bare libraries on the same disk.

``python -m benchmarks.lake`` makes its tables in a temporary folder.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet
from pyiceberg.catalog import Catalog

from penstock import Flow
from penstock.connectors import (
    Writer,
    read_delta,
    read_iceberg,
    read_parquet,
    write_delta,
    write_iceberg,
)
from penstock.delivery import Epoch
from penstock.testing import ManualSubscriber
from tests.lake.iceberg import catalog_in

__all__ = ["report"]

Case = Callable[[], object]

ROWS: Final = 800_000
FILES: Final = 4
WRITTEN_ROWS: Final = 10_000
BATCH: Final = 1_000
"""The rows of a commit, one by one."""
ARROW_ROWS: Final = 500_000
ARROW_BATCH: Final = 50_000
ROUNDS: Final = 3
BARS: Final = {"one by one": 0.7, "in batches": 0.9}
NAME: Final = "lake.rows"


def report() -> None:
    """Print rows per second of this program's CPU time, the best of some interleaved rounds."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        catalog = catalog_in(folder)
        readers = filled(folder, catalog)
        cases = {**reading(folder, catalog, readers), **writing(folder, catalog)}
        print_stalled(readers)
        best = {name: [0.0, 0.0] for name in cases}
        for _ in range(ROUNDS):
            for name, (rows, *pair) in cases.items():
                for index, case in enumerate(pair):
                    best[name][index] = max(best[name][index], rows / timed(case))
        catalog.close()
    print(f"{'rows of three columns':38} {'bare':>11} {'ours':>11} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        bar = BARS[name.partition(", ")[2]]
        met = "met" if ours / bare >= bar else "MISSED"
        print(f"{name:38} {bare:11,.0f} {ours:11,.0f} {ours / bare:7.2f}  bar {bar:g}: {met}")


def timed(case: Case) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


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
        tracemalloc.start()
        reader().subscribe(subscriber := ManualSubscriber[Any](request=10))
        subscriber.await_elements(10)
        held = tracemalloc.get_traced_memory()[0] + pyarrow.total_allocated_bytes() - before
        tracemalloc.stop()
        subscriber.cancel()
        print(f"10 of {ROWS:,} rows requested, {name}: {held / 1e3:,.0f} kB held")
    print()


def reading(
    folder: Path, catalog: Catalog, readers: dict[str, Callable[..., Flow[Any]]]
) -> dict[str, tuple[int, Case, Case]]:
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
    cases: dict[str, tuple[int, Case, Case]] = {}
    for name, reader in readers.items():
        by_row, by_batch = reader().count(), reader(batches=True).count()
        cases[f"read {name}, one by one"] = (ROWS, partial(count_rows, bare[name]), by_row.run_sync)
        cases[f"read {name}, in batches"] = (ROWS, partial(walk, bare[name]), by_batch.run_sync)
    return cases


def count_rows(batches: Callable[[], Any]) -> int:
    """As dictionaries."""
    return sum(1 for batch in batches() for _ in batch.to_pylist())


def walk(batches: Callable[[], Any]) -> int:
    """As they are."""
    return sum(batch.num_rows for batch in batches())


def writing(folder: Path, catalog: Catalog) -> dict[str, tuple[int, Case, Case]]:
    """The same rows into new tables, in as many commits."""
    places = (str(number) for number in count())
    rows = table(WRITTEN_ROWS).to_pylist()
    portions = [rows[start : start + BATCH] for start in range(0, WRITTEN_ROWS, BATCH)]
    batches = table(ARROW_ROWS).to_batches(ARROW_BATCH)

    def delta_alone(tables: Iterable[pyarrow.Table], place: str) -> None:
        for each in tables:
            write_deltalake(folder / place, each, mode="append")

    def iceberg_alone(tables: Iterable[pyarrow.Table], place: str) -> None:
        made = catalog.create_table(f"lake.bare{place}", table(1).schema)
        for each in tables:
            made.append(each)

    pairs: dict[str, tuple[Callable[..., None], Callable[[str], Writer]]] = {
        "Delta": (delta_alone, lambda place: write_delta(folder / place)),
        "Iceberg": (iceberg_alone, lambda place: write_iceberg(catalog, f"lake.ours{place}")),
    }
    arrow = [[each] for each in batches]
    cases: dict[str, tuple[int, Case, Case]] = {}
    for name, (alone, make) in pairs.items():
        cases[f"write {name}, one by one"] = (
            WRITTEN_ROWS,
            partial(given_alone, alone, pyarrow.Table.from_pylist, portions, places),
            partial(given, make, portions, places),
        )
        cases[f"write {name}, in batches"] = (
            ARROW_ROWS,
            partial(given_alone, alone, pyarrow.Table.from_batches, arrow, places),
            partial(given, make, arrow, places),
        )
    return cases


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
    sink.open(Epoch.begun())
    for number, batch in enumerate(batches):
        sink.begin(number)
        for element in batch:
            sink(element)
        sink.commit(number)
    sink.close()


if __name__ == "__main__":
    report()
