"""A log that grows, through all the files that it becomes when it is rotated."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from penstock.connectors.files.rotated_files import (
    RotatedFile,
    inode_of,
    is_compressed,
    rotated_files,
)
from penstock.connectors.files.tailed_file import (
    FileRewritten,
    TailedFile,
    TailPosition,
    first_bytes,
)
from penstock.connectors.shared.reconnecting import SourceListener

__all__ = ["FollowedLog"]

logger = logging.getLogger(__name__)

SETTLED: Final = 10.0
"""A compressed file to which nothing was written for so many seconds is complete, or damaged."""


class FollowedLog:
    """The lines of a log after a position, from one file to the next.

    A file is left when another one has taken its place and has something in it: until then, the
    program that writes the log may still write to the old one.

    ``position``  where the last line ends
    ``place``     where it begins, in words
    """

    def __init__(
        self,
        name: str,
        log: Path,
        start: int | TailPosition,
        max_bytes: int,
        listener: SourceListener | None,
    ) -> None:
        self.position = TailPosition(0, 0, 0, 0)
        self.place = ""
        self._name = name
        self._log = log
        self._start = start
        self._max_bytes = max_bytes
        self._listener = listener
        self._file: TailedFile | None = None
        # The rotated files that are not to be read, by what does not change when they are renamed.
        self._known: dict[int, bytes | None] | None = None
        self._awaited = False

    def next_line(self) -> bytes | None:
        """A complete line, or none yet."""
        while True:
            file = self._file or self._first_file()
            if file is None:
                return None
            place = file.place
            try:
                line = file.next_line()
                if line is None:
                    following = self._successor(file)
                    if following is None:
                        return None
                    # More may have come before the other file was there; its end is a line, too.
                    line = file.next_line() or file.rest()
                    if not line and not self._goes_on(file, following):
                        return None
            except FileRewritten:
                self._go_on_with_copy(file)
                continue
            if line:
                self.place = place
                self.position = file.position
                return line

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    # The first file.

    def _first_file(self) -> TailedFile | None:
        """The one that the start is in; none as long as there is nothing."""
        rotated = rotated_files(self._log)
        if isinstance(self._start, TailPosition):
            self._file = self._file_of(self._start, rotated)
            if self._file is None and not self._log.exists():
                self._say_that_it_waits()
                return None
            if self._file is None and rotated_files(self._log) != rotated:
                return None  # it is being rotated: the next poll will find it
            since = self._start.changed
            self._know(each for each in rotated if each.changed < since)
            if self._file is not None:
                return self._file
            self._lose(
                f"the file {self._log} that was read up to byte {self._start.byte:,} is gone or"
                " changed: what followed there is lost, and what is there now is read as another"
            )
            self._start = 0
        if self._known is None:
            self._know(rotated)
        return self._opened_at(self._start, self._unread())

    def _file_of(self, position: TailPosition, rotated: list[RotatedFile]) -> TailedFile | None:
        """The file that a position is of: one with its number if possible, else a copy."""
        candidates = [(inode_of(self._log), self._log)]
        since = position.changed  # what was not written to since then is older
        candidates += [(each.inode, each.path) for each in rotated if each.changed >= since]
        for _, path in sorted(candidates, key=lambda each: each[0] != position.inode):
            file = self._opened(path, position.byte)
            if file is not None:
                if file.has(position):
                    return file
                file.close()
        return None

    def _opened_at(self, start: int, unread: list[RotatedFile]) -> TailedFile | None:
        path = unread[0].path if unread else self._log
        self._file = file = self._opened(path, start)
        if file is None:
            self._say_that_it_waits()
            return None
        if file.size < start:
            self._lose(
                f"{path} is shorter than {start} bytes, so it is not the file that was read; it is"
                " read from its beginning"
            )
            file.close()
            self._file = self._opened(path, 0)
        self._start = 0
        return self._file

    def _say_that_it_waits(self) -> None:
        if not self._awaited:
            logger.info("%s: %s is not there yet", self._name, self._log)
        self._awaited = True

    # From file to file.

    def _successor(self, file: TailedFile) -> Path | None:
        """The file after this one, once there is something in it."""
        try:
            there = self._log.stat()
        except FileNotFoundError:
            return None  # moved away; more may come to it until the next one is there
        if (there.st_ino, there.st_dev) == (file.inode, file.device):
            return None
        between = [each for each in self._unread() if not is_the_same(each, file)]
        if between:
            return between[0].path
        return self._log if there.st_size else None

    def _goes_on(self, file: TailedFile, path: Path) -> bool:
        """Leave a file that is read to its end for the next one; no if that was renamed now."""
        following = self._opened(path, 0)
        if following is None:
            return False
        logger.warning(
            "%s: another file has taken the place of %s; %s is read next",
            self._name,
            file.path,
            path,
        )
        assert self._known is not None
        self._known[file.inode] = file.beginning
        file.close()
        self._file = following
        return True

    def _go_on_with_copy(self, file: TailedFile) -> None:
        """The file was cut: it may have been copied first, and the copy has the rest."""
        self.close()
        for each in self._unread():
            copy = self._opened(each.path, file.byte)
            if copy is not None and copy.has(file.position):
                logger.warning("%s: %s was cut; %s is its copy", self._name, file.path, each.path)
                self._file = copy
                return
            if copy is not None:
                copy.close()
        self._lose(
            f"{file.path} got shorter, and no copy is beside it: what followed byte"
            f" {file.byte:,} and was not read yet is lost; it is read from its beginning"
        )

    def _opened(self, path: Path, byte: int) -> TailedFile | None:
        """The file at ``path``; none if it is not there, or a rotated one that cannot be read."""
        try:
            return TailedFile(path, byte, self._max_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            if path == self._log:
                raise
            if is_being_compressed(path):
                return None  # it will be tried again
            inode = inode_of(path)
            if self._known is not None and inode is not None:
                self._known[inode] = None
                self._lose(
                    f"{path} cannot be read, so its lines are lost: {error.strerror or error}"
                )
            return None

    # Which files have been read.

    def _know(self, rotated: Iterable[RotatedFile]) -> None:
        self._known = {each.inode: first_bytes(each.path) for each in rotated}

    def _unread(self) -> list[RotatedFile]:
        """The rotated files that are to be read, the oldest first."""
        return [each for each in rotated_files(self._log) if not self._is_known(each)]

    def _is_known(self, rotated: RotatedFile) -> bool:
        """Whether it is one of those, and not a new file that got the number of an old one."""
        assert self._known is not None
        found = first_bytes(rotated.path)
        if rotated.inode in self._known:
            known = self._known[rotated.inode]
            if known is None or found is None or found.startswith(known):
                return True
        if not is_compressed(rotated.path):
            return False
        if found is None:
            # It is made of the file beside it, which is read; without that one, it is damaged.
            return rotated.path.with_suffix("").exists()
        # It may be made of a file that is known; then it has another number.
        return not found or any(known and found.startswith(known) for known in self._known.values())

    def _lose(self, words: str) -> None:
        logger.error("%s: %s", self._name, words)
        if self._listener is not None:
            self._listener.has_lost(None, words)


def is_being_compressed(path: Path) -> bool:
    """Whether somebody may still write to a compressed file."""
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    return is_compressed(path) and abs(age) < SETTLED


def is_the_same(rotated: RotatedFile, file: TailedFile) -> bool:
    """Whether that is the file which is open, renamed or compressed."""
    if rotated.inode == file.inode or not is_compressed(rotated.path):
        return rotated.inode == file.inode
    found = first_bytes(rotated.path)
    return found is not None and found.startswith(file.beginning)
