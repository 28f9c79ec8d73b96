"""Where a sink begins in its file: decided by looking at what is there, without touching it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from penstock.connectors.arguments import PathGiven, require_path
from penstock.connectors.delivery_record import DeliveryRecord, record_of
from penstock.connectors.existing import (
    IfExists,
    has_planned,
    require_choice_if_exists,
    require_parent,
    require_writable,
)
from penstock.delivery import DeliveryRefused, Epoch

__all__ = ["FilePlace", "FileStart", "file_place"]


@dataclass(frozen=True)
class FileStart:
    """How a file is opened.

    ``length``      the bytes that stay; what follows them is cut off
    ``record``      that beside it, which it goes on from; ``None`` if there is none yet
    ``is_regular``  whether it can be cut at all, as a pipe cannot
    ``words``       what happens, for ``penstock check``
    """

    length: int
    words: str
    record: DeliveryRecord | None = None
    is_regular: bool = True


@dataclass(frozen=True)
class FilePlace:
    """A file that is to be written, for a connector; ``if_exists`` is what the user has said."""

    connector: str
    path: Path
    if_exists: IfExists

    def start(self, epoch: Epoch | None) -> FileStart:
        """Where to begin; raises if that would destroy something or break a promise."""
        kind = kind_of(self.path)
        if kind is not None and not stat.S_ISREG(kind):
            return self._not_regular(epoch)
        if kind is not None:
            require_writable(self.connector, self.path)
        if kind is None or epoch is not None:  # else no file is made, not even a record
            require_writable(self.connector, self.path.parent)
        if epoch is None:
            return self._without_checkpoint()
        size = size_of(self.path)
        if self.if_exists == "overwrite" and not has_planned(epoch):
            return FileStart(
                0, f"replaces the {size:,} bytes of {self.path}" if size else self._new
            )
        record = DeliveryRecord.read(self.path)
        if record is None:
            return self._without_record(epoch, size)
        epoch.last_batch(record.mark, str(self.path))
        record.require_in(self.path)
        words = f"goes on in {self.path} after {record.length:,} bytes"
        if size > record.length:
            words += f", and cuts off {size - record.length:,} that were not committed"
        return FileStart(record.length, words, record)

    @property
    def _new(self) -> str:
        return f"makes {self.path}"

    def _without_checkpoint(self) -> FileStart:
        size = size_of(self.path)
        if not size:
            return FileStart(0, self._new)
        if self.if_exists == "overwrite":
            return FileStart(0, f"replaces the {size:,} bytes of {self.path}")
        if self.if_exists == "refuse":
            raise self._exists(size, "")
        if record_of(self.path).exists():
            raise DeliveryRefused(
                f"{self.connector}: {self.path} belongs to a pipeline with a checkpoint, says "
                f"{record_of(self.path).name}, and that would cut off what is appended here; "
                "append to another file, or delete the record"
            )
        return self._appended(size)

    def _without_record(self, epoch: Epoch, size: int) -> FileStart:
        if not size:
            return FileStart(0, self._new)
        missing = f", and no {record_of(self.path).name} beside it says where to go on"
        if has_planned(epoch):
            raise DeliveryRefused(
                f"{self.connector}: {self.path} has {size:,} bytes{missing}, although the "
                "checkpoint has had batches; restore the record, or give the pipeline another file"
            )
        if self.if_exists == "refuse":
            raise self._exists(size, missing)
        return self._appended(size)

    def _exists(self, size: int, missing: str) -> FileExistsError:
        return FileExistsError(
            f"{self.connector}: {self.path} is there and has {size:,} bytes{missing}; "
            "overwrite=True replaces them, append=True writes after them"
        )

    def _appended(self, size: int) -> FileStart:
        with self.path.open("rb") as file:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                raise DeliveryRefused(
                    f"{self.connector}: the last line of {self.path} is not complete, so nothing "
                    "can be appended; complete it or cut it off"
                )
        return FileStart(size, f"goes on in {self.path} after {size:,} bytes")

    def _not_regular(self, epoch: Epoch | None) -> FileStart:
        if epoch is not None:
            raise DeliveryRefused(
                f"{self.connector}: {self.path} is no regular file, so nothing can be taken back "
                "that was not committed; give a pipeline with a checkpoint a regular one"
            )
        return FileStart(0, f"writes to {self.path}, which is no regular file", is_regular=False)


def file_place(connector: str, path: PathGiven, *, append: bool, overwrite: bool) -> FilePlace:
    """The place of a file, whose folder must be there now; the file itself is looked at later."""
    file = require_path(connector, path)
    require_parent(connector, file)
    return FilePlace(
        connector, file, require_choice_if_exists(connector, append=append, overwrite=overwrite)
    )


def kind_of(path: Path) -> int | None:
    """What stands at a path, as ``stat`` has it; ``None`` if nothing does."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def size_of(path: Path) -> int:
    """The bytes of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
