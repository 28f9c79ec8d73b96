"""A file that grows, opened at a byte: its lines, and how to tell it from every other file."""

from __future__ import annotations

import os
import zlib
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

from penstock.connectors.files.rotated_files import is_compressed, open_plain, read_first
from penstock.connectors.shared.formats import LINE_BYTES, LineTooLong, length_of

__all__ = ["FileRewritten", "TailPosition", "TailedFile", "first_bytes"]

CHUNK: Final = 1 << 17
HEAD: Final = 1024
WINDOW: Final = 64


class TailPosition(NamedTuple):
    """Where a line ends, and in which file.

    ``byte``     how many bytes of the file come before what follows the line
    ``inode``    the number of the file in its file system
    ``mark``     a checksum of the first bytes of the file, and of the last ones before ``byte``
    ``changed``  when the file was last changed, in nanoseconds, as far as that was known then
    """

    byte: int
    inode: int
    mark: int
    changed: int


class FileRewritten(Exception):
    """The file no longer has the bytes that were read of it: somebody has cut it."""


class TailedFile:
    """An open file, and the next line of it that nobody has read.

    ``byte``  where that line begins

    No more of a line is held than ``max_bytes`` and one chunk.
    """

    def __init__(self, path: Path, byte: int = 0, max_bytes: int = LINE_BYTES) -> None:
        self.path = path
        self.byte = byte
        self._max_bytes = max_bytes
        self._descriptor = open_plain(path)
        self._is_compressed = is_compressed(path)
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        if self._is_compressed:
            status = path.stat()
        self.inode = status.st_ino
        self.device = status.st_dev
        self._changed = status.st_mtime_ns
        self._head = self._bytes(0, min(byte, HEAD))
        self._window = self._bytes(max(byte - WINDOW, 0), min(byte, WINDOW))
        self._head_checksum = zlib.crc32(self._head)
        self._read = byte
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    @property
    def place(self) -> str:
        """Where the next line begins, in words."""
        return f"{self.path}, line at byte {self.byte}"

    @property
    def position(self) -> TailPosition:
        """How far it was read, for another run."""
        mark = zlib.crc32(self._window, self._head_checksum)
        return TailPosition(self.byte, self.inode, mark, self._changed)

    def has(self, position: TailPosition) -> bool:
        """Whether the position it was opened at is one of this file, and not of another."""
        return self.byte == position.byte <= self.size and self.position.mark == position.mark

    @property
    def beginning(self) -> bytes:
        """The first bytes, as far as it was read; ``first_bytes`` of the same file begin so."""
        return self._head

    def next_line(self) -> bytes | None:
        """A complete line, or none yet. Raises ``FileRewritten`` and ``LineTooLong``."""
        while not self._lines:
            # One byte more may be the first half of its end.
            if self._begun_bytes > self._max_bytes + 1:
                raise LineTooLong(self.place, self._max_bytes)
            if not self._fill():
                return None
        return self._taken(self._lines.popleft())

    def rest(self) -> bytes:
        """What follows the last complete line, now that no more will come."""
        return self._taken(self._completed(b""))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _fill(self) -> bool:
        """Read more, if there is more."""
        chunk = os.pread(self._descriptor, CHUNK, self._read)
        # After the read: what the file has now, it had then.
        status = os.fstat(self._descriptor)
        is_cut = status.st_size < self._read + len(chunk)
        if is_cut or self._bytes(0, len(self._head)) != self._head:
            raise FileRewritten(
                f"{self.path} no longer has the {self._read:,} bytes that were read"
            )
        self.size = status.st_size
        if not self._is_compressed:
            self._changed = status.st_mtime_ns
        self._read += len(chunk)
        *lines, begun = chunk.split(b"\n")
        if lines:
            first = self._completed(lines[0])
            self._lines.extend(line + b"\n" for line in (first, *lines[1:]))
        if begun:
            self._begun.append(begun)
            self._begun_bytes += len(begun)
        return bool(chunk)

    def _completed(self, end: bytes) -> bytes:
        """The line that was begun, with its end."""
        line = b"".join([*self._begun, end])
        self._begun.clear()
        self._begun_bytes = 0
        return line

    def _taken(self, line: bytes) -> bytes:
        if length_of(line) > self._max_bytes:
            raise LineTooLong(self.place, self._max_bytes)
        self.byte += len(line)
        self._window = (self._window + line)[-WINDOW:]
        if len(self._head) < HEAD:
            self._head += line[: HEAD - len(self._head)]
            self._head_checksum = zlib.crc32(self._head)
        return line

    def _bytes(self, start: int, count: int) -> bytes:
        return os.pread(self._descriptor, count, start)


def first_bytes(path: Path) -> bytes | None:
    """The beginning of a file; ``None`` if it cannot be read."""
    return read_first(path, HEAD)
