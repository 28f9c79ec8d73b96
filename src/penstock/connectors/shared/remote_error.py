"""How a stream that fails says so to the other end of a connection, and what is raised there."""

from __future__ import annotations

import logging
import secrets
from typing import Final

from penstock.connectors.shared.connection_log import RateLimitedLog
from penstock.flow.operators.backpressure import Overflow
from penstock.runtime import printable

__all__ = ["ClientMistake", "RemoteError", "told"]

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
