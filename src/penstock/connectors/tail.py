"""Files of JSON lines as sources: those that grow."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from penstock.connectors.arguments import PathGiven, require_path
from penstock.connectors.json_lines import value_of
from penstock.connectors.positions import behind_positions
from penstock.flow import Flow
from penstock.flow.arguments import require_clock, require_seconds, require_size
from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.operators.alarm import Alarm
from penstock.flow.stage import Origin
from penstock.runtime import Clock

__all__ = ["Line", "tail_json_lines"]

NAME: Final = "tail_json_lines"

logger = logging.getLogger(__name__)


class Line(NamedTuple):
    """A line of a growing file.

    ``position``  how many bytes of the file come before what follows this line
    ``value``     what the line says
    """

    position: int
    value: Any


def tail_json_lines(
    path: PathGiven,
    *,
    after: int = 0,
    poll: float | timedelta = 0.2,
    clock: Clock | None = None,
) -> Flow[Line]:
    """The values in a file that grows by one on each line, and those that it will have, as JSON.

    Elements are ``Line(position, value)``. The first is the one behind byte ``after``. When the
    file has no more lines, it is looked at again every ``poll`` seconds. It need not be there yet.
    When another file takes its place, or it gets shorter, as logs do that are rotated, reading
    starts again at the beginning of what is there then, and the log says so.

    Emits when: a line is wanted and one is complete.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: never.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact.

    Replay: position: ``on_spark(position=lambda line: line.position)``. A file that was replaced
    while nobody read it is taken for the same one, unless it is shorter than the position.

    Errors: ``ValueError`` with file and byte for what is no JSON, or null; ``OSError`` if the file
    cannot be read. At once: ``IsADirectoryError``, ``ValueError`` for ``poll`` not above 0.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import tail_json_lines
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.jsonl")
        ...     _ = path.write_text('{"delay": 12}\\n{"delay": -3}\\n{"del')
        ...     tail_json_lines(path).take(2).to_list().run_sync()
        [Line(position=14, value={'delay': 12}), Line(position=28, value={'delay': -3})]
    """
    file = require_path(NAME, path)
    first = require_size(NAME, "after", after, least=0)
    seconds = require_seconds(NAME, "poll", poll)
    checked_clock = require_clock(NAME, clock)

    def behind(position: Any) -> Flow[Line]:
        start = first if position is None else require_size(NAME, "position", position, least=0)
        return Flow(Tail(file, start, seconds, checked_clock))

    return behind_positions(NAME, behind)


class Tail(Origin):
    """The lines of a growing file behind a position."""

    checked = True

    def __init__(self, path: Path, start: int, poll: float, clock: Clock | None) -> None:
        super().__init__(NAME)
        self._path = path
        self._start = start
        self._poll = poll
        self._clock = clock

    def open(self, host: Host, each: int) -> Elements:
        """Nothing is opened before the first pull."""
        return self._lines(Growing(self._path, self._start), Alarm(self._clock, host))

    def _lines(self, file: Growing, alarm: Alarm) -> Elements:
        try:
            while True:
                text = file.next_line()
                if text is None:
                    alarm.set(self._poll)
                    while not alarm.rings():
                        yield PENDING
                elif text.strip():
                    yield Line(file.position, value_of(text, f"{self._path}, {file.place}"))
        finally:
            alarm.close()
            file.close()


class Growing:
    """A file, or the one that has taken its place meanwhile.

    ``position``  behind which byte the next line begins
    """

    def __init__(self, path: Path, position: int) -> None:
        self.position = position
        self.place = ""
        self._path = path
        self._file: BinaryIO | None = None
        self._begun = b""
        self._replaced = False
        self._awaited = False

    def next_line(self) -> bytes | None:
        """A complete line, or none yet."""
        file = self._file or self._opened()
        if file is None:
            return None
        self._begun += file.readline()
        if self._begun.endswith(b"\n"):
            return self._taken()
        if self._replaced:  # and the old file, looked at once more, has no more
            return self._rest_before_the_next_file()
        return self.next_line() if self._is_replaced(file) else None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _taken(self) -> bytes:
        line, self._begun = self._begun, b""
        self.place = f"line at byte {self.position}"
        self.position += len(line)
        return line

    def _rest_before_the_next_file(self) -> bytes | None:
        """The end of a file that is over is a line, too."""
        rest = self._taken()
        self._start_again()
        return rest or self.next_line()

    def _opened(self) -> BinaryIO | None:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            if not self._awaited:
                logger.info("%s: %s is not there yet", NAME, self._path)
            self._awaited = True
            return None
        if os.fstat(file.fileno()).st_size < self.position:
            logger.warning(
                "%s: %s is shorter than %d bytes; it is read from its beginning",
                NAME,
                self._path,
                self.position,
            )
            self.position = 0
        file.seek(self.position)
        self._file = file
        return file

    def _is_replaced(self, file: BinaryIO) -> bool:
        here = os.fstat(file.fileno())
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False  # moved away; more may come to it until the next one is there
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            logger.warning("%s: another file has taken the place of %s", NAME, self._path)
            self._replaced = True
        elif here.st_size < self.position + len(self._begun):
            logger.warning("%s: %s got shorter; it is read from its beginning", NAME, self._path)
            self._begun = b""
            self._start_again()
        return self._replaced

    def _start_again(self) -> None:
        self.close()
        self.position = 0
        self._replaced = False
