"""The earlier files of a log: the names that they get when it is rotated, and what is in them.

``app.jsonl`` becomes ``app.jsonl.1`` or ``app.jsonl-20260131`` or ``app-1.jsonl``, and those that
had such a name become something with a larger number; each may be compressed. If the log is a
symbolic link, its files are those that are named as the one that it leads to, with other numbers.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, NamedTuple

__all__ = [
    "OPENERS",
    "RotatedFile",
    "inode_of",
    "is_compressed",
    "open_plain",
    "read_first",
    "rotated_files",
]

OPENERS: Final[dict[str, Callable[..., Any]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
DAMAGED: Final = (EOFError, zlib.error, lzma.LZMAError)


def is_compressed(path: Path) -> bool:
    """Whether its name says so."""
    return path.suffix in OPENERS


def open_plain(path: Path) -> int:
    """A descriptor of the file, or of what was compressed in it. Raises ``OSError``."""
    if not is_compressed(path):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    # On disk, since it may be large; without a name, so that nothing of it is left.
    with OPENERS[path.suffix](path, "rb") as packed, TemporaryFile() as plain:
        if not path.stat().st_size:
            raise OSError("it is damaged: it is empty")
        try:
            shutil.copyfileobj(packed, plain)
        except DAMAGED as error:
            raise OSError(f"it is damaged: {error}") from error
        plain.flush()
        return os.dup(plain.fileno())


def read_first(path: Path, count: int) -> bytes | None:
    """The first bytes of what is in the file; ``None`` if it cannot be read."""
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rb") as file:
            if is_compressed(path) and not path.stat().st_size:
                return None  # gzip would take it for a file with nothing in it
            first: bytes = file.read(count)
            return first
    except (OSError, *DAMAGED):
        return None


NUMBER: Final = r"[._-]\d[\d.:T_-]*"
COMPRESSED: Final = f"(?:{'|'.join(map(re.escape, OPENERS))})?"
COUNTER: Final = re.compile(rf"\.(\d{{1,5}}){COMPRESSED}$")
DIGITS: Final = re.compile(r"\d+")
ATTEMPTS: Final = 10


class RotatedFile(NamedTuple):
    """A file that the log was, or that it is.

    ``changed``  when it was last written, in nanoseconds
    ``rank``     which is the older one of two that were written at the same moment: the one with
                 the larger number in its name, unless that is a date
    """

    changed: int
    rank: int
    path: Path
    inode: int


def rotated_files(log: Path) -> list[RotatedFile]:
    """Those that there are, the oldest first; the log itself is not among them."""
    found = sorted(scan(log))
    for _ in range(ATTEMPTS):  # somebody may rename them just now
        again = sorted(scan(log))
        if again == found:
            break
        found = again
    return found


def scan(log: Path) -> Iterator[RotatedFile]:
    """The rotated files that are in the folder now."""
    stem, suffix = re.escape(log.stem), re.escape(log.suffix)
    named = re.compile(f"(?:{re.escape(log.name)}{NUMBER}|{stem}{NUMBER}{suffix}){COMPRESSED}")
    yield from matching(log.parent, named, log)
    if log.is_symlink():
        target = log.resolve()
        parts = map(re.escape, DIGITS.split(target.name))
        alike = re.compile(r"\d+".join(parts) + COMPRESSED)
        if not named.fullmatch(target.name) or target.parent != log.parent.resolve():
            yield from matching(target.parent, alike, target)


def matching(folder: Path, name: re.Pattern[str], log: Path) -> Iterator[RotatedFile]:
    """The files with such a name, without the log and whatever it leads to."""
    current = inode_of(log)
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if not name.fullmatch(entry.name):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_ino != current:
            counter = COUNTER.search(entry.name)
            rank = -int(counter[1]) if counter else 0
            yield RotatedFile(status.st_mtime_ns, rank, folder / entry.name, status.st_ino)


def inode_of(path: Path) -> int | None:
    """Which file is there now."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None
