"""Files that outlive a crash: when something counts as stored, and what if one exists already.

Each step is a separate function, in the order in which a crash can come between them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, Literal, TypeAlias

from penstock.delivery import DeliveryRefused, Epoch
from penstock.runtime.arguments import require_flag

__all__ = [
    "TEMPORARY",
    "IfExists",
    "has_planned",
    "lock_file",
    "replace_file",
    "require_choice_if_exists",
    "require_parent",
    "require_writable",
    "sync_file",
    "sync_folder",
    "write_whole",
]

if sys.platform != "win32":
    import fcntl


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


IfExists: TypeAlias = Literal["refuse", "append", "overwrite"]


def require_choice_if_exists(connector: str, *, append: bool, overwrite: bool) -> IfExists:
    """One of the two, or none of them."""
    appends = require_flag(connector, "append", append)
    if require_flag(connector, "overwrite", overwrite):
        if appends:
            raise ValueError(f"{connector}: append and overwrite exclude each other; leave out one")
        return "overwrite"
    return "append" if appends else "refuse"


def has_planned(epoch: Epoch) -> bool:
    """Whether a checkpoint has had a batch before this run: then no sink may begin afresh."""
    return bool(epoch.starts) and epoch.starts[-1].planned >= 0


def require_parent(connector: str, path: Path) -> None:
    """Refuse a path whose folder is not there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{connector}: there is no folder {path.parent} for {path.name}")


def require_writable(connector: str, path: Path) -> None:
    """Refuse a folder in which no file can be made, or a file that cannot be written."""
    is_folder = path.is_dir()
    mode = os.W_OK | os.X_OK if is_folder else os.W_OK
    if not os.access(path, mode, effective_ids=os.access in os.supports_effective_ids):
        what = f"the folder {path}" if is_folder else str(path)
        raise PermissionError(f"{connector}: {what} cannot be written by this user")
