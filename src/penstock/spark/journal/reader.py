"""The reader's side of a journal, for the processes of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import pyarrow as pa

from penstock.spark.journal.errors import JournalDamaged, JournalUnusable, RowsUnavailable
from penstock.spark.journal.identity import JournalIdentity, read_identity
from penstock.spark.journal.record import RecordKind
from penstock.spark.journal.segments import (
    Bounds,
    JournalSegment,
    SegmentContent,
    list_segments,
    read_bounds,
)
from penstock.spark.journal.store import Place, open_store

__all__ = ["JournalReader", "Range"]


PART_BYTES: Final = 1 << 23
PART_ROWS: Final = 1 << 16
"""A part has fewer than twice as many: with fewer in each, tasks would cost more than they save."""


class Range(NamedTuple):
    """The rows from ``start`` up to, but without, ``end``."""

    start: int
    end: int

    def parts(self) -> Iterator[Range]:
        """The same rows for as many tasks as they are worth."""
        count = max((self.end - self.start) // PART_ROWS, 1)
        edges = [self.start + (self.end - self.start) * i // count for i in range(count + 1)]
        return (Range(*edge) for edge in pairwise(edges))


class JournalReader:
    """Reads a journal while another process appends to it; sees only what is durable.

    It is cheap to make, holds nothing open, and can be sent to another process if its place can.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._store = open_store(place)
        self._known: JournalIdentity | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self._label.schema

    @property
    def identity(self) -> str:
        """Tells this journal from all others, also from one that was made later at its place."""
        return self._label.identity.hex()

    def start(self) -> int:
        """The first row that is not committed."""
        return self.bounds().start

    def end(self) -> int:
        """All rows before it are durable."""
        return self.bounds().end

    def sealed(self) -> bool:
        """Whether no row will follow those before ``end``."""
        return self.bounds().sealed

    def bounds(self) -> Bounds:
        """``start``, ``end`` and ``sealed``, all of one moment."""
        published = read_bounds(self._store, self._label.identity)
        if published is not None and not self._store.one_record_each:
            return published
        return self._look_for_the_end(published)

    def ranges(self, start: int, end: int) -> list[Range]:
        """The rows from ``start`` to ``end`` in parts for several tasks, in order.

        A part is made of whole files, unless one of them has rows for several tasks.
        """
        edges, size = [start], 0
        for segment in self._segments(start, end):
            if size >= PART_BYTES:
                edges.append(segment.first)
                size = 0
            size += segment.size
        wholes = (Range(*edge) for edge in pairwise([*edges, end]) if edge[0] < edge[1])
        return [part for whole in wholes for part in whole.parts()]

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Exactly the rows from ``start`` to ``end``, in order.

        Raises ``RowsUnavailable`` if some of them are not durable, or deleted, and
        ``JournalDamaged`` if they are not what was written.
        """
        position = start
        for segment in self._segments(start, end):
            if position < segment.first:
                raise self._gap(segment, position)
            for rows in self._read_segment(segment, position, end):
                position += rows.num_rows
                yield rows
        if position < end:
            raise self._gap(segment, position)

    def __reduce__(self) -> tuple[type, tuple[Place]]:
        return type(self), (self._place,)

    def __repr__(self) -> str:
        return f"JournalReader({self._store.describe()!r})"

    @property
    def _label(self) -> JournalIdentity:
        if self._known is None:
            try:
                self._known = read_identity(self._store)
            except OSError as error:
                where = self._store.describe()
                raise JournalUnusable(f"{where} is no journal, or unreadable: {error}") from error
        return self._known

    def _read_segment(
        self, segment: JournalSegment, start: int, end: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one file that lie within these bounds."""
        try:
            content = SegmentContent(self._store, self._label, segment, is_last=False)
        except FileNotFoundError:
            raise RowsUnavailable(f"row {start} was committed, and is deleted") from None
        for record in content.records(until=end):
            if record.end > start:
                first, stop = max(record.first, start), min(record.end, end)
                yield content.batch(record).slice(first - record.first, stop - first)

    def _segments(self, start: int, end: int) -> list[JournalSegment]:
        """The segments with these rows."""
        if not 0 <= start <= end:
            raise ValueError(f"there are no rows from {start} to {end}")
        if start == end:
            return []
        durable = self.end()
        if end > durable:
            raise RowsUnavailable(
                f"the rows up to {end} were asked for, but only those up to {durable} are durable"
            )
        segments = list_segments(self._store.files())
        earlier = [each for each in segments if each.first <= start]
        if not earlier:
            raise RowsUnavailable(f"row {start} was committed, and is deleted")
        return [each for each in segments if earlier[-1].first <= each.first < end]

    def _look_for_the_end(self, published: Bounds | None) -> Bounds:
        """Where the writer does not say it: after the last complete record."""
        segments = list_segments(self._store.files())
        first = segments[0].first if segments else 0
        start, end, sealed = published or Bounds(first, first, sealed=False)
        for last in reversed(segments):
            content = SegmentContent(self._store, self._label, last, is_last=True)
            for record in content.records():
                end, sealed = max(end, record.end), record.kind == RecordKind.SEAL
            if end > last.first or sealed:
                break
        return Bounds(start, end, sealed)

    def _gap(self, segment: JournalSegment, position: int) -> JournalDamaged:
        file = self._store.describe(segment.name)
        return JournalDamaged(file, 0, f"row {position} is in no file", position)
