"""Files and folders for their owner alone: nobody else can read one, lock one, or plant one.

What somebody else has put there, such as a symbolic link that leads to another file of the owner,
is refused instead of followed. Permissions are only ever made narrower.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final

__all__ = [
    "NotPrivate",
    "make_private_folder",
    "open_private",
    "open_to_read",
    "require_private_folder",
]

FOLDER: Final = 0o700
FILE: Final = 0o600
READ_BY_OTHERS: Final = 0o055
WRITTEN_BY_OTHERS: Final = 0o022
ROOT: Final = 0

# A link is refused, and so is a pipe, without waiting for the process at its other end.
CAREFULLY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotPrivate(PermissionError):
    """A file or folder that somebody else has made, or could have changed."""


def make_private_folder(folder: Path, marks: Collection[str] = ()) -> None:
    """Make ``folder`` and those that lead to it, or require that it is there and one's own.

    Others lose the permission to look into one that is there, if it is empty or has one of the
    files ``marks``, by which it is known to hold nothing else.
    """
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    try:
        folder.mkdir(mode=FOLDER)
    except FileExistsError:
        require_private_folder(folder)
        if folder.stat().st_mode & (READ_BY_OTHERS | WRITTEN_BY_OTHERS):
            found = [each.name for each in folder.iterdir()]
            if not found or not set(marks).isdisjoint(found):
                folder.chmod(FOLDER)


def require_private_folder(folder: Path) -> None:
    """Refuse a folder of somebody else, also for root, and one in which others may have written."""
    link, found = folder.lstat(), folder.stat()
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in (ROOT, os.geteuid()):
        raise NotPrivate(
            f"{folder} is a symbolic link of the user {user(link.st_uid)}, who decides where it "
            "leads; name the folder itself, or another place"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    if found.st_uid != os.geteuid():
        raise NotPrivate(
            f"{folder} belongs to the user {user(found.st_uid)}, not to {user(os.geteuid())}; "
            "run this as its owner, or name another place"
        )
    if found.st_mode & WRITTEN_BY_OTHERS and any(folder.iterdir()):
        raise NotPrivate(
            f"others can write to {folder}, and may have put there what is in it; look at it, and "
            f"then close it: chmod 700 {folder}"
        )


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a file of one's own, for writing; one that is made is for nobody else."""
    descriptor = _opened(path, flags)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise NotPrivate(
                f"{path} belongs to the user {user(found.st_uid)}, not to {user(os.geteuid())}; "
                "delete it, or name another place"
            )
        if stat.S_IMODE(found.st_mode) & ~FILE:
            os.fchmod(descriptor, found.st_mode & FILE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_to_read(path: Path) -> int:
    """A descriptor of a file that is one, and no link to another."""
    return _opened(path, os.O_RDONLY)


def _opened(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | CAREFULLY, FILE)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # the latter is what FreeBSD says
            raise NotPrivate(
                f"{path} is a symbolic link, which was not made here; delete it, and see who can "
                "write to the folder"
            ) from None
        if error.errno == errno.ENXIO:
            raise _no_file(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    return descriptor


def _no_file(path: Path) -> NotPrivate:
    return NotPrivate(f"{path} is no plain file, and was not made here; delete it")


def user(number: int) -> str:
    """The name of a user, or the number of one who has none here."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
