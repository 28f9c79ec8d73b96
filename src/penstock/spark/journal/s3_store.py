"""A journal on S3: one object for each record, each of which is made once and by one writer.

Nothing can be locked there, and a writer that was killed must not keep others out. So one that
comes later takes over, and the earlier one is refused when it writes: what it would make is there
already, or the mark of the writer is not its own any more.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

import pyarrow as pa

from penstock.spark.journal.errors import JournalInUse
from penstock.spark.journal.s3_folder import Overtaken, S3Folder
from penstock.spark.journal.store import SegmentFile, StoredFile

__all__ = ["S3JournalStore"]

WRITER: Final = "writer"


class S3JournalStore:
    """Files in a folder on S3."""

    one_record_each = True

    def __init__(self, place: str) -> None:
        self._place = place
        self._folder = S3Folder(place, waits=True)
        self._token = uuid.uuid4().hex.encode()

    def describe(self, name: str = "") -> str:
        return self._folder.describe(name)

    def files(self) -> list[StoredFile]:
        return self._folder.files()

    def read(self, name: str) -> pa.Buffer:
        return pa.py_buffer(self._folder.read(name))

    def head(self, name: str, size: int) -> bytes:
        return self._folder.read(name)[:size]

    def write(self, name: str, content: bytes) -> None:
        self.check_claim()
        self._folder.put(name, content)

    def overwrite(self, name: str, content: bytes, *, durable: bool) -> None:
        if durable:  # otherwise it would cost as much as a record, for each record
            self.write(name, content)

    def delete(self, name: str) -> None:
        self._folder.delete(name)

    def truncate(self, name: str, size: int) -> None:
        content = self._folder.read(name)
        if len(content) > size:
            self.check_claim()
            self._folder.put(name, content[:size])

    def new_segment(self, name: str) -> SegmentFile:
        return S3Segment(self, name)

    def continue_segment(self, name: str, size: int) -> SegmentFile:
        return S3Segment(self, name)

    def claim(self) -> None:
        try:
            _, tag = S3Folder(self._place).seen(WRITER)  # which does not wait
        except FileNotFoundError:
            tag = None
        try:
            self._folder.replace(WRITER, self._token, tag)
        except Overtaken:
            raise self._in_use() from None

    def check_claim(self) -> None:
        if self._folder.read(WRITER) != self._token:
            raise self._in_use()

    def release(self) -> None:
        pass

    def create(self, name: str, content: bytes) -> None:
        """Make an object that nobody else has made."""
        try:
            self._folder.create(name, content)
        except Overtaken:
            raise self._in_use() from None

    def _in_use(self) -> JournalInUse:
        return JournalInUse(
            f"another writer has taken over the journal {self.describe()}; a journal has one "
            "writer at a time"
        )


class S3Segment:
    """An object to be: its one record makes it."""

    def __init__(self, store: S3JournalStore, name: str) -> None:
        self._store = store
        self._name = name

    def append(self, parts: list[Any]) -> None:
        self._store.create(self._name, b"".join(bytes(memoryview(part)) for part in parts))

    def take_back(self) -> None:
        self._store.delete(self._name)

    def close(self) -> None:
        pass
