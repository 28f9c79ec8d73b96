"""A file of lines as a sink that has each row once, over kills and restarts of a checkpoint.

Within a batch rows are written after the recorded length of the file. ``commit`` syncs the file and
replaces the record beside it; only then do they count. ``open``, and ``begin`` of the same batch
again, cut off what does not count. Without batches each row is given to the system at once.

Between two batches, and never within one, the file may be rotated: it is renamed, a new one is made
in its place, and the record replaced. A crash between these steps leaves a record that knows the
renamed file by its length and last bytes, and ``open`` does the rest. Without batches that is done
between two rows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from penstock.connectors.files.delivery_record import (
    DeliveryRecord,
    FilePrefix,
    RotationRecord,
    record_of,
)
from penstock.connectors.files.file_start import FileStart, SinkFile
from penstock.connectors.files.rotation import now, numbered
from penstock.connectors.shared import durable_files
from penstock.connectors.shared.full_disk import named, naming_file
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, Level

__all__ = ["TextFile"]

CHUNK_BYTES: Final = 1 << 16
"""So much is gathered before it is written."""


class TextFile:
    """Writes what ``text_of`` makes of each element as a line, after ``head`` in an empty file.

    ``lines_of`` does that for many at once, with the ends of their lines; where it says ``None``,
    ``text_of`` is called for each. Both are called on the thread that calls the sink.
    """

    level: Level = "exactly once"

    def __init__(
        self,
        place: SinkFile,
        text_of: Callable[[Any], str],
        *,
        lines_of: Callable[[list[Any]], str | None] = lambda elements: None,
        head: str | None = None,
        line_end: str = "\n",
    ) -> None:
        self._place = place
        self._path = place.path
        self._text_of = text_of
        self._lines_of = lines_of
        self._line_end = line_end
        self._head = b"" if head is None else f"{head}{line_end}".encode()
        self._descriptor: int | None = None
        self._is_regular = True
        self._length = 0
        """What the file has, and of these bytes those that count."""
        self._committed = 0
        self._rotated = RotationRecord()
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._progress = BatchProgress(str(place.path))

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error."""
        return self._place.start(epoch, self._head).words

    def open(self, epoch: Epoch | None) -> None:
        """Lock the file, cut off what does not count, and write the first line of an empty one."""
        self._place.start(epoch, self._head)  # refuses before a file is made
        regular = self._open_descriptor()
        try:
            if regular:
                durable_files.lock_file(self.descriptor, f"{self._place.connector}: {self._path}")
            start = self._place.start(epoch, self._head)  # again: now nobody else changes it
            self._begin_at(start, epoch)
        except BaseException:
            self._leave()
            raise

    def begin(self, batch: int) -> bool:
        """Cut off what was received of the batch earlier."""
        self._cut_back()
        return self._progress.begin(batch)

    def __call__(self, element: Any) -> None:
        """Take an element; without batches, the system has it when this returns."""
        self._gather(element)
        if not self._progress.in_batch:
            self._write_gathered()
            if self._progress.epoch is None:  # else it is to be told of batches, which count
                self._rotate_if_due(None)

    def give_all(self, elements: list[Any]) -> None:
        """Take many; those before one that cannot be written are."""
        if self._place.rotation is not None:  # which may be due after any of them
            for element in elements:
                self(element)
            return
        try:
            if not self._gather_at_once(elements):
                for element in elements:
                    self._gather(element)
        finally:
            if not self._progress.in_batch:
                self._write_gathered()

    def _gather_at_once(self, elements: list[Any]) -> bool:
        text = self._lines_of(elements)
        if text is None:
            return False
        try:
            self._gather_lines(text.encode())
        except UnicodeEncodeError:  # in one of them, and those before it count
            return False
        return True

    def _gather(self, element: Any) -> None:
        self._gather_lines(f"{self._text_of(element)}{self._line_end}".encode())

    def _gather_lines(self, lines: bytes) -> None:
        self._gathered.append(lines)
        self._gathered_bytes += len(lines)
        if self._gathered_bytes >= CHUNK_BYTES:
            self._write_gathered()

    def commit(self, batch: int) -> None:
        """Store the batch; one without rows leaves no trace."""
        self._write_gathered()
        has_rows = self._length != self._committed
        mark = self._progress.mark(batch)
        if self._progress.epoch is not None and has_rows:
            self._require_own_file()
            self._sync()
            self._note_time()
            self._record(self._length, mark)
        self._committed = self._length
        self._progress.committed(batch)
        if has_rows:  # they are stored, whatever happens now
            self._rotate_if_due(mark)

    def close(self) -> None:
        """Cut off what was not committed; without batches, sync what was written."""
        if self._descriptor is None:
            return
        try:
            if self._progress.in_batch or self._progress.epoch is not None:
                self._cut_back()
            elif self._is_regular:
                self._sync()
        finally:
            self._leave()

    @property
    def descriptor(self) -> int:
        """That of the file, while it is open."""
        if self._descriptor is None:
            raise ValueError(f"{self._place.connector}: {self._path} is not open")
        return self._descriptor

    def _open_descriptor(self) -> bool:
        """Open the file, made if it is not there; whether it is a regular one."""
        path = self._path
        regular = path.is_file() or not path.exists()
        how = os.O_RDWR | os.O_CREAT | os.O_APPEND if regular else os.O_WRONLY
        with naming_file(self._place.connector, path):
            self._descriptor = os.open(path, how, 0o666)
        self._is_regular = regular
        return regular

    def _begin_at(self, start: FileStart, epoch: Epoch | None) -> None:
        mark = None if start.record is None else start.record.mark
        self._progress = BatchProgress(str(self._path), epoch, mark)
        if not start.is_regular:
            self._write(self._head)
            return
        self._rotated = start.rotated
        for part in start.replaced:
            part.unlink(missing_ok=True)
        self._committed = start.length
        if epoch is None:
            record_of(self._path).unlink(missing_ok=True)  # of what is overwritten, or of nothing
        elif start.record is None:
            self._record(start.length, None)  # first: after a crash the rest is cut off then
        self._length = os.fstat(self.descriptor).st_size
        self._cut_back()
        if start.is_moved:
            self._continue_rotated(mark)
        elif not self._length and self._head:
            self._write_head(mark)
        self._committed = self._length

    def _write_head(self, mark: str | None) -> None:
        """Begin a file that is empty; ``mark`` is that of the last batch in the one before."""
        self._write(self._head)
        if self._progress.epoch is not None:
            self._sync()
            durable_files.sync_folder(self._path.parent)  # its name, and that of the one before
            self._record(self._length, mark)

    def _record(self, length: int, mark: str | None) -> None:
        part = FilePrefix.of(self.descriptor, length)
        with naming_file(self._place.connector, record_of(self._path)):
            DeliveryRecord(part, mark, self._rotated).write(self._path)

    def _sync(self) -> None:
        with naming_file(self._place.connector, self._path):
            durable_files.sync_file(self.descriptor)

    def _note_time(self) -> None:
        """Remember when the first rows came, for as long as the file has this name."""
        rotation = self._place.rotation
        if rotation is not None and rotation.seconds is not None and self._rotated.since is None:
            self._rotated = replace(self._rotated, since=now())

    def _rotate_if_due(self, mark: str | None) -> None:
        rotation = self._place.rotation
        if rotation is None:
            return
        self._note_time()
        if rotation.is_due(self._length, self._rotated.since):
            self._rotate(mark)

    def _rotate(self, mark: str | None) -> None:
        """Give the file its number, and begin another one."""
        number = self._rotated.number + 1
        part = numbered(self._path, number)
        self._require_own_file()
        if os.path.lexists(part):
            raise DeliveryRefused(
                f"{self._place.connector}: {part} is there already, and {self._path} was to get "
                "that name; move it away"
            )
        if self._progress.epoch is None:
            self._sync()
        self._rotated = RotationRecord(number, FilePrefix.of(self.descriptor, self._length))
        durable_files.replace_file(self._path, part)
        self._leave()
        self._length = self._committed = 0
        self._open_next()
        self._continue_rotated(mark)
        self._committed = self._length

    def _continue_rotated(self, mark: str | None) -> None:
        """Begin the file that takes the place of the one that was rotated, as empty as it is."""
        before = numbered(self._path, self._rotated.number)
        self._path.chmod(stat.S_IMODE(before.stat().st_mode))  # the same readers, and no others
        self._write_head(mark)

    def _open_next(self) -> None:
        """Make the file that takes the place of the one that was rotated."""
        how = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
        try:
            with naming_file(self._place.connector, self._path):
                self._descriptor = os.open(self._path, how, 0o666)
        except FileExistsError:
            raise DeliveryRefused(
                f"{self._path} was made by somebody else when it was rotated; stop that one"
            ) from None
        durable_files.lock_file(self.descriptor, f"{self._place.connector}: {self._path}")

    def _require_own_file(self) -> None:
        """Refuse to go on if somebody has moved, deleted or changed the file meanwhile."""
        ours = os.fstat(self.descriptor)
        if ours.st_size != self._length:
            raise DeliveryRefused(
                f"{self._path} has {ours.st_size:,} bytes instead of {self._length:,}: somebody "
                "else has changed it while it was written"
            )
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(there, ours):
            raise DeliveryRefused(
                f"{self._path} was moved or deleted by somebody else while it was written"
            )

    def _write_gathered(self) -> None:
        lines, self._gathered, self._gathered_bytes = self._gathered, [], 0
        if lines:
            self._write(b"".join(lines))

    def _write(self, content: bytes) -> None:
        descriptor = self.descriptor
        try:
            written = os.write(descriptor, content)
            while written < len(content):
                written += os.write(descriptor, content[written:])
        except OSError as error:
            if self._is_regular:
                with suppress(OSError):  # so that no half line stays; the first error says why
                    os.ftruncate(self.descriptor, self._length)
            raise named(error, self._place.connector, self._path) from None
        self._length += len(content)

    def _cut_back(self) -> None:
        self._gathered, self._gathered_bytes = [], 0
        if self._is_regular and self._length != self._committed:
            if os.fstat(self.descriptor).st_size > self._committed:  # never make it longer
                os.ftruncate(self.descriptor, self._committed)
            self._length = self._committed

    def _leave(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        self._gathered, self._gathered_bytes = [], 0
        if descriptor is not None:
            os.close(descriptor)
