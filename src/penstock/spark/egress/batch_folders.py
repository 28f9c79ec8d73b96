"""``write_with_spark``: files that Spark writes, one folder for each batch, each row once.

    batch_id=0/        the rows of the first batch, as Spark writes them
    batch_id=1/        those of the next one
    _penstock_mark     the last batch that is whole, and the run that wrote it

A folder is written before its mark. So a crash leaves at most one folder that is not whole, and the
same batch comes again to overwrite it; nothing else is ever overwritten. Readers of such folders
take ``batch_id`` for a column, and files that begin with ``_`` for none of theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pyarrow import ArrowInvalid
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem

from penstock.delivery import DataFrameSink, DeliveryRefused, Epoch, Level
from penstock.runtime import shorten
from penstock.runtime.arguments import require_text
from penstock.spark.failures import SparkFailed
from penstock.spark.journal.store import open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["write_with_spark"]

FORMATS: Final = ("parquet", "orc", "json", "csv")
MARK: Final = "_penstock_mark"
COLUMN: Final = "batch_id"
NOTHING: Final = -1


def write_with_spark(
    format: str,  # noqa: A002 - Spark's name
    *,
    path: str | Path,
    partition_by: Iterable[str] = (),
    **options: object,
) -> DataFrameSink:
    """A sink of a ``Pipeline``: files that Spark writes, with a folder for each batch.

    ``format`` is parquet, orc, json or csv, ``path`` a folder or a URI that both Spark and
    ``pyarrow.fs`` know, and ``options`` are those of Spark's writer. The folder holds each row
    once, whatever is killed; one that something else has written is refused.
    """
    if format not in FORMATS:
        raise ValueError(
            f"write_with_spark writes {', '.join(FORMATS)}, not {shorten(format)}; for anything "
            "else, write for_each_batch(lambda dataframe, batch_id: dataframe.write...)"
        )
    place = require_text("write_with_spark", "path", str(path))
    if urlsplit(place).scheme == "":
        place = str(Path(place).absolute())
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    return BatchFolders(
        format, place, columns, {name: str(value) for name, value in options.items()}
    )


@dataclass(frozen=True)
class BatchFolders(DataFrameSink):
    """A folder of folders; ``epoch`` is that of the run, as soon as there is one."""

    format: str
    path: str
    partition_by: tuple[str, ...]
    options: Mapping[str, str]
    epoch: Epoch = field(default_factory=Epoch.begun)
    level: Level = field(default="exactly once", init=False)
    marks_every_batch: bool = field(default=True, init=False)

    def in_epoch(self, epoch: Epoch) -> BatchFolders:
        """The same for one run."""
        return replace(self, epoch=epoch)

    def check(self, epoch: Epoch | None) -> str:
        """Refuse a folder that something else, or another life of the checkpoint, has written."""
        try:
            mark = self._last_mark()
            last = self._epoch_for(mark, epoch or self.epoch).last_batch(mark, self._name)
        except (OSError, ArrowInvalid) as error:
            raise SparkFailed(f"{self._name} cannot be read: {error}") from error
        return f"{self.path} is new" if last == NOTHING else f"{self.path} has batches up to {last}"

    def take(self, dataframe: DataFrame, batch_id: int) -> None:
        """Write the folder of a batch, unless it is there and whole."""
        if COLUMN in dataframe.columns:
            raise SparkFailed(
                f"{self._name} names its folders by {COLUMN}, and the rows have a column of that "
                "name; give it another one"
            )
        try:
            mark = self._last_mark()
            if self._epoch_for(mark, self.epoch).has(mark, batch_id, self._name):
                return
            if mark is None:
                self._remember(NOTHING)  # from here on, what is not whole is known to be ours
            writer = dataframe.write.format(self.format).mode("overwrite").options(**self.options)
            if self.partition_by:
                writer = writer.partitionBy(*self.partition_by)
            writer.save(f"{self.path}/{COLUMN}={batch_id}")
            sync(f"{self.path}/{COLUMN}={batch_id}")
            self._remember(batch_id)
        except OSError as error:
            raise SparkFailed(f"{self._name} cannot be written: {error}") from error

    def _epoch_for(self, mark: str | None, epoch: Epoch) -> Epoch:
        """A folder without batches is new, or others have taken them: it has lost none."""
        every = epoch.for_sink(NOTHING)
        return every if every.last_batch(mark, self._name) == NOTHING else epoch

    @property
    def _name(self) -> str:
        return f"the folder {self.path}"

    def _last_mark(self) -> str | None:
        files, root = file_system_of(self.path)
        selector = FileSelector(root, allow_not_found=True)
        entries = {info.base_name for info in files.get_file_info(selector)}
        others = {entry for entry in entries if not entry.startswith(MARK)}
        if not others:
            return None
        if MARK not in entries:
            raise DeliveryRefused(
                f"{self._name} is not empty, and penstock has not written what is there, such as "
                f"{min(others)}; name another folder"
            )
        return bytes(open_store(self.path).read(MARK)).decode(errors="replace")

    def _remember(self, batch_id: int) -> None:
        files, root = file_system_of(self.path)
        files.create_dir(root, recursive=True)
        open_store(self.path).write(MARK, self.epoch.mark(batch_id).encode())


def file_system_of(path: str) -> tuple[FileSystem, str]:
    """Where a path leads."""
    if "://" not in path:
        return LocalFileSystem(), path
    found: tuple[FileSystem, str] = FileSystem.from_uri(path)
    return found


def sync(path: str) -> None:
    """Let what Spark has written reach the disk, before a mark says that it is there."""
    files, root = file_system_of(path)
    if not isinstance(files, LocalFileSystem):
        return  # an object is there when it is written
    for folder, _, names in os.walk(root):
        for each in (*names, ""):
            descriptor = os.open(Path(folder, each), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
