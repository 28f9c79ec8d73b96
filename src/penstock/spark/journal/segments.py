"""The segments of a journal, files of records, and which of their rows it holds for certain.

The writer changes it after each sync. So a reader in another process sees only what is durable, and
rows that were once durable and are gone are noticed. In a store whose files cannot grow it is
written only when rows are deleted.

A writer that opens a journal that is already there looks at every bit. A last record that was not
written to its end is cut off: it never counted. Anything else that is not as it was written is
refused, and then nothing is changed.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa

from penstock.spark.journal.errors import JournalDamaged
from penstock.spark.journal.identity import JournalIdentity
from penstock.spark.journal.record import (
    Malformed,
    Record,
    RecordKind,
    message_of,
    records,
    source_position_of,
)
from penstock.spark.journal.store import Store, StoredFile

__all__ = [
    "BOUNDS",
    "Bounds",
    "JournalSegment",
    "RecoveredJournal",
    "SegmentContent",
    "list_segments",
    "read_bounds",
    "recover",
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


@dataclass
class RecoveredJournal:
    """What is in the journal."""

    start: int
    end: int
    has_bounds: bool
    sealed: bool = False
    last_source_position: Any = None
    segments: list[JournalSegment] = field(default_factory=list)
    records_of_last: int = 0


def recover(store: Store, label: JournalIdentity) -> RecoveredJournal:
    """Look through all segments, and cut off what was not written to its end."""
    return Recovery(store, label).run()


class Recovery:
    """One look through a journal."""

    def __init__(self, store: Store, label: JournalIdentity) -> None:
        self._store = store
        self._label = label
        self._bounds = read_bounds(store, label.identity)
        segments = list_segments(store.files())
        first = segments[0].first if segments else 0
        self._published = self._bounds or Bounds(first, first, sealed=False)
        unneeded = self._count_unneeded(segments)
        self._segments = segments[unneeded:]
        end = self._segments[0].first if segments else self._published.start
        self._found = RecoveredJournal(self._published.start, end, self._bounds is not None)
        self._found.segments += segments[:unneeded]

    def _count_unneeded(self, segments: list[JournalSegment]) -> int:
        """How many hold committed rows only; some may be gone, as a deletion is not synced."""
        start, end, _ = self._published
        following = [segment.first for segment in segments[1:]]
        return sum(first <= start and first < end for first in following)

    def run(self) -> RecoveredJournal:
        """All that is whole, in order and without a gap."""
        found, published = self._found, self._published
        if found.end > published.start:
            raise self._gap(self._segments[0], published.start)
        for segment in self._segments:
            if segment.first != found.end:
                raise self._gap(segment, found.end)
            self._look_through(segment)
        if found.end < published.end or published.sealed > found.sealed:
            raise self._loss()
        self._cut_off_what_is_unfinished()
        return found

    def _look_through(self, segment: JournalSegment) -> None:
        found = self._found
        is_last = segment is self._segments[-1]
        content = SegmentContent(self._store, self._label, segment, is_last=is_last)
        whole = JournalSegment(segment.first, 0)
        found.segments.append(whole)
        found.records_of_last = 0
        for record in content.records():
            if found.sealed:
                raise self._damage(segment, record.offset, "a record follows the seal")
            if is_last and self._was_never_synced(content, record):
                return
            if record.kind == RecordKind.SEAL:
                found.sealed = True
            else:
                found.last_source_position = content.source_position(record)
            found.end, whole.size = record.end, record.end_offset
            found.records_of_last += 1

    def _was_never_synced(self, content: SegmentContent, record: Record) -> bool:
        """Whether the power went away before all pages of the last record were on the disk."""
        if self._bounds is None or record.first < self._bounds.end:
            return False  # the writer has said that it is durable, or may have
        return record.end_offset == content.size and not content.is_whole(record)

    def _cut_off_what_is_unfinished(self) -> None:
        """And make durable what is left: the writer may have died before its last sync."""
        segments = self._found.segments
        if segments and segments[-1].size:
            self._store.truncate(segments[-1].name, segments[-1].size)
        elif segments:
            self._store.delete(segments.pop().name)

    def _gap(self, segment: JournalSegment, expected: int) -> JournalDamaged:
        reason = f"it begins with row {segment.first}, where row {expected} should follow"
        return JournalDamaged(self._store.describe(segment.name), 0, reason, expected)

    def _loss(self) -> JournalDamaged:
        reason = f"the rows up to {self._published.end} were durable, and are gone"
        if self._found.end == self._published.end:
            reason = "the journal was sealed, and the seal is gone"
        if not self._segments:
            return JournalDamaged(self._store.describe(BOUNDS), 0, reason, self._found.end)
        return self._damage(self._segments[-1], self._found.segments[-1].size, reason)

    def _damage(self, segment: JournalSegment, offset: int, reason: str) -> JournalDamaged:
        file = self._store.describe(segment.name)
        return JournalDamaged(file, offset, reason, self._found.end)
