"""The segments of a journal, files of records, and which of their rows it holds for certain.

The writer changes it after each sync. So a reader in another process sees only what is durable, and
rows that were once durable and are gone are noticed. In a store whose files cannot grow it is
written only when rows are deleted.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

from penstock.spark.journal.errors import JournalDamaged
from penstock.spark.journal.identity import JournalIdentity
from penstock.spark.journal.record import (
    Malformed,
    Record,
    message_of,
    records,
    source_position_of,
)
from penstock.spark.journal.store import Store, StoredFile

__all__ = [
    "BOUNDS",
    "Bounds",
    "JournalSegment",
    "SegmentContent",
    "list_segments",
    "read_bounds",
    "segment_name",
]

BOUNDS: Final = "bounds"
MAGIC: Final = b"PNB1"
FIELDS: Final = struct.Struct("<4sB3xQQ16s")
CHECKSUM: Final = struct.Struct("<I")
ATTEMPTS: Final = 100


class Bounds(NamedTuple):
    """What a journal holds.

    ``start``   the rows before it are committed, and may be gone
    ``end``     the rows before it are durable
    ``sealed``  no row will follow
    """

    start: int
    end: int
    sealed: bool

    def encode(self, identity: bytes) -> bytes:
        """The content of the file."""
        content = FIELDS.pack(MAGIC, self.sealed, self.start, self.end, identity)
        return content + CHECKSUM.pack(zlib.crc32(content))


def read_bounds(store: Store, identity: bytes) -> Bounds | None:
    """What the writer has last said; ``None`` if there is no such file."""
    # The writer may change it at this moment; then the next look finds it whole.
    for _ in range(ATTEMPTS):
        try:
            content = store.head(BOUNDS, FIELDS.size + CHECKSUM.size + 1)
        except FileNotFoundError:
            return None
        if _is_whole(content):
            magic, sealed, start, end, owner = FIELDS.unpack_from(content)
            if (magic, owner) != (MAGIC, identity):
                raise JournalDamaged(store.describe(BOUNDS), 0, "it belongs to another journal")
            return Bounds(start, end, bool(sealed))
    raise JournalDamaged(store.describe(BOUNDS), 0, "its checksum does not fit")


def _is_whole(content: bytes) -> bool:
    if len(content) != FIELDS.size + CHECKSUM.size:
        return False
    (checksum,) = CHECKSUM.unpack_from(content, FIELDS.size)
    return bool(checksum == zlib.crc32(content[: FIELDS.size]))


NAME: Final = re.compile(r"(\d{20})\.segment")


@dataclass(slots=True)
class JournalSegment:
    """A file of records."""

    first: int
    size: int

    @property
    def name(self) -> str:
        """The name of the file."""
        return segment_name(self.first)


def segment_name(first: int) -> str:
    """The name of the segment that begins with row ``first``."""
    return f"{first:020d}.segment"


def list_segments(files: Iterable[StoredFile]) -> list[JournalSegment]:
    """The segments among the files, in order."""
    named = ((NAME.fullmatch(file.name), file.size) for file in files)
    found = [JournalSegment(int(match[1]), size) for match, size in named if match]
    return sorted(found, key=lambda segment: segment.first)


class SegmentContent:
    """What is in a segment. Anything that cannot be trusted raises ``JournalDamaged``."""

    def __init__(
        self, store: Store, label: JournalIdentity, segment: JournalSegment, *, is_last: bool
    ) -> None:
        self._file = store.describe(segment.name)
        self._label = label
        self._first = segment.first
        self._is_last = is_last
        self._bytes = store.read(segment.name)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return int(self._bytes.size)

    def records(self, until: int | None = None) -> Iterator[Record]:
        """The headers of the records, up to row ``until`` if that is given."""
        try:
            yield from records(
                self._bytes, self._label.identity, self._first, is_last=self._is_last, until=until
            )
        except Malformed as problem:
            raise self._damage(problem) from None

    def batch(self, record: Record) -> pa.RecordBatch:
        """The rows of a record."""
        return pa.ipc.read_record_batch(self._checked(message_of, record), self._label.schema)

    def source_position(self, record: Record) -> Any:
        """The position of the source after the rows of a record."""
        return self._checked(source_position_of, record)

    def is_whole(self, record: Record) -> bool:
        """Whether each bit of a record is as it was written."""
        try:
            message_of(self._bytes, record)
        except Malformed:
            return False
        return True

    def _checked(self, read: Any, record: Record) -> Any:
        try:
            return read(self._bytes, record)
        except Malformed as problem:
            raise self._damage(problem) from None

    def _damage(self, problem: Malformed) -> JournalDamaged:
        return JournalDamaged(self._file, problem.offset, problem.reason, problem.position)
