"""Lines of bytes, none of them longer than is agreed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

__all__ = ["LINE_BYTES", "LineTooLong", "bounded_lines", "length_of"]

LINE_BYTES: Final = 16 * 1024 * 1024
"""No line of a file or of standard input has more, unless the user says so."""


class LineTooLong(ValueError):
    """A line, or a row of several, of which no more than its beginning was read."""

    def __init__(self, place: str, max_bytes: int, kind: str = "line") -> None:
        super().__init__(f"{place}: more than {max_bytes} bytes in one {kind}; raise max_bytes")


def bounded_lines(file: BinaryIO, place: object, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; one that is too long is read no further.

    Its end is not counted. ``place`` says in the error where the line is.
    """
    number = 1
    while line := file.readline(max_bytes + 2):
        if length_of(line) > max_bytes:
            raise LineTooLong(f"{place}, line {number}", max_bytes)
        yield number, line
        number += 1


def length_of(line: bytes) -> int:
    """The bytes of a line without its end."""
    return len(line.rstrip(b"\r\n"))
