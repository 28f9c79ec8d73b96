"""Parquet files as sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow
from pyarrow.parquet import ParquetFile

from penstock.connectors.files.from_file import from_file
from penstock.flow import Flow
from penstock.runtime.arguments import PathGiven, require_file, require_flag

__all__ = ["read_parquet"]

NAME: Final = "read_parquet"


def read_parquet(path: PathGiven, *, batches: bool = False) -> Flow[Any]:
    """The rows of a Parquet file as dictionaries, or its ``pyarrow.RecordBatch`` as they are.

    One row group is read at a time. The file is read again for each subscriber.

    Emits when: a row is wanted and one is left.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the file ends.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact. One batch is held at a time. The end is seen with the request after the last
    element.

    Replay: from_start.

    Errors: ``ValueError`` with the file and the row group that cannot be read. At once:
    ``FileNotFoundError``, ``IsADirectoryError``, ``ValueError`` for what is no Parquet file.

    Example:
        >>> from penstock.connectors import read_parquet
        >>> flights = read_parquet("flights.parquet")  # doctest: +SKIP
        >>> flights.filter(lambda row: row["delay"] > 60).count().run_sync()  # doctest: +SKIP
        27789
    """
    file = require_file(NAME, path)
    try:
        ParquetFile(file).close()
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{NAME}: {file} is no Parquet file: {error}") from None
    rows = RowGroups(file, batches=require_flag(NAME, "batches", batches))
    return from_file(NAME, rows)


class RowGroups:
    """The rows of a file, or its batches."""

    def __init__(self, path: Path, *, batches: bool) -> None:
        self._path = path
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        with ParquetFile(self._path) as file:
            for number in range(file.num_row_groups):
                for batch in self._batches_of(file, number):
                    if self._batches:
                        yield batch
                    else:
                        yield from batch.to_pylist()

    def _batches_of(self, file: ParquetFile, number: int) -> Iterator[Any]:
        try:
            yield from file.iter_batches(row_groups=[number])
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{self._path}, row group {number}: {error}") from error
