"""The writer's side of a journal."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import TracebackType
from typing import Any, Final

import pyarrow as pa

from penstock.runtime.arguments import require_int
from penstock.spark.journal.errors import JournalDamaged, JournalFull, JournalUnusable, NoSpace
from penstock.spark.journal.identity import (
    LABEL,
    JournalIdentity,
    new_identity,
    read_identity,
    require_same_schema,
    require_storable,
)
from penstock.spark.journal.record import RecordKind, encode
from penstock.spark.journal.segments import (
    BOUNDS,
    Bounds,
    JournalSegment,
    RecoveredJournal,
    list_segments,
    recover,
    segment_name,
)
from penstock.spark.journal.store import Place, SegmentFile, Store, open_store

__all__ = ["Journal"]

MAX_ROWS: Final = 1 << 22
MAX_BYTES: Final = 1 << 29
LARGEST_SEGMENT: Final = 1 << 24
SEGMENTS_AT_LEAST: Final = 8
MOST_RECORDS: Final = 4096
"""In a segment: a reader that looks for a row goes from header to header."""
FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Journal:
    """A durable, bounded log of rows between a publisher and Spark, for its one writer.

    Rows have numbers, from 0 on; a position is such a number. What ``append`` returned for is on
    the disk. ``commit`` says which rows are no longer needed. One thread at a time may use it.
    """

    def __init__(
        self,
        store: Store,
        label: JournalIdentity,
        found: RecoveredJournal,
        *,
        max_rows: int,
        max_bytes: int,
    ) -> None:
        self._store = store
        self._label = label
        self._found = found
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self.segment_bytes = min(LARGEST_SEGMENT, max_bytes // SEGMENTS_AT_LEAST)
        """The size of a file that is full; a larger batch gets a file of its own."""
        self._most_records = 1 if store.one_record_each else MOST_RECORDS
        self._bytes_held = sum(segment.size for segment in found.segments)
        self._file: SegmentFile | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        place: Place,
        schema: pa.Schema,
        *,
        max_rows: int = MAX_ROWS,
        max_bytes: int = MAX_BYTES,
    ) -> Journal:
        """Open the journal at ``place``, or make one there.

        It holds at most ``max_rows`` rows that are not committed, in files of ``max_bytes`` in all;
        a batch that is larger than that by itself is taken when no other row waits.

        Raises ``JournalInUse`` when it has a writer, ``SchemaChanged`` when it was made for other
        columns, ``JournalDamaged`` when it is not as it was written, and ``JournalUnusable`` when
        the place cannot be read and written.
        """
        require_storable(schema)
        require_int("journal", "max_rows", max_rows)
        require_int("journal", "max_bytes", max_bytes)
        store = open_store(place)
        try:
            with _explaining(store):
                store.claim()
                label = _label(store, schema)
                journal = cls(
                    store, label, recover(store, label), max_rows=max_rows, max_bytes=max_bytes
                )
                journal._begin()
        except BaseException:
            store.release()
            raise
        return journal

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self._label.schema

    @property
    def identity(self) -> str:
        """Tells this journal from all others, also from one that was made later at its place."""
        return self._label.identity.hex()

    @property
    def start(self) -> int:
        """The first row that is not committed."""
        return self._found.start

    @property
    def end(self) -> int:
        """The number of the next row; all rows before it are durable."""
        return self._found.end

    @property
    def sealed(self) -> bool:
        """Whether the last row has come."""
        return self._found.sealed

    @property
    def last_source_position(self) -> Any:
        """What was appended with the last batch as the position of the source."""
        return self._found.last_source_position

    @property
    def room(self) -> int:
        """How many rows can be appended before others have to be committed."""
        return max(0, self._max_rows - (self.end - self.start))

    @property
    def bytes_held(self) -> int:
        """The size of all segments."""
        return self._bytes_held

    @property
    def bytes_left(self) -> int:
        """How many bytes can be appended before rows have to be committed."""
        needed = self.bytes_held - sum(segment.size for segment in self._unneeded())
        return max(0, self._max_bytes - needed)

    def append(self, batch: pa.RecordBatch, source_position: object = None) -> int:
        """Append rows, and with them what the source needs to go on after them, as JSON.

        They are durable on return; the result is the position after them. Raises ``JournalFull``
        or ``NoSpace`` when there is no room, and then nothing is appended.
        """
        require_same_schema(self.schema, batch.schema, f"the journal {self._store.describe()}")
        self._require_open()
        if not batch.num_rows:
            return self.end
        if batch.num_rows > self.room:
            raise JournalFull(f"{batch.num_rows} rows do not fit: there is room for {self.room}")
        record = encode(RecordKind.DATA, self._label.identity, self.end, batch, source_position)
        self._write(record, self._bounds._replace(end=self.end + batch.num_rows))
        self._found.last_source_position = source_position
        return self.end

    def seal(self) -> None:
        """The last row has come. Durable on return; a second time changes nothing."""
        if self.sealed:
            return
        self._require_open()
        record = encode(RecordKind.SEAL, self._label.identity, self.end, None, None)
        self._write(record, self._bounds._replace(sealed=True))

    def commit(self, position: int) -> None:
        """The rows before ``position`` are no longer needed: their room is free again.

        Segments that lie wholly before it are deleted, but not the one with the last row,
        which knows the position of the source. A position that was passed before changes nothing.
        """
        if position > self.end:
            raise ValueError(f"row {position} cannot be committed: the journal ends at {self.end}")
        if position > self.start:
            self._found.start = position
            with _explaining(self._store):
                self._publish(self._bounds, durable=self._store.one_record_each)
                self._trim()

    def close(self) -> None:
        """Let another writer have the journal. What is in it stays."""
        if self._closed:
            return
        self._closed = True
        self._leave_segment()
        self._store.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        sealed = ", sealed" if self.sealed else ""
        return f"Journal({self._store.describe()!r}, rows {self.start} to {self.end}{sealed})"

    def _begin(self) -> None:
        if self._found.has_bounds:
            self._publish(self._bounds, durable=True)
        else:
            self._store.write(BOUNDS, self._bounds.encode(self._label.identity))
        self._trim()

    def _require_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self!r} is closed")
        if self.sealed:
            raise ValueError(f"{self!r} takes no more rows")

    def _write(self, record: list[Any], bounds: Bounds) -> None:
        """Write a record, after which these are the bounds; all of it, or nothing."""
        size = sum(memoryview(part).nbytes for part in record)
        with _explaining(self._store):
            self._trim()
            # The seal is always taken: it has no row that could be committed to make room for it.
            if size > self.bytes_left and self.start < self.end and not bounds.sealed:
                raise JournalFull(f"{size} bytes do not fit: there is room for {self.bytes_left}")
            self._store.check_claim()
            file = self._provide_file(size)
            file.append(record)
            try:
                self._publish(bounds)
            except BaseException:
                file.take_back()
                raise
        self._found.segments[-1].size += size
        self._bytes_held += size
        self._found.records_of_last += 1
        self._found.end, self._found.sealed = bounds.end, bounds.sealed

    def _provide_file(self, size: int) -> SegmentFile:
        """The segment for a record of that size."""
        segments = self._found.segments
        if not segments or not self._fits(segments[-1], size):
            self._leave_segment()
            self._file = self._store.new_segment(segment_name(self.end))
            segments.append(JournalSegment(self.end, 0))
            self._found.records_of_last = 0
        elif self._file is None:
            self._file = self._store.continue_segment(segments[-1].name, segments[-1].size)
        return self._file

    def _fits(self, segment: JournalSegment, size: int) -> bool:
        """Whether the last segment can take a record of that size."""
        has_records_left = self._found.records_of_last < self._most_records
        return not segment.size or (has_records_left and segment.size + size <= self.segment_bytes)

    def _leave_segment(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def _bounds(self) -> Bounds:
        return Bounds(self.start, self.end, self.sealed)

    def _publish(self, bounds: Bounds, *, durable: bool = False) -> None:
        self._store.overwrite(BOUNDS, bounds.encode(self._label.identity), durable=durable)

    def _trim(self) -> None:
        """Delete the segments of which no row is needed."""
        unneeded = self._unneeded()
        if unneeded:
            # First, so that their absence is never taken for a loss.
            self._publish(self._bounds, durable=True)
        for segment in unneeded:
            self._store.delete(segment.name)
            self._found.segments.remove(segment)
            self._bytes_held -= segment.size

    def _unneeded(self) -> list[JournalSegment]:
        """The segments of which no row is needed; the position of the source is in the last row."""
        unneeded = []
        for segment, following in pairwise(self._found.segments):
            if following.first > self.start or following.first == self.end:
                break
            unneeded.append(segment)
        return unneeded


def _label(store: Store, schema: pa.Schema) -> JournalIdentity:
    """The label of the journal, which is made if there is no journal yet."""
    try:
        label = read_identity(store)
    except FileNotFoundError:
        files = store.files()
        if list_segments(files) or any(file.name == BOUNDS for file in files):
            file = store.describe(LABEL)
            raise JournalDamaged(file, 0, "there are rows, but this file is gone") from None
        label = new_identity(schema)
        store.write(LABEL, label.encode())
    require_same_schema(label.schema, schema, f"the journal {store.describe()}")
    return label


@contextmanager
def _explaining(store: Store) -> Iterator[None]:
    """Say in our words what the system says."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise NoSpace(f"there is no space left for {store.describe()}: {error}") from error
        raise JournalUnusable(f"{store.describe()} cannot be written: {error}") from error
