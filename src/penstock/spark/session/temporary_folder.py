"""A temporary folder that goes when its program is dead, even if nobody could clean up.

Spark leaves what it had in ``/tmp`` when it is killed. So each JVM gets a folder of its own there,
which is locked for as long as the program lives, and each start removes those that nobody holds.
The lock is one of the folder itself and ends with the program, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["TemporaryFolder", "make_temporary_folder", "remove_abandoned_folders"]

PREFIX: Final = "penstock-spark-"
AS_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
ATTEMPTS: Final = 100


class TemporaryFolder:
    """A folder that no other program removes until it is left, or this program ends."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock

    def leave(self) -> None:
        """Whoever comes next removes it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.leave()


def make_temporary_folder() -> TemporaryFolder | None:
    """A new one, for its user alone; ``None`` where there is no place for one, or no lock."""
    for _ in range(ATTEMPTS):
        try:
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
        except OSError:
            return None
        try:
            lock = locked(path, wait=True)
        except FileNotFoundError:
            continue  # another program has found it before it was locked
        except OSError:
            shutil.rmtree(path, ignore_errors=True)
            return None
        if is_there(path, lock):
            return TemporaryFolder(path, lock)
        os.close(lock)  # as before, but that one had the lock first
    return None


def remove_abandoned_folders() -> None:
    """Remove those of this user whose programs are dead; what cannot be removed stays."""
    try:
        found = [*Path(tempfile.gettempdir()).glob(f"{PREFIX}*")]
    except OSError:
        return
    for path in found:
        try:
            lock = locked(path, wait=False)
        except OSError:  # somebody lives there, or it is not ours to look at
            continue
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def locked(path: Path, *, wait: bool) -> int:
    """The descriptor that has the lock of a folder; links are not followed."""
    descriptor = os.open(path, AS_FOLDER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_there(path: Path, descriptor: int) -> bool:
    """Whether the path still leads to the folder that was opened."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
