"""Parquet files as sources."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow.parquet import ParquetFile

from penstock.connectors.parquet.files import CONNECTOR, ParquetRows, files_in
from penstock.connectors.shared.row_files import from_rows
from penstock.flow import Flow
from penstock.runtime.arguments import PathGiven, require_file, require_flag, require_folder_path

__all__ = ["read_parquet"]


def read_parquet(path: PathGiven, *, batches: bool = False) -> Flow[Any]:
    """The rows of a Parquet file as dictionaries, or its ``pyarrow.RecordBatch`` as they are.

    A folder gives the rows of all its files, those whose names end with ``.parquet`` and do not
    begin with ``.`` or ``_``, in the order of their names: that of the rows if ``write_parquet``
    wrote them. Which files there are is seen when the first row is wanted.

    One row group is read at a time. The files are read again for each subscriber.

    A pipeline goes on after a restart with the next row, and reads files that have come meanwhile,
    if their names come after those that were read. A file that is gone or is another one, by its
    size, its metadata, or the content of the row group that was under way, is refused.

    Emits when: a row is wanted and one is left.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the last file ends.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact. One batch is held at a time. The end is seen with the request after the last
    element.

    Replay: position, the file, the row group and the row; a single file also from_start, where an
    operator needs that.

    Errors: ``ValueError`` with the file and the row group that cannot be read, or with the file
    that is not what it was when a pipeline goes on. At once: ``FileNotFoundError``, ``ValueError``
    for what is no Parquet file, and for a folder with folders in it.

    Example:
        >>> from penstock.connectors import read_parquet
        >>> flights = read_parquet("flights.parquet")  # doctest: +SKIP
        >>> flights.filter(lambda row: row["delay"] > 60).count().run_sync()  # doctest: +SKIP
        27789
    """
    as_batches = require_flag(CONNECTOR, "batches", batches)
    if is_folder(path):
        folder = require_folder_path(CONNECTOR, path)
        files_in(folder)  # refuses at once
        return from_rows(CONNECTOR, ParquetRows(folder), batches=as_batches)
    file = require_file(CONNECTOR, path)
    try:
        ParquetFile(file).close()
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{CONNECTOR}: {file} is no Parquet file: {error}") from None
    return from_rows(CONNECTOR, ParquetRows(file), batches=as_batches, repeats=True)


def is_folder(path: Any) -> bool:
    """Whether there is a folder; what is no path is for others to refuse."""
    return isinstance(path, str | PathLike) and Path(path).is_dir()
