"""A temporary folder that goes when its program is dead, even if nobody could clean up.

It is locked for as long as the program lives, and whoever makes the next one removes those of the
same user that nobody holds. The lock is one of the folder itself: no file is needed for it, and it
ends with the program, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["TemporaryFolder"]

PREFIX: Final = "penstock-spark-"
AS_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class TemporaryFolder:
    """A new folder, for its user alone; ``OSError`` if there is no place for one.

    No other program removes it until it is left, or this program has ended. Where the file system
    has no locks, it is removed by this program or by nobody.
    """

    def __init__(self) -> None:
        remove_abandoned_folders()
        self._lock: int | None = None
        while not self._is_made():
            pass  # another program has taken it for abandoned before it was locked

    def leave(self) -> None:
        """Let whoever comes next remove it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.leave()

    def _is_made(self) -> bool:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            descriptor = os.open(self.path, AS_FOLDER)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # who has it meanwhile is removing the folder
        except OSError:  # there are no locks, so nobody else gets one either
            os.close(descriptor)
            return True
        if not leads_to(self.path, descriptor):
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True


def remove_abandoned_folders() -> None:
    """Remove those of this user whose programs are dead; what cannot be removed stays."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            descriptor = os.open(path, AS_FOLDER)
        except OSError:  # a link, or nothing that this user may look at
            continue
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # its program lives
            continue
        finally:
            os.close(descriptor)


def leads_to(path: Path, descriptor: int) -> bool:
    """Whether the folder that was opened is still where it was."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
