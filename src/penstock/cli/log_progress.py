"""What ``penstock run`` says without a terminal: a line now and then, or next to nothing."""

from __future__ import annotations

import json
import logging
import traceback
from abc import abstractmethod
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final, Self, TextIO

from penstock.cli.progress import RunProgress, summary
from penstock.observe import Status
from penstock.observe.figures import count, duration, pace, seconds
from penstock.observe.ledger import WORDS
from penstock.observe.units import counted
from penstock.runtime import printable

__all__ = ["JsonProgress", "LineProgress", "short_line"]

LINE_EVERY: Final = 10.0
"""The seconds between two lines, unless the state changes."""


class LogProgress(RunProgress):
    """A line now and then; if ``quiet``, of what went wrong alone."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._state = ""
        self._said = 0.0

    def say(self, text: str) -> None:
        """A line, unless it is quiet."""
        if not self._quiet:
            self._write(self._line("info", text))

    def warn(self, text: str) -> None:
        """A line in any case."""
        self._write(self._line("error", text))

    def show(self, status: Status) -> None:
        """A line if the last one is some time ago, or the state is another one."""
        now = monotonic()
        if status.state != self._state or now - self._said >= LINE_EVERY:
            self._state, self._said = status.state, now
            if not self._quiet:
                self._write(self._status_line(status, short_line(status)))

    def end(self, status: Status) -> None:
        """The summary."""
        if not self._quiet:
            self._write(self._status_line(status, summary(status)))

    def _write(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()

    @abstractmethod
    def _line(self, level: str, text: str) -> str:
        """A message as a line."""

    @abstractmethod
    def _status_line(self, status: Status, text: str) -> str:
        """A status as a line, of which ``text`` is what people read."""


class LineProgress(LogProgress):
    """Lines for people."""

    def _line(self, level: str, text: str) -> str:
        return printable(text, lines=True)

    def _status_line(self, status: Status, text: str) -> str:
        return printable(text)


class JsonProgress(LogProgress):
    """Lines for programs: an object each, and while it is entered one for what modules log."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        super().__init__(stream, quiet=quiet)
        self._handlers: list[logging.Handler] = []

    def __enter__(self) -> Self:
        root = logging.getLogger()
        self._handlers, root.handlers = root.handlers, [LogHandler(self)]
        logging.captureWarnings(True)
        return self

    def __exit__(self, *_: object) -> None:
        logging.captureWarnings(False)
        logging.getLogger().handlers = self._handlers

    def write_record(self, record: logging.LogRecord) -> None:
        """What a module has logged."""
        fields = {"level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info is not None:
            fields["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        self._write(as_json({**fields, "logger": record.name}))

    def _line(self, level: str, text: str) -> str:
        return as_json({"level": level, "message": text})

    def _status_line(self, status: Status, text: str) -> str:
        return as_json({"level": "info", "message": text, **figures(status)})


class LogHandler(logging.Handler):
    """Hands what is logged to a ``JsonProgress``."""

    def __init__(self, progress: JsonProgress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """As one line."""
        try:
            self._progress.write_record(record)
        except Exception:
            self.handleError(record)


def as_json(fields: dict[str, Any]) -> str:
    """An object on one line, with the time of now."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, **fields}, allow_nan=False)


def figures(status: Status) -> dict[str, Any]:
    """The figures of a status, without any element that has passed."""
    point = status.point
    return {
        "pipeline": status.pipeline,
        "state": status.state,
        "seconds": round(status.seconds, 3),
        "rate_in": point.rate_in,
        "rate_out": point.rate_out,
        "in_flight": point.in_flight,
        "p50": point.p50,
        "p99": point.p99,
        "lag": point.lag,
        "batch": None if status.batch is None else status.batch.number,
        "stages": {
            each.name: {
                "passed": each.passed,
                "unit": each.unit,
                "rate": each.rate,
                "trouble": each.trouble,
            }
            for each in status.stages
        },
        "ledger": {word.field: getattr(status.ledger, word.field) for word in WORDS},
        "sentence": status.sentence,
    }


def short_line(status: Status) -> str:
    """How it goes, in one line."""
    point = status.point
    held = counted(count(point.in_flight), status.units.between)
    waiting = f", {held} in flight" if point.in_flight else ""
    lag = "" if point.lag is None else f", lag {seconds(point.lag)}"
    moving = f"{pace(status)}{waiting}{lag}"
    time = duration(status.seconds)
    return f"{status.pipeline} {status.state} {time}   {moving}   {status.sentence}"
