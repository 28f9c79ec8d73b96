"""What a writer finds when it opens a journal that is already there.

Every bit is looked at. A last record that was not written to its end is cut off: it never counted.
Anything else that is not as it was written is refused, and then nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.spark.journal.errors import JournalDamaged
from penstock.spark.journal.identity import JournalIdentity
from penstock.spark.journal.record import Record, RecordKind
from penstock.spark.journal.segments import (
    BOUNDS,
    Bounds,
    JournalSegment,
    SegmentContent,
    list_segments,
    read_bounds,
)
from penstock.spark.journal.store import Store

__all__ = ["RecoveredJournal", "recover"]


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
