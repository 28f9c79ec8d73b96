"""Journals whose every row tells its own number, so that wrong data cannot hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from penstock.spark.journal import Journal, JournalReader, Place

__all__ = [
    "PLACES",
    "SCHEMA",
    "Numbers",
    "all_rows",
    "append_rows",
    "numbered",
    "open_journal",
    "read_rows",
    "segment_files",
]

SCHEMA = pa.schema([("number", pa.int64()), ("text", pa.string()), ("half", pa.float64())])


def in_a_folder(path: Path) -> Place:
    return path / "journal"


def in_objects_on_disk(path: Path) -> Place:
    (path / "objects").mkdir(exist_ok=True)
    return fs.SubTreeFileSystem(str(path / "objects"), fs.LocalFileSystem())


def in_objects_in_memory(path: Path) -> Place:
    return fs._MockFileSystem()


PLACES: list[Callable[[Path], Place]] = [in_a_folder, in_objects_on_disk, in_objects_in_memory]


class Numbers:
    """A converter of numbers to rows; what is no number does not fit."""

    def convert(self, elements: Sequence[Any]) -> tuple[pa.RecordBatch, list[NoNumber]]:
        dead_letters = [NoNumber(at) for at, each in enumerate(elements) if isinstance(each, str)]
        rows = []
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                rows += element.column("number").to_pylist()
            elif not isinstance(element, str):
                rows.append(element)
        return rows_with(rows), dead_letters


class NoNumber:
    """Something that is no number."""

    def __init__(self, position: int) -> None:
        self.position = position

    def error(self) -> Exception:
        return ValueError(f"element {self.position} of the batch is no number")


def numbered(start: int, end: int) -> pa.RecordBatch:
    """The rows of these positions."""
    return rows_with(range(start, end))


def rows_with(numbers: Sequence[int]) -> pa.RecordBatch:
    columns = [list(numbers), [f"row {each}" for each in numbers], [each / 2 for each in numbers]]
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )


def open_journal(place: Place, **bounds: int) -> Journal:
    return Journal.open(place, SCHEMA, **bounds)


def append_rows(journal: Journal, *counts: int) -> None:
    """Append batches of so many rows."""
    for count in counts:
        journal.append(numbered(journal.end, journal.end + count), {"after": journal.end + count})


def read_rows(place: Place, start: int, end: int) -> list[int]:
    """The numbers of these rows; each row has to be right in all of its columns."""
    batches = list(JournalReader(place).read(start, end))
    for batch in batches:
        assert batch.equals(rows_with(batch.column("number").to_pylist()))
    return [number for batch in batches for number in batch.column("number").to_pylist()]


def all_rows(place: Place) -> list[int]:
    """The numbers of all rows that are not committed."""
    bounds = JournalReader(place).bounds()
    return read_rows(place, bounds.start, bounds.end)


def segment_files(folder: Path) -> list[Path]:
    """The files with rows, in sequence."""
    return sorted(folder.glob("*.segment"))
