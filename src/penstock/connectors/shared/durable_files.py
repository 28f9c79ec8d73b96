"""Files that outlive a crash: when something counts as stored, and who may write it.

Each step is a separate function, in the order in which a crash can come between them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from penstock.delivery import DeliveryRefused

if sys.platform != "win32":
    import fcntl

__all__ = ["TEMPORARY", "lock_file", "replace_file", "sync_file", "sync_folder", "write_whole"]

TEMPORARY: Final = ".new"
"""How the name of a file ends that is not complete yet."""


def write_whole(path: Path, content: bytes) -> None:
    """Make or replace a file; a crash leaves the old one or the new one, never a part."""
    temporary = path.with_name(path.name + TEMPORARY)
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        sync_file(file.fileno())
    replace_file(temporary, path)
    sync_folder(path.parent)


def sync_file(descriptor: int) -> None:
    """Return when the disk has what was written."""
    os.fsync(descriptor)


def replace_file(temporary: Path, path: Path) -> None:
    """Give a file that is complete its name, in one step."""
    temporary.replace(path)


def sync_folder(folder: Path) -> None:
    """A new name in a folder is durable only when the folder is."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_file(descriptor: int, what: str) -> None:
    """Become the only writer of this file or folder, until its descriptor is closed.

    The system releases the lock when the process dies. ``what`` names it for ``DeliveryRefused``.
    """
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DeliveryRefused(
            f"{what} is being written by another sink or program; stop that one, or write "
            "somewhere else"
        ) from None
