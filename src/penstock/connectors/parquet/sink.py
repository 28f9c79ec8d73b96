"""A folder of Parquet files as a sink that has each row once, over kills and restarts.

Each batch is a file, ``batch-0000000012.parquet``, which has its mark among its own metadata. It is
written under another name, which readers pass over, and gets its own in one step: so rows and mark
appear together, and no half file is ever seen. Without batches there are files of a size.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow
from pyarrow.parquet import ParquetFile

from penstock.connectors.parquet.unfinished_file import (
    CONNECTOR,
    MARK,
    TELLING_ROWS,
    UNFINISHED,
    UnfinishedFile,
    repeating_columns,
)
from penstock.connectors.shared import durable_files
from penstock.connectors.shared.arrow_rows import (
    GROUP_ROWS,
    GatheringSink,
    RowGroup,
    storing_those_before,
)
from penstock.connectors.shared.durable_files import (
    IfExists,
    has_planned,
    require_choice_if_exists,
    require_parent,
    require_writable,
)
from penstock.connectors.shared.full_disk import naming_file
from penstock.connectors.shared.writer import Writer
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, Level
from penstock.delivery.epoch import NOTHING_PLANNED
from penstock.runtime import shorten
from penstock.runtime.arguments import PathGiven, require_folder_path, require_int

__all__ = [
    "ParquetFolder",
    "write_parquet",
]

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

    Columns whose values come again get a dictionary, as the first file of a run shows; those of
    numbers that are all different are smaller without.

    Demand: 16 to 1,024 elements at a time. Up to 65,536 rows are gathered for a row group.

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


OURS: Final = re.compile(r"(batch|part)-([0-9]{10,})\.parquet")


@dataclass(frozen=True)
class FolderContent:
    """What a folder holds: our files by number, and the names of those that others see besides."""

    batches: dict[int, Path]
    parts: dict[int, Path]
    others: list[str]

    @property
    def is_empty(self) -> bool:
        """Whether readers see no file there."""
        return not (self.batches or self.parts or self.others)

    @property
    def ours(self) -> list[Path]:
        """All files that a sink like this has written."""
        return [*self.batches.values(), *self.parts.values()]


class ParquetFolder(GatheringSink):
    """Writes rows into files of a folder."""

    level: Level = "exactly once"

    def __init__(
        self,
        folder: Path,
        schema: pyarrow.Schema | None,
        if_exists: IfExists,
        *,
        file_rows: int,
        file_bytes: int,
    ) -> None:
        self._folder = folder
        self._schema = schema
        self._if_exists = if_exists
        self._file_rows = file_rows
        self._file_bytes = file_bytes
        self._lock: int | None = None
        self._group = RowGroup(CONNECTOR, schema)
        self._file: UnfinishedFile | None = None
        self._repeating: list[str] | None = None
        self._next_part = 0
        self._progress = BatchProgress(str(folder))

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error."""
        return self._start(epoch).words

    def open(self, epoch: Epoch | None) -> None:
        """Make and lock the folder, and remove what a crash has left unfinished."""
        self._start(epoch)  # refuses before a folder is made
        with naming_file(CONNECTOR, self._folder):
            self._folder.mkdir(exist_ok=True)
        self._lock = os.open(self._folder, os.O_RDONLY)
        try:
            durable_files.lock_file(self._lock, f"{CONNECTOR}: {self._folder}")
            start = self._start(epoch)  # again: now no other sink changes it
            known = epoch
            if epoch is not None and start.is_empty:
                known = epoch.for_sink(NOTHING_PLANNED)  # others may have taken the files
            self._progress = BatchProgress(str(self._folder), known, start.mark)
            for path in (*start.removed, self._folder / UNFINISHED):
                path.unlink(missing_ok=True)
        except BaseException:
            self._leave()
            raise
        self._group = RowGroup(CONNECTOR, self._schema or start.schema)
        self._group.look_after(self._file_rows)
        self._next_part = start.next_part

    def begin(self, batch: int) -> bool:
        """Discard what was received of the batch earlier."""
        self._give_up()
        self._group.look_after(GROUP_ROWS)
        return self._progress.begin(batch)

    def commit(self, batch: int) -> None:
        """Let the file of the batch appear; one without rows has none."""
        self._write_group()
        self._finish(f"batch-{batch:010}.parquet", self._progress.mark(batch))
        self._progress.committed(batch)

    def close(self) -> None:
        """Give up what was not committed; without batches, let the last file appear."""
        if self._lock is None:
            return
        try:
            if self._progress.in_batch:
                self._give_up()
            else:
                storing_those_before(self._finish_part)
        finally:
            self._leave()

    def _start(self, epoch: Epoch | None) -> FolderStart:
        """Where to begin; raises if that would destroy something or break a promise."""
        here = self._folder.is_dir()
        require_writable(CONNECTOR, self._folder if here else self._folder.parent)
        content = content_of(self._folder)
        next_part = max(content.parts, default=-1) + 1
        if content.is_empty:
            words = f"writes into {self._folder}" if here else f"makes {self._folder}"
            return FolderStart(words, is_empty=True)
        if self._if_exists == "overwrite" and (epoch is None or not has_planned(epoch)):
            return self._replaced(content)
        if epoch is not None and content.batches:
            last = content.batches[max(content.batches)]
            mark, schema = read_mark(last)
            number = epoch.last_batch(mark, str(self._folder))
            words = f"goes on in {self._folder} after batch {number:,}"
            return FolderStart(words, mark, schema, next_part)
        if self._if_exists != "append":
            raise FileExistsError(
                f"{CONNECTOR}: the folder {self._folder} is there and is not empty; overwrite=True "
                "replaces what write_parquet wrote there, append=True adds files"
            )
        return FolderStart(f"adds files to {self._folder}", next_part=next_part)

    def _replaced(self, content: FolderContent) -> FolderStart:
        if content.others:
            raise FileExistsError(
                f"{CONNECTOR}: the folder {self._folder} holds {content.others[0]}, which "
                f"{CONNECTOR} has not written and does not delete; give another folder"
            )
        words = f"replaces {len(content.ours):,} files in {self._folder}"
        return FolderStart(words, removed=tuple(content.ours))

    def _look(self) -> None:
        """Write a row group that is full, and finish a file that is long enough.

        Row by row that would cost as much as the rows themselves.
        """
        if self._group.is_full:
            self._write_group()
        if self._progress.in_batch:
            return
        if self._rows >= self._file_rows or self._bytes >= self._file_bytes:
            self._finish_part()
        self._group.look_after(self._file_rows - self._rows)

    @property
    def _rows(self) -> int:
        return len(self._group) + (0 if self._file is None else self._file.rows)

    @property
    def _bytes(self) -> int:
        return 0 if self._file is None else self._file.bytes

    def _write_group(self) -> None:
        if len(self._group):
            table = self._group.take()
            if self._file is None:
                if self._repeating is None and table.num_rows >= TELLING_ROWS:
                    self._repeating = repeating_columns(table)
                self._file = UnfinishedFile(self._folder, self._group.schema, self._repeating)
            try:
                self._file.write(table)
            except BaseException:  # it will have no end that readers know
                self._give_up()
                raise

    def _finish_part(self) -> None:
        self._write_group()
        if self._finish(f"part-{self._next_part:010}.parquet", None):
            self._next_part += 1

    def _finish(self, name: str, mark: str | None) -> bool:
        file, self._file = self._file, None
        if file is None:
            return False
        file.finish(self._folder / name, mark)
        return True

    def _give_up(self) -> None:
        self._group.clear()
        file, self._file = self._file, None
        if file is not None:
            file.give_up()

    def _leave(self) -> None:
        lock, self._lock = self._lock, None
        self._give_up()
        if lock is not None:
            os.close(lock)


