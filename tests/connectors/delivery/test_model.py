"""Whatever a crash interrupts, a sink has each row once: random lives against a plain list."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors import Writer, write_csv, write_json_lines, write_parquet, write_sqlite
from tests.connectors.delivery.lives import Checkpoint, ended_by_a_crash, live

ROWS: Final = st.integers(0, 999).map(lambda number: {"number": number, "text": f"é {number}\n"})
BATCHES: Final = st.lists(st.lists(ROWS, max_size=5), max_size=5)
CRASHES: Final = st.lists(st.tuples(st.integers(0, 40), st.binary(max_size=9)), max_size=5)
SCHEMA: Final = pyarrow.schema([("number", pyarrow.int64()), ("text", pyarrow.string())])


def json_rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rotated(path: Path) -> list[Path]:
    """The parts of a file in the order of their rows, as anybody finds them."""
    return [*sorted(path.parent.glob(f"{path.stem}.[0-9]*{path.suffix}")), path]


def rotated_json_rows(path: Path) -> list[Any]:
    return [row for part in rotated(path) for row in json_rows(part)]


def rotated_csv_rows(path: Path) -> list[Any]:
    return [row for part in rotated(path) for row in csv_rows(part)]


def csv_rows(path: Path) -> list[Any]:
    with path.open(newline="") as file:
        return [{**row, "number": int(row["number"])} for row in csv.DictReader(file)]


def parquet_rows(path: Path) -> list[Any]:
    files = sorted(path.glob("*.parquet"))
    rows: list[Any] = pyarrow.dataset.dataset(files, schema=SCHEMA).to_table().to_pylist()
    return rows


def sqlite_rows(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchall():
            return []
        return [dict(row) for row in database.execute("SELECT * FROM rows ORDER BY rowid")]


SINKS: Final[dict[str, tuple[Callable[[Path], Writer], Callable[[Path], list[Any]]]]] = {
    "json lines": (write_json_lines, json_rows),
    "csv": (partial(write_csv, columns=["number", "text"]), csv_rows),
    "rotated json lines": (partial(write_json_lines, rotate_bytes=70), rotated_json_rows),
    "rotated csv": (
        partial(write_csv, columns=["number", "text"], rotate_bytes=40),
        rotated_csv_rows,
    ),
    "csv rotated by time": (
        partial(write_csv, columns=["number", "text"], rotate_every=1e-9),
        rotated_csv_rows,
    ),
    "parquet": (write_parquet, parquet_rows),
    "sqlite": (partial(write_sqlite, table="rows"), sqlite_rows),
}


@pytest.mark.parametrize("kind", SINKS)
@given(batches=BATCHES, crashes=CRASHES)
def test_each_row_is_there_once_whatever_was_interrupted(
    kind: str, batches: list[list[Any]], crashes: list[tuple[int, bytes]]
) -> None:
    make, rows_in = SINKS[kind]
    with TemporaryDirectory() as folder:
        path = Path(folder, "sink")
        checkpoint = Checkpoint()
        for steps, torn in crashes:
            ended_by_a_crash(checkpoint, partial(make, path), batches, steps)
            if steps and path.is_file() and kind != "sqlite":
                with path.open("ab") as file:
                    file.write(torn)  # what the system had of rows that were not committed
        for _ in live(checkpoint, make(path), batches):
            pass
        assert rows_in(path) == [row for batch in batches for row in batch]
        before = state_of(path.parent)
        for _ in live(checkpoint, make(path), batches):
            pass
        assert state_of(path.parent) == before


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """The content and the time of all files, which a finished pipeline leaves as they are."""
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files_in(folder)}


def files_in(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", SINKS)
def test_a_batch_that_begins_again_is_written_once(kind: str, tmp_path: Path) -> None:
    make, rows_in = SINKS[kind]
    path = tmp_path / "sink"
    rows = [{"number": number, "text": ""} for number in range(3)]
    for epoch in (Checkpoint().begin_run(), None):
        sink = make(path).sink
        if epoch is None:
            path = tmp_path / "another"
            sink = make(path).sink
        sink.open(epoch)
        assert sink.begin(0)
        sink(rows[0])
        assert sink.begin(0)
        for row in rows[:2]:
            sink(row)
        sink.commit(0)
        assert not sink.begin(0)
        assert sink.begin(1)
        sink(rows[2])
        sink.commit(1)
        assert sink.begin(2)
        sink(rows[0])
        sink.close()
        assert rows_in(path) == rows


@pytest.mark.parametrize("kind", SINKS)
def test_a_batch_of_many_chunks_is_given_up_as_a_whole(kind: str, tmp_path: Path) -> None:
    make, rows_in = SINKS[kind]
    path = tmp_path / "sink"
    checkpoint = Checkpoint()
    rows = [{"number": number, "text": "x" * 50} for number in range(70_000)]
    batches = [rows[:10], rows[10:]]
    ended_by_a_crash(checkpoint, partial(make, path), batches, 10 + 5 + 69_000)
    for _ in live(checkpoint, make(path), batches):
        pass
    assert rows_in(path) == rows
