"""How an error of a connection is told: in the log, which nobody can fill, and at the other end."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from typing import Final

from penstock.flow.operators.backpressure import Overflow
from penstock.runtime import printable

__all__ = [
    "ClientMistake",
    "RateLimitedLog",
    "RemoteError",
    "quiet",
    "told",
]

LINES: Final = 10
"""So many lines in a row are logged before lines are left out."""

PAUSE: Final = 10.0
"""The seconds after which lines are logged again."""


class RateLimitedLog:
    """Lets a few lines through in each stretch of time, and counts those that it leaves out.

    Any thread may ask; a line too many or too few does no harm.
    """

    def __init__(
        self,
        lines: int = LINES,
        pause: float = PAUSE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lines = lines
        self._pause = pause
        self._now = now
        self._began = now()
        self._passed = 0
        self._left_out = 0

    def passes(self) -> bool:
        """Whether there is room for a line now."""
        if self._now() - self._began >= self._pause:
            self._began, self._passed = self._now(), 0
        if self._passed >= self._lines:
            self._left_out += 1
            return False
        self._passed += 1
        return True

    def left_out(self) -> str:
        """What to add to a line that is logged, about those that were not since the last one."""
        count, self._left_out = self._left_out, 0
        return f" ({count} lines like this were left out)" if count else ""


class OneLineTracebacks(logging.Filter):
    """Makes one line of a traceback, since it is about a client and not about our code."""

    def __init__(self) -> None:
        super().__init__()
        self._rate_limit = RateLimitedLog()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it; escape sequences that a client sent are made harmless."""
        if record.levelno < logging.INFO:
            return False  # there are all headers in it, and so all credentials
        if record.levelno > logging.INFO and not self._rate_limit.passes():
            return False
        error = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() if error is None else f"{record.getMessage()}: {words_of(error)}"
        record.msg, record.args = printable(text) + self._rate_limit.left_out(), ()
        record.exc_info = record.exc_text = None
        if error is not None:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def words_of(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def quiet(library: str) -> logging.Logger:
    """The logger that a library gets from us, in place of its own.

    It logs no details, and no more than a few lines in a row about clients that connect.
    """
    logger = logging.getLogger(f"penstock.connectors.shared.connection_errors.{library}")
    if not logger.filters:
        logger.addFilter(OneLineTracebacks())
    return logger


logger = logging.getLogger(__name__)


class RemoteError(Exception):
    """The stream at the other end of a connection failed; the text is what it said."""


class ClientMistake(ValueError):
    """The other end has asked for what cannot be; it may know why."""


_mistakes: Final = RateLimitedLog()
_tracebacks: Final = RateLimitedLog()


def told(connector: str, peer: str, error: Exception) -> str:
    """Log why the connection of ``peer`` ends; the words for the other end.

    It is told what it did wrong itself. What failed here is not disclosed: it gets a number under
    which the log has the error. However often that happens, the log has few tracebacks.
    """
    if isinstance(error, ClientMistake | Overflow):
        words = printable(f"{type(error).__name__}: {error}")
        if _mistakes.passes():
            logger.warning(
                "%s: the connection of %s ends: %s%s", connector, peer, words, _mistakes.left_out()
            )
        return words
    number = secrets.token_hex(4)
    logger.warning(
        "%s: the connection of %s ends with an error, told there as %s: %s",
        connector,
        peer,
        number,
        printable(f"{type(error).__name__}: {error}"),
        exc_info=error if _tracebacks.passes() else None,
    )
    return f"the server has failed; its log says why, under {number}"
