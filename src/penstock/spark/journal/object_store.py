"""A journal in a store whose files cannot grow: one object for each record.

An object is durable once it is there as a whole; one that is cut short, and the last one, counts as
never written. Nothing can be locked in such a store, so a writer that comes later takes over, and
the earlier one finds that out before it writes its next record.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from penstock.spark.journal.errors import JournalInUse
from penstock.spark.journal.store import SegmentFile, StoredFile

__all__ = ["ObjectStore"]

WRITER: Final = "writer"


class ObjectStore:
    """Files in any file system of Arrow."""

    one_record_each = True

    def __init__(self, file_system: fs.FileSystem, folder: str, description: str) -> None:
        self._file_system = file_system
        self._folder = folder.rstrip("/")
        self._description = description.rstrip("/")
        self._token = uuid.uuid4().hex.encode()

    def describe(self, name: str = "") -> str:
        return f"{self._description}/{name}" if name else self._description

    def files(self) -> list[StoredFile]:
        found = self._file_system.get_file_info(fs.FileSelector(self._folder))
        return [StoredFile(each.base_name, each.size) for each in found if each.is_file]

    def read(self, name: str) -> pa.Buffer:
        with self._file_system.open_input_file(self._path(name)) as file:
            return file.read_buffer()

    def head(self, name: str, size: int) -> bytes:
        with self._file_system.open_input_file(self._path(name)) as file:
            return bytes(file.read_at(min(size, file.size()), 0))

    def write(self, name: str, content: bytes) -> None:
        self._put(name, [content])

    def overwrite(self, name: str, content: bytes, *, durable: bool) -> None:
        if durable:  # otherwise it would cost as much as a record, for each record
            self.write(name, content)

    def delete(self, name: str) -> None:
        try:
            self._file_system.delete_file(self._path(name))
        except FileNotFoundError:
            pass

    def truncate(self, name: str, size: int) -> None:
        content = self.read(name)
        if content.size > size:
            self._put(name, [content.slice(0, size)])

    def new_segment(self, name: str) -> SegmentFile:
        return ObjectSegment(self, name)

    def continue_segment(self, name: str, size: int) -> SegmentFile:
        return ObjectSegment(self, name)

    def claim(self) -> None:
        if self._folder:
            self._file_system.create_dir(self._folder, recursive=True)
        self.write(WRITER, self._token)

    def check_claim(self) -> None:
        if self.read(WRITER).to_pybytes() != self._token:
            raise JournalInUse(
                f"another writer has taken over the journal {self._description};"
                " a journal has one writer at a time"
            )

    def release(self) -> None:
        pass

    def put(self, name: str, parts: list[Any]) -> None:
        """Write an object as a whole."""
        try:
            self._put(name, parts)
        except BaseException:
            self.delete(name)
            raise

    def _put(self, name: str, parts: list[Any]) -> None:
        with self._file_system.open_output_stream(self._path(name)) as stream:
            for part in parts:
                stream.write(part)

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}" if self._folder else name


class ObjectSegment:
    """An object to be: its one record makes it."""

    def __init__(self, store: ObjectStore, name: str) -> None:
        self._store = store
        self._name = name

    def append(self, parts: list[Any]) -> None:
        self._store.put(self._name, parts)

    def take_back(self) -> None:
        self._store.delete(self._name)

    def close(self) -> None:
        pass
