"""The form of a record: a header of 64 bytes, the source's position, and a batch in Arrow's form.

::

    0   magic            4 bytes
    4   kind             1 byte, then 3 of padding
    8   source length    bytes of the source's position, which is JSON; 0 if there is none
    12  checksum         of all that follows the header
    16  payload length   bytes that follow the header, a multiple of 64
    24  first            the number of the first row
    32  rows
    40  identity         of the journal: a record of another one is no record
    56  padding          4 bytes
    60  checksum         of the header up to here

Everything is little-endian. The source's position is padded to 8 bytes, the batch to 64, so that
Arrow finds its columns aligned in a file that is mapped into memory.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final, NamedTuple

import pyarrow as pa

from penstock.flow.resume.resumption import position_as_json

__all__ = [
    "HEADER_BYTES",
    "Malformed",
    "Record",
    "RecordKind",
    "encode",
    "message_of",
    "records",
    "source_position_of",
]

MAGIC: Final = b"PNJ1"
FIELDS: Final = struct.Struct("<4sB3xIIQQQ16s4x")
CHECKSUM: Final = struct.Struct("<I")
HEADER_BYTES: Final = FIELDS.size + CHECKSUM.size
SOURCE_ALIGNMENT: Final = 8
RECORD_ALIGNMENT: Final = 64


class RecordKind(IntEnum):
    """What a record is."""

    DATA = 1
    SEAL = 2


class Record(NamedTuple):
    """The header of a record, and where in its file it begins."""

    offset: int
    kind: int
    first: int
    rows: int
    source_bytes: int
    payload_bytes: int
    payload_checksum: int

    @property
    def end(self) -> int:
        """The number of the row after the last one."""
        return self.first + self.rows

    @property
    def end_offset(self) -> int:
        """Where the next record begins."""
        return self.offset + HEADER_BYTES + self.payload_bytes


class Malformed(Exception):
    """Here is no record, although there should be one."""

    def __init__(self, offset: int, position: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset
        self.position = position
        self.reason = reason


def encode(
    kind: RecordKind,
    identity: bytes,
    first: int,
    batch: pa.RecordBatch | None,
    source_position: object,
) -> list[Any]:
    """The parts of a record, to be written one after the other."""
    source = b"" if source_position is None else position_as_json(source_position).encode()
    payload: list[Any] = [source, _padding(len(source), SOURCE_ALIGNMENT)]
    if batch is not None:
        message = batch.serialize()
        before = sum(map(len, payload))
        payload += [message, _padding(before + message.size, RECORD_ALIGNMENT)]
    else:
        payload.append(_padding(sum(map(len, payload)), RECORD_ALIGNMENT))
    rows = 0 if batch is None else batch.num_rows
    length = sum(memoryview(part).nbytes for part in payload)
    header = FIELDS.pack(
        MAGIC, kind, len(source), _checksum(payload), length, first, rows, identity
    )
    return [header + CHECKSUM.pack(zlib.crc32(header)), *(part for part in payload if len(part))]


def records(
    content: pa.Buffer, identity: bytes, first: int, *, is_last: bool, until: int | None = None
) -> Iterator[Record]:
    """The records of a segment that begins with row ``first``; their payload is not looked at.

    Ends before row ``until``, if that is given. In the last segment it also ends before a
    record that was not written to its end, of which nothing, or only zeros, may have got to the
    disk. All else that is no record raises ``Malformed``.
    """
    view = memoryview(content)
    offset = 0
    while offset < len(view) and (until is None or first < until):
        try:
            record = _header(view, offset, identity, first)
        except Malformed:
            if is_last and _is_unfinished(view[offset:]):
                return
            raise
        if record.end_offset > len(view):
            if is_last:
                return
            raise Malformed(offset, first, "the file ends within a record")
        yield record
        offset, first = record.end_offset, record.end


def message_of(content: pa.Buffer, record: Record) -> pa.Buffer:
    """The batch of a record, in Arrow's form; ``Malformed`` if a bit of the payload has changed."""
    payload = _payload(content, record)
    return payload.slice(record.source_bytes + -record.source_bytes % SOURCE_ALIGNMENT)


def source_position_of(content: pa.Buffer, record: Record) -> Any:
    """The position of the source after the rows of a record; ``None`` if there is none."""
    source = _payload(content, record).slice(0, record.source_bytes)
    return json.loads(source.to_pybytes()) if source.size else None


def _header(view: memoryview, offset: int, identity: bytes, first: int) -> Record:
    if len(view) - offset < HEADER_BYTES:
        raise Malformed(offset, first, "the file ends within the header of a record")
    (checksum,) = CHECKSUM.unpack_from(view, offset + FIELDS.size)
    if checksum != zlib.crc32(view[offset : offset + FIELDS.size]):
        raise Malformed(offset, first, "the checksum of a record's header does not fit")
    magic, kind, source_bytes, payload_checksum, payload_bytes, found, rows, owner = (
        FIELDS.unpack_from(view, offset)
    )
    if magic != MAGIC:
        raise Malformed(offset, first, "the record has a form that this version does not know")
    if owner != identity:
        raise Malformed(offset, first, "the record belongs to another journal")
    if found != first:
        raise Malformed(offset, first, f"here is row {found} where row {first} should be")
    return Record(offset, kind, first, rows, source_bytes, payload_bytes, payload_checksum)


def _payload(content: pa.Buffer, record: Record) -> pa.Buffer:
    payload = content.slice(record.offset + HEADER_BYTES, record.payload_bytes)
    if zlib.crc32(payload) != record.payload_checksum:
        raise Malformed(record.offset, record.first, "the checksum of a record does not fit")
    return payload


def _is_unfinished(rest: memoryview) -> bool:
    """Whether this is what a crash leaves of a header: its beginning, or zeros."""
    if len(rest) < HEADER_BYTES and MAGIC.startswith(bytes(rest[: len(MAGIC)])):
        return True
    return not bytes(rest).strip(b"\0")


def _padding(length: int, alignment: int) -> bytes:
    return bytes(-length % alignment)


def _checksum(parts: list[Any]) -> int:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return checksum
