"""Where a sink begins in its file: decided by what is there, without touching it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from penstock.connectors.files.delivery_record import (
    NEVER,
    DeliveryRecord,
    RotationRecord,
    record_of,
)
from penstock.connectors.files.rotation import (
    Rotation,
    last_number,
    numbered,
    numbered_files,
    require_rotation,
)
from penstock.connectors.shared.durable_files import (
    IfExists,
    has_planned,
    require_choice_if_exists,
    require_parent,
    require_writable,
)
from penstock.delivery import DeliveryRefused, Epoch
from penstock.runtime.arguments import PathGiven, require_path

__all__ = ["FileStart", "SinkFile", "sink_file"]


@dataclass(frozen=True)
class FileStart:
    """How a file is opened.

    ``length``      the bytes that stay; what follows them is cut off
    ``record``      that beside it, which it goes on from; ``None`` if there is none yet
    ``rotated``     what became of it before
    ``is_moved``    whether it was just rotated, and the record does not say so yet
    ``replaced``    earlier parts of it, which are deleted
    ``is_regular``  whether it can be cut at all, as a pipe cannot
    ``words``       what happens, for ``penstock check``
    """

    length: int
    words: str
    record: DeliveryRecord | None = None
    rotated: RotationRecord = NEVER
    is_moved: bool = False
    replaced: tuple[Path, ...] = ()
    is_regular: bool = True


@dataclass(frozen=True)
class SinkFile:
    """A file that is to be written, for a connector.

    ``if_exists``  what the user has said of one that is there
    ``rotation``   when it is rotated, if it is
    """

    connector: str
    path: Path
    if_exists: IfExists
    rotation: Rotation | None = None

    def start(self, epoch: Epoch | None, head: bytes = b"") -> FileStart:
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
        if self.if_exists == "overwrite" and not has_planned(epoch):
            return self._replaced()
        record = DeliveryRecord.read(self.path)
        if record is None:
            return self._without_record(epoch)
        epoch.last_batch(record.mark, str(self.path))
        return self._with_record(record, head)

    def _with_record(self, record: DeliveryRecord, head: bytes) -> FileStart:
        number = record.rotated.number
        if record.is_next_of(self.path) and is_beginning(self.path, head):
            words = f"goes on in {self.path} after {numbered(self.path, number + 1)}"
            return FileStart(
                0, words, record, RotationRecord(number + 1, record.part), is_moved=True
            )
        for found, path in self._parts.items():
            if found > number:
                raise DeliveryRefused(
                    f"{self.connector}: {path} is there, and this pipeline has rotated "
                    f"{self.path} up to number {number:,} only: it is somebody else's; move it "
                    "away, or give the pipeline another file"
                )
        record.require_in(self.path)
        record.require_last_rotated(self.path)
        words = f"goes on in {self.path} after {record.length:,} bytes"
        size = size_of(self.path)
        if size > record.length:
            words += f", and cuts off {size - record.length:,} that were not committed"
        return FileStart(record.length, words, record, record.rotated)

    @property
    def _new(self) -> str:
        return f"makes {self.path}"

    @property
    def _parts(self) -> dict[int, Path]:
        """Files that seem to be earlier parts of this one, if it is to be rotated."""
        return {} if self.rotation is None else numbered_files(self.path)

    @property
    def _used(self) -> RotationRecord:
        """Numbers that are taken already, where there is no record of it."""
        return NEVER if self.rotation is None else RotationRecord(last_number(self.path))

    def _replaced(self) -> FileStart:
        size, parts = size_of(self.path), self._parts
        words = f"replaces the {size:,} bytes of {self.path}" if size else self._new
        if not parts:
            return FileStart(0, words, rotated=self._used)
        record = DeliveryRecord.read(self.path)
        ours = 0 if record is None else record.rotated.number
        if max(parts) > ours:
            raise FileExistsError(
                f"{self.connector}: {parts[max(parts)]} is there, and no "
                f"{record_of(self.path).name} says that {self.path} was rotated to it, so "
                "overwrite=True does not delete it; move it away, or give another file"
            )
        words += f", and deletes {len(parts):,} to which it was rotated"
        replaced = tuple(parts.values())
        kept = RotationRecord(last_number(self.path, without=replaced))
        return FileStart(0, words, rotated=kept, replaced=replaced)

    def _without_checkpoint(self) -> FileStart:
        size = size_of(self.path)
        if not size and not self._parts:
            return FileStart(0, self._new, rotated=self._used)
        if self.if_exists == "overwrite":
            return self._replaced()
        if self.if_exists == "refuse":
            raise self._exists(size, "")
        if record_of(self.path).exists():
            raise DeliveryRefused(
                f"{self.connector}: {self.path} belongs to a pipeline with a checkpoint, says "
                f"{record_of(self.path).name}, and that would cut off what is appended here; "
                "append to another file, or delete the record"
            )
        return self._appended(size)

    def _without_record(self, epoch: Epoch) -> FileStart:
        size, parts = size_of(self.path), self._parts
        if not size and not parts:
            epoch.last_batch(None, str(self.path))
            return FileStart(0, self._new, rotated=self._used)
        missing = f", and no {record_of(self.path).name} beside it says where to go on"
        if has_planned(epoch):
            what = f"{self.path} has {size:,} bytes" if size else f"{parts[max(parts)]} is there"
            raise DeliveryRefused(
                f"{self.connector}: {what}{missing}, although the "
                "checkpoint has had batches; restore the record, or give the pipeline another file"
            )
        if self.if_exists == "refuse":
            raise self._exists(size, missing)
        return self._appended(size)

    def _exists(self, size: int, missing: str) -> FileExistsError:
        if parts := self._parts:
            return FileExistsError(
                f"{self.connector}: {parts[max(parts)]} is there, to which {self.path} would be "
                f"rotated{missing}; append=True goes on after it"
            )
        return FileExistsError(
            f"{self.connector}: {self.path} is there and has {size:,} bytes{missing}; "
            "overwrite=True replaces them, append=True writes after them"
        )

    def _appended(self, size: int) -> FileStart:
        if not size:
            return FileStart(0, self._new, rotated=self._used)
        with self.path.open("rb") as file:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                raise DeliveryRefused(
                    f"{self.connector}: the last line of {self.path} is not complete, so nothing "
                    "can be appended; complete it or cut it off"
                )
        words = f"goes on in {self.path} after {size:,} bytes"
        return FileStart(size, words, rotated=self._used)

    def _not_regular(self, epoch: Epoch | None) -> FileStart:
        if self.rotation is not None:
            raise DeliveryRefused(
                f"{self.connector}: {self.path} is no regular file, and cannot be rotated; leave "
                "out rotate_bytes and rotate_every"
            )
        if epoch is not None:
            raise DeliveryRefused(
                f"{self.connector}: {self.path} is no regular file, so nothing can be taken back "
                "that was not committed; give a pipeline with a checkpoint a regular one"
            )
        return FileStart(0, f"writes to {self.path}, which is no regular file", is_regular=False)


def sink_file(
    connector: str,
    path: PathGiven,
    *,
    append: bool,
    overwrite: bool,
    rotate_bytes: int | None,
    rotate_every: float | timedelta | None,
) -> SinkFile:
    """The place of a file, whose folder must be there now; the file itself is checked later."""
    file = require_path(connector, path)
    require_parent(connector, file)
    if_exists = require_choice_if_exists(connector, append=append, overwrite=overwrite)
    return SinkFile(
        connector, file, if_exists, require_rotation(connector, rotate_bytes, rotate_every)
    )


def is_beginning(path: Path, head: bytes) -> bool:
    """Whether a file is not there, or has nothing but the beginning of ``head``."""
    return size_of(path) <= len(head) and (not path.exists() or head.startswith(path.read_bytes()))


def kind_of(path: Path) -> int | None:
    """What is at a path, as ``stat`` has it; ``None`` if nothing is."""
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
