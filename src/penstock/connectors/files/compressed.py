"""Compressed files, read as what they were."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

__all__ = ["OPENERS", "is_compressed", "open_plain", "read_first"]

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