@dataclass(frozen=True)
class FolderStart:
    """How writing goes on in a folder.

    ``words``      what happens, for ``penstock check``
    ``mark``       that of its last batch
    ``schema``     that of its last batch, too
    ``next_part``  the number of the next file without batches
    ``removed``    files that are replaced
    ``is_empty``   whether nothing is there
    """

    words: str
    mark: str | None = None
    schema: pyarrow.Schema | None = None
    next_part: int = 0
    removed: tuple[Path, ...] = ()
    is_empty: bool = False


def content_of(folder: Path) -> FolderContent:
    """What readers see in a folder: names that begin with ``.`` or ``_`` are passed over."""
    content = FolderContent({}, {}, [])
    for path in folder.iterdir() if folder.is_dir() else ():
        ours = OURS.fullmatch(path.name)
        if ours is not None:
            numbered = content.batches if ours[1] == "batch" else content.parts
            numbered[int(ours[2])] = path
        elif not path.name.startswith((".", "_")):
            content.others.append(path.name)
    return content


def read_mark(path: Path) -> tuple[str | None, pyarrow.Schema]:
    """The mark of a batch, and its schema."""
    try:
        with ParquetFile(path) as file:
            found = (file.metadata.metadata or {}).get(MARK.encode())
            schema = file.schema_arrow.remove_metadata()
    except (pyarrow.ArrowException, OSError) as error:
        raise DeliveryRefused(f"{path} is damaged: {error}; restore it from a backup") from None
    if found is None:
        raise DeliveryRefused(f"{path} has no mark of its batch: somebody else has written it")
    return found.decode(errors="replace"), schema
