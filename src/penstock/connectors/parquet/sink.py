"""Folders of Parquet files as sinks."""

from __future__ import annotations

from typing import Final

import pyarrow

from penstock.connectors.parquet.folder import ParquetFolder
from penstock.connectors.parquet.rows import CONNECTOR
from penstock.connectors.shared.durable_files import require_choice_if_exists, require_parent
from penstock.connectors.shared.writer import Writer
from penstock.runtime import shorten
from penstock.runtime.arguments import PathGiven, require_folder_path, require_int

__all__ = ["write_parquet"]

FILE_ROWS: Final = 1_000_000
FILE_BYTES: Final = 128 << 20


def write_parquet(
    folder: PathGiven,
    *,
    schema: pyarrow.Schema | None = None,
    append: bool = False,
    overwrite: bool = False,
    file_rows: int = FILE_ROWS,
    file_bytes: int = FILE_BYTES,
) -> Writer:
    """A subscriber that writes Parquet files into a folder.

    Elements are mappings, named tuples or dataclasses with the names of the columns, Arrow batches
    or tables, or, if there is a ``schema``, plain tuples. Without a ``schema`` that of the first
    rows is taken, and on a restart that of the last file.

    Each batch of Spark is a separate file, ``batch-0000000012.parquet``. Without Spark there are
    ``part-0000000000.parquet`` and so on, each with up to ``file_rows`` rows or about
    ``file_bytes`` bytes. A file appears when it is complete, so any reader can have the folder. One
    that is not empty is refused, unless ``append`` adds files or ``overwrite`` replaces those that
    this function wrote; a restart of a checkpoint needs neither, and goes on where it was.

    Demand: 16 elements at a time. Up to 65,536 rows are gathered for a row group.

    Delivery: exactly once, with a checkpoint. The file of a batch has its number within.

    Errors: ``ValueError`` for an element with other columns or types, ``FileExistsError``,
    ``DeliveryRefused`` if somebody else writes into the folder, and ``OSError`` of the disk, cancel
    the stream, go to the hook for undelivered errors, and stay in ``error``. At once:
    ``FileNotFoundError`` if there is no folder for the folder, ``NotADirectoryError``,
    ``ValueError`` for ``append`` and ``overwrite`` together.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import pyarrow.parquet
        >>> from penstock.connectors import write_parquet
        >>> with TemporaryDirectory() as place:
        ...     folder = Path(place, "flights")
        ...     Flow.of({"delay": 12}, {"delay": -3}).subscribe(writer := write_parquet(folder))
        ...     _ = writer.wait()
        ...     pyarrow.parquet.read_table(folder).to_pylist()
        [{'delay': 12}, {'delay': -3}]
    """
    path = require_folder_path(CONNECTOR, folder)
    require_parent(CONNECTOR, path)
    if not isinstance(schema, pyarrow.Schema | None):
        raise TypeError(f"{CONNECTOR}: schema must be a pyarrow.Schema, not {shorten(schema)}")
    return Writer(
        ParquetFolder(
            path,
            schema,
            require_choice_if_exists(CONNECTOR, append=append, overwrite=overwrite),
            file_rows=require_int(CONNECTOR, "file_rows", file_rows),
            file_bytes=require_int(CONNECTOR, "file_bytes", file_bytes),
        )
    )
