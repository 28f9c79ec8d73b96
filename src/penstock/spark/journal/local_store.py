"""A journal in a local folder: files that grow, a sync before anything counts, a lock.

All of it is for its owner alone; see ``own_files.py``.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.spark.journal.errors import JournalInUse
from penstock.spark.journal.private_files import make_private_folder, open_private, open_to_read
from penstock.spark.journal.store import SegmentFile, StoredFile

__all__ = ["LocalStore"]

LOCK: Final = "lock"
TEMPORARY: Final = ".new"

# The size is part of what it syncs; not every system has it.
sync_content = getattr(os, "fdatasync", os.fsync)


class LocalStore:
    """Files in a local folder."""

    one_record_each = False

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._lock: int | None = None
        self._overwritten: dict[str, int] = {}

    def describe(self, name: str = "") -> str:
        return str(self._folder / name)

    def files(self) -> list[StoredFile]:
        found = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                try:
                    size = entry.stat(follow_symlinks=False).st_size
                    found.append(StoredFile(entry.name, size))
                except FileNotFoundError:  # deleted meanwhile by the writer
                    continue
        return found

    def read(self, name: str) -> pa.Buffer:
        descriptor = open_to_read(self._folder / name)
        try:
            if not os.fstat(descriptor).st_size:
                return pa.py_buffer(b"")
            return pa.py_buffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        finally:
            os.close(descriptor)  # what is mapped stays

    def head(self, name: str, size: int) -> bytes:
        with os.fdopen(open_to_read(self._folder / name), "rb", buffering=0) as file:
            return file.read(size) or b""

    def write(self, name: str, content: bytes) -> None:
        temporary = self._folder / (name + TEMPORARY)
        temporary.unlink(missing_ok=True)  # what a crash has left, or somebody else has put there
        with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._folder / name)
        self._sync_folder()

    def overwrite(self, name: str, content: bytes, *, durable: bool) -> None:
        # In place: this works on a full disk, and takes a microsecond.
        if name not in self._overwritten:
            self._overwritten[name] = open_private(self._folder / name, os.O_WRONLY)
        os.pwrite(self._overwritten[name], content, 0)
        if durable:
            os.fsync(self._overwritten[name])

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def truncate(self, name: str, size: int) -> None:
        with os.fdopen(open_private(self._folder / name, os.O_RDWR), "r+b") as file:
            if file.seek(0, os.SEEK_END) > size:
                file.truncate(size)
            os.fsync(file.fileno())

    def new_segment(self, name: str) -> SegmentFile:
        segment = LocalSegment(self._folder / name, 0)
        try:
            self._sync_folder()
        except BaseException:
            segment.close()
            raise
        return segment

    def continue_segment(self, name: str, size: int) -> SegmentFile:
        return LocalSegment(self._folder / name, size)

    def claim(self) -> None:
        make_private_folder(self._folder, marks=(LOCK,))
        # Nobody but the owner can open it, and so nobody else can hold it.
        lock = open_private(self._folder / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 20, 0).decode(errors="replace") or "unknown"
            os.close(lock)
            raise JournalInUse(
                f"the journal {self._folder} already has a writer, the process {owner};"
                " stop that one, or use another place"
            ) from None
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        with suppress(OSError):  # for the message above; a full disk is no reason to stop here
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)

    def check_claim(self) -> None:
        pass  # the lock is ours until we let it go

    def release(self) -> None:
        for descriptor in self._overwritten.values():
            os.close(descriptor)
        self._overwritten.clear()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _sync_folder(self) -> None:
        # A new name in a folder is durable only when the folder is.
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LocalSegment:
    """A file to which records are appended."""

    def __init__(self, path: Path, size: int) -> None:
        self._descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._size = size
        """Without the last record, which may be taken back."""
        self._last = 0
        self._has_remains = False

    def append(self, parts: list[Any]) -> None:
        if self._has_remains:
            self.take_back()
        self._size, self._last = self._size + self._last, 0
        self._has_remains = True
        try:
            written = self._write(parts)
            sync_content(self._descriptor)
        except BaseException:
            # After a sync that failed the system may take its pages for written: write them again.
            self.take_back()
            raise
        self._has_remains = False
        self._last = written

    def take_back(self) -> None:
        self._has_remains = True  # until they are gone
        self._last = 0
        os.ftruncate(self._descriptor, self._size)
        self._has_remains = False

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, parts: list[Any]) -> int:
        rest = [memoryview(part).cast("B") for part in parts]
        total = sum(map(len, rest))
        while rest:
            written = os.writev(self._descriptor, rest)
            while rest and written >= len(rest[0]):
                written -= len(rest.pop(0))
            if written:
                rest[0] = rest[0][written:]
        return total
