"""Files of JSON lines as sources: those that grow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.connectors.files.followed_log import FollowedLog
from penstock.connectors.files.json_lines import value_of
from penstock.connectors.files.tailed_file import TailPosition
from penstock.connectors.shared.formats import LINE_BYTES
from penstock.connectors.shared.reconnecting import SourceListener, current_listener
from penstock.flow import Flow
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.timing import StageTimer
from penstock.flow.sources.creating import Resumable
from penstock.runtime import Clock, shorten
from penstock.runtime.arguments import (
    PathGiven,
    require_clock,
    require_int,
    require_path,
    require_seconds,
)

__all__ = ["Line", "tail_json_lines"]

NAME: Final = "tail_json_lines"


class Line(NamedTuple):
    """A line of a growing file.

    ``position``  where it ends: ``position.byte`` bytes of the file come before what follows it,
                  and the rest of it tells the file from those that take its place
    ``value``     what the line says
    """

    position: TailPosition
    value: Any


def tail_json_lines(
    path: PathGiven,
    *,
    after: int | Sequence[int] = 0,
    poll: float | timedelta = 0.2,
    max_bytes: int = LINE_BYTES,
    clock: Clock | None = None,
) -> Flow[Line]:
    """The values in a file that grows by one on each line, and those that it will have, as JSON.

    Elements are ``Line(position, value)``. The first is the one after ``after``, a number of bytes
    or the position of a line. When the file has no more lines, it is checked again every ``poll``
    seconds. It need not be there yet.

    A log that is rotated is followed. A file that was renamed, or to which a symbolic link no
    longer leads, is read to its end before the one that took its place, and so are those between
    the two, if they are found beside it under the usual names: ``log.jsonl.1``,
    ``log.jsonl-20260131``, ``log-1.jsonl``, also with ``.gz``, ``.bz2`` or ``.xz``. If the log was
    copied and cut, the rest of the copy is read first. What cannot be found any more is lost, and
    so is a compressed file that is damaged: an error in the log of the program says so, and a
    pipeline shows it at its source and in its ledger.

    Emits when: a line is wanted and one is complete.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: never.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact.

    Replay: position, that of the line. The position knows its file, by its number in the file
    system and a checksum, so what was rotated meanwhile is found.

    Errors: ``ValueError`` with file and byte for what is no JSON, or null, and for a line of more
    than ``max_bytes``, by default 16 MiB, whether or not it has an end; ``OSError`` if the file
    cannot be read. At once: ``IsADirectoryError``, ``ValueError`` for ``poll`` not above 0.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import tail_json_lines
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.jsonl")
        ...     _ = path.write_text('{"delay": 12}\\n{"delay": -3}\\n{"del')
        ...     lines = tail_json_lines(path).take(2).to_list().run_sync()
        >>> [(line.position.byte, line.value) for line in lines]
        [(14, {'delay': 12}), (28, {'delay': -3})]
    """
    file = require_path(NAME, path)
    first = require_position("after", after)
    seconds = require_seconds(NAME, "poll", poll)
    most = require_int(NAME, "max_bytes", max_bytes)
    checked_clock = require_clock(NAME, clock)

    listener = current_listener()

    def lines_after(position: Any) -> Flow[Line]:
        start = first if position is None else require_position("position", position)
        return Flow(TailedLines(file, start, seconds, most, checked_clock, listener))

    return Flow(Resumable(NAME, lines_after, attrgetter("position")))


def require_position(name: str, given: Any) -> int | TailPosition:
    """A number of bytes, or the position of a line, which a journal gives back as a list."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return require_int(NAME, name, given, least=0)
    if len(given) != len(TailPosition._fields) or not all(isinstance(each, int) for each in given):
        raise ValueError(
            f"{NAME}({name}=) is a number of bytes, or the position of a line, which has"
            f" {len(TailPosition._fields)} numbers, not {shorten(given)}"
        )
    return TailPosition(*given)


class TailedLines(Origin):
    """The lines of a growing file after a position."""

    checked = True

    def __init__(
        self,
        path: Path,
        start: int | TailPosition,
        poll: float,
        max_bytes: int,
        clock: Clock | None,
        listener: SourceListener | None,
    ) -> None:
        super().__init__(NAME)
        self._path = path
        self._start = start
        self._poll = poll
        self._max_bytes = max_bytes
        self._clock = clock
        self._listener = listener

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Nothing is opened before the first pull."""
        following = FollowedLog(NAME, self._path, self._start, self._max_bytes, self._listener)
        return started(self._lines(following, StageTimer(self._clock, run, self.name)))

    def _lines(self, log: FollowedLog, timer: StageTimer) -> Elements:
        try:
            yield None
            while True:
                text = log.next_line()
                if text is None:
                    timer.start(self._poll)
                    while not timer.is_due():
                        yield PENDING
                elif text.strip():
                    yield Line(log.position, value_of(text, log.place))
        finally:
            timer.close()
            log.close()
