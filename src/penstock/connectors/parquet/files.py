"""The rows of Parquet files one after the other, and how to tell that a file is still the same.

A position is ``[file, row group, stamp, earlier, rows]``: the name of the file, the number of the
row group, what tells this content from any other, the same for all files before it, and how many
rows of the row group were given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final
from zlib import crc32

import pyarrow
from pyarrow.parquet import ParquetFile

from penstock.connectors.shared.row_files import BATCH_ROWS, PlacedBatch, require_place
from penstock.flow.resume.resumption import CannotResume

__all__ = ["CONNECTOR", "ParquetRows", "files_in"]

CONNECTOR: Final = "read_parquet"
KINDS: Final = (str, int, str, str, int)
NOTHING_EARLIER: Final = "0"
TAIL: Final = 8
"""A file ends with the length of its metadata, in four bytes, and four letters."""
CHUNK: Final = 1 << 20
REMEDY: Final = "restore it, or name another checkpoint, which begins with the first row"


def files_in(folder: Path) -> list[Path]:
    """The Parquet files of a folder, in the order of their names."""
    found = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    if inner := [path for path in found if path.is_dir()]:
        raise ValueError(
            f"{CONNECTOR}: {folder} holds the folder {min(inner).name}, and only files of the "
            "folder itself are read; give the folders one by one"
        )
    return sorted(path for path in found if path.suffix == ".parquet")


class ParquetRows:
    """The rows of a file, or of all files of a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def after(self, position: Any, *, recorded: bool) -> Iterator[PlacedBatch]:
        """The rows after a position."""
        given = 0
        earlier, first_group, stamp = NOTHING_EARLIER, 0, ""
        files = files_in(self._path) if self._path.is_dir() else [self._path]
        if position is not None:
            name, first_group, stamp, known, given = require_place(CONNECTOR, position, KINDS)
            before, files = self._split(files, name)
            earlier = earlier_of(before)
            if earlier != known:
                raise CannotResume(
                    f"{CONNECTOR}: {self._path}: the files before {name} are not those that were "
                    f"read: one has come, is gone or has changed; {REMEDY}"
                )
        for path in files:
            with ParquetContent(path, earlier) as content:
                if stamp:
                    content.require_same(first_group, stamp)
                for number in range(first_group, content.row_groups):
                    for placed in content.batches(number, stamped=recorded):
                        yield placed.after(given)
                    given = 0
                earlier = content.with_earlier
            first_group, stamp = 0, ""

    def _split(self, files: list[Path], name: str) -> tuple[list[Path], list[Path]]:
        """The files before the one where the reading stands, and the rest."""
        for number, path in enumerate(files):
            if path.name == name:
                return files[:number], files[number:]
        raise CannotResume(
            f"{CONNECTOR}: {self._path}: the file {name}, in which the checkpoint stands, is gone; "
            f"{REMEDY}"
        )


class ParquetContent:
    """An open file."""

    def __init__(self, path: Path, earlier: str) -> None:
        self._path = path
        self._earlier = earlier
        self._raw: BinaryIO = path.open("rb")
        try:
            self._stamp = stamp_of(self._raw)
            self._file = ParquetFile(self._raw)
        except BaseException as error:
            self._raw.close()
            if isinstance(error, pyarrow.ArrowException | OSError):
                raise ValueError(f"{CONNECTOR}: {path} is no Parquet file: {error}") from error
            raise
        self.row_groups = self._file.num_row_groups

    def __enter__(self) -> ParquetContent:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._raw.close()

    @property
    def with_earlier(self) -> str:
        """What tells this file and all before it from others."""
        return chained(self._earlier, self._path, self._stamp)

    def require_same(self, number: int, known: str) -> None:
        """Refuse a file that is not the one of which so many row groups were read."""
        if number >= self.row_groups or known != self._stamp_of_group(number):
            raise CannotResume(
                f"{CONNECTOR}: {self._path} has changed since row group {number} of it was read; "
                f"{REMEDY}"
            )

    def batches(self, number: int, *, stamped: bool) -> Iterator[PlacedBatch]:
        """Those of a row group, of which a stamp costs a checksum."""
        stamp = self._stamp_of_group(number) if stamped else ""
        place = [self._path.name, number, stamp, self._earlier]
        before = 0
        for batch in self._read(number):
            yield PlacedBatch(place, before, batch)
            before += batch.num_rows

    def _read(self, number: int) -> Iterator[pyarrow.RecordBatch]:
        try:
            yield from self._file.iter_batches(BATCH_ROWS, row_groups=[number])
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{self._path}, row group {number}: {error}") from error

    def _stamp_of_group(self, number: int) -> str:
        """That of the file, with its bytes here: other rows may have the same metadata."""
        group = self._file.metadata.row_group(number)
        columns = [group.column(index) for index in range(group.num_columns)]
        starts = [each.dictionary_page_offset or each.data_page_offset for each in columns]
        stops = [
            start + each.total_compressed_size for start, each in zip(starts, columns, strict=True)
        ]
        first, left = min(starts, default=0), max(stops, default=0) - min(starts, default=0)
        checksum = 0
        with self._path.open("rb", buffering=0) as file:
            file.seek(first)
            while left > 0 and (chunk := file.read(min(left, CHUNK))):
                checksum = crc32(chunk, checksum)
                left -= len(chunk)
        return f"{self._stamp}-{checksum:x}"


def stamp_of(file: BinaryIO) -> str:
    """What tells a file from others: its size, and a checksum of its metadata, at its end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TAIL, 0))
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(size - TAIL - length, 0))
    checksum = crc32(file.read(min(length + TAIL, size)))
    file.seek(0)
    return f"{size:x}-{checksum:x}"


def chained(earlier: str, path: Path, stamp: str) -> str:
    """What stands for a file and for all before it."""
    return f"{crc32(f'{earlier} {path.name} {stamp}'.encode()):x}"


def earlier_of(paths: list[Path]) -> str:
    """What stands for these files."""
    earlier = NOTHING_EARLIER
    for path in paths:
        with path.open("rb") as file:
            earlier = chained(earlier, path, stamp_of(file))
    return earlier
