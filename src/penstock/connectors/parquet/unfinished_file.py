"""A file of Parquet that appears when it is complete, and how its columns are stored."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow
from pyarrow.compute import count_distinct
from pyarrow.parquet import ParquetWriter
from pyarrow.types import is_nested

from penstock.connectors.shared import durable_files
from penstock.connectors.shared.full_disk import naming_file

__all__ = ["CONNECTOR", "MARK", "TELLING_ROWS", "UNFINISHED", "UnfinishedFile", "repeating_columns"]

CONNECTOR: Final = "write_parquet"
UNFINISHED: Final = f".unfinished.parquet{durable_files.TEMPORARY}"
MARK: Final = "penstock.mark"
TELLING_ROWS: Final = 1_000
"""From so many rows on, it is seen whether values come again."""


class UnfinishedFile:
    """A file that readers do not see yet.

    ``repeating``  columns that get a dictionary; if ``None``, all of them
    """

    def __init__(self, folder: Path, schema: pyarrow.Schema, repeating: list[str] | None) -> None:
        self._path = folder / UNFINISHED
        with naming_file(CONNECTOR, self._path):
            self._file: BinaryIO = self._path.open("wb")
            try:
                self._writer = ParquetWriter(
                    self._file, schema, use_dictionary=True if repeating is None else repeating
                )
            except BaseException:
                self._remove()
                raise
        self.rows = 0

    @property
    def bytes(self) -> int:
        """What is written so far."""
        return self._file.tell()

    def write(self, table: pyarrow.Table) -> None:
        """Add a row group."""
        with naming_file(CONNECTOR, self._path):
            self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self.rows += table.num_rows

    def finish(self, path: Path, mark: str | None) -> None:
        """Let it appear, when the disk has it."""
        try:
            with naming_file(CONNECTOR, self._path):
                if mark is not None:
                    self._writer.add_key_value_metadata({MARK: mark})
                self._writer.close()
                self._file.flush()
                durable_files.sync_file(self._file.fileno())
        except BaseException:
            self.give_up()
            raise
        self._file.close()
        durable_files.replace_file(self._path, path)
        durable_files.sync_folder(path.parent)

    def give_up(self) -> None:
        """Remove it."""
        try:
            self._writer.close()
        except (OSError, pyarrow.ArrowException):  # a full disk, when its end is written
            pass
        finally:
            self._remove()

    def _remove(self) -> None:
        with suppress(OSError):  # a full disk, for what was buffered
            self._file.close()
        self._path.unlink(missing_ok=True)


def repeating_columns(table: pyarrow.Table) -> list[str] | None:
    """Those whose values come twice on average; ``None`` for all.

    A dictionary of values that come once makes a file larger, and takes as long as all the rest.
    """
    if any(is_nested(kind) for kind in table.schema.types):  # whose dictionaries go by other names
        return None
    return [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if repeats(column)
    ]


def repeats(column: pyarrow.ChunkedArray) -> bool:
    """Whether values come twice on average, or nobody can tell."""
    try:
        distinct = count_distinct(column).as_py()
    except pyarrow.ArrowNotImplementedError:  # for some types
        return True
    return bool(distinct * 2 <= len(column))
