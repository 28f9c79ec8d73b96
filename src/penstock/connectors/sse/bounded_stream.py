"""What an HTTP server sends, decompressed, and never more of one event than was agreed."""

from __future__ import annotations

import re
import zlib
from asyncio import sleep
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from typing import Final

from httpx import AsyncByteStream

from penstock.runtime import shorten

__all__ = ["ENCODING", "BoundedStream", "EventTooLarge", "NotDecoded"]

ENCODING: Final = "gzip"
"""The encodings in which a server may send."""

PART: Final = 64 * 1024
"""No more bytes are made of compressed ones at a time."""

GZIP_OR_ZLIB: Final = 47
LINE_END: Final = re.compile(rb"\r\n|\r|\n")
COLON: Final = ord(":")


class EventTooLarge(ValueError):
    """An event has more bytes than are allowed."""


class NotDecoded(ValueError):
    """What came is not encoded as the server says."""


class BoundedStream(AsyncByteStream):
    """The bytes of a stream of events, decompressed in small parts, each event within its bound."""

    def __init__(self, stream: AsyncIterable[bytes], encoding: str, max_bytes: int) -> None:
        self._stream = stream
        self._inflate = inflating(encoding)
        self._size = EventSize(max_bytes)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for received in self._stream:
            for number, part in enumerate(self._inflate(received)):
                if number:
                    await sleep(0)  # much may come of little: let other tasks have their turn
                self._size.add(part)
                yield part


class EventSize:
    """Counts the bytes of an event while it comes; comments are counted line by line.

    Lines are those of the standard: an empty one ends the event.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._event = 0
        self._line = 0
        self._is_comment = False
        self._ended_by_return = False

    def add(self, part: bytes) -> None:
        """Some more has come; ``EventTooLarge`` if that is too much."""
        start = 1 if self._ended_by_return and part.startswith(b"\n") else 0
        self._ended_by_return = part.endswith(b"\r")
        for end in LINE_END.finditer(part, start):
            self._read(part, start, end.start())
            self._end_line()
            start = end.end()
        self._read(part, start, len(part))

    def _read(self, part: bytes, start: int, end: int) -> None:
        if start == end:
            return
        if not self._line:
            self._is_comment = part[start] == COLON
        self._line += end - start
        if self._line + (0 if self._is_comment else self._event) > self._most:
            raise EventTooLarge

    def _end_line(self) -> None:
        if not self._line:
            self._event = 0
        elif not self._is_comment:
            self._event += self._line
        self._line = 0


class Decompressor:
    """Decompresses, a part at a time."""

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(GZIP_OR_ZLIB)

    def __call__(self, received: bytes) -> Iterator[bytes]:
        """The parts of what has come."""
        left = received
        while left:
            if self._decompressor.eof:
                self._decompressor = zlib.decompressobj(GZIP_OR_ZLIB)
            try:
                part = self._decompressor.decompress(left, PART)
            except zlib.error as error:
                raise NotDecoded(
                    f"the server sends what is not compressed as it says: {error}"
                ) from None
            left = self._decompressor.unconsumed_tail or self._decompressor.unused_data
            if part:
                yield part


def unchanged(received: bytes) -> Iterator[bytes]:
    """What came as it is, in parts as well."""
    for start in range(0, len(received), PART):
        yield received[start : start + PART]


def inflating(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    """What undoes ``encoding``."""
    if encoding in ("", "identity"):
        return unchanged
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Decompressor()
    raise NotDecoded(f"the server sends in the encoding {shorten(encoding)}, which is not known")
