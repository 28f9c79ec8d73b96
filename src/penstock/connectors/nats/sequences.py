"""Where to begin in a stream: at a choice, or at a sequence that may be gone."""

from __future__ import annotations

import logging
from typing import Any, Final, Literal, TypeAlias

from penstock.connectors.nats.messages import CONNECTOR, JetStreamPosition
from penstock.connectors.nats.pulling import StreamExtent
from penstock.connectors.shared.reconnecting import SourceListener
from penstock.runtime import shorten

__all__ = ["Missing", "OnMissing", "Start", "require_position"]

Start: TypeAlias = Literal["earliest", "latest"]
OnMissing: TypeAlias = Literal["fail", "earliest", "latest"]

logger: Final = logging.getLogger(__name__)


def require_position(name: str, given: Any) -> JetStreamPosition:
    """The position of a message, which a journal gives back as a list; or its sequence alone.

    The sequence 0 is before all of them.
    """
    position = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(position) not in (1, 2) or not all(map(is_number, position)):
        raise ValueError(
            f"{CONNECTOR}: {name} must be the position of a message, or its sequence, a number "
            f"from 0 on, not {shorten(given)}"
        )
    return position


def is_number(given: Any) -> bool:
    """Whether a position may have it."""
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


class Missing:
    """Decides what becomes of a reading whose next sequence is not there.

    With a subject, it is not known how many of the missing messages were of that one. The listener
    is told what is lost, on the thread that reads.
    """

    def __init__(
        self, name: str, on_missing: OnMissing, listener: SourceListener | None, *, is_all: bool
    ) -> None:
        self._name = name
        self._on_missing = on_missing
        self._listener = listener
        self._is_all = is_all

    def goes_on_at(self, wanted: int, extent: StreamExtent) -> int:
        """The next sequence; ``LookupError`` if it is gone and that is to be an error."""
        if extent.first <= wanted <= extent.last + 1:
            return wanted
        sequence = extent.last + 1 if self._on_missing == "latest" else extent.first
        # More were read than there are: the stream was made anew, or a server has lost some.
        lost = sequence - wanted if wanted < extent.first else None
        self.tell(wanted, lost, extent, f"; it goes on at {sequence}")
        return sequence

    def begins_anew(self, wanted: int, extent: StreamExtent) -> int:
        """The next sequence of another stream that has the name of the one that was read."""
        sequence = extent.last + 1 if self._on_missing == "latest" else extent.first
        words = f"{self._name} was made anew before sequence {wanted} was read, it has {extent}"
        self._tell(words, None, f"; it goes on at {sequence}")
        return sequence

    def tell(self, wanted: int, lost: int | None, extent: StreamExtent, remedy: str = "") -> None:
        """So many are lost from ``wanted`` on: an error, or news for the listener."""
        what = "gone" if wanted < extent.first else "not there"
        words = f"sequence {wanted} of {self._name} is {what}, it has {extent}"
        self._tell(words, lost, remedy)

    def _tell(self, what: str, lost: int | None, remedy: str) -> None:
        gone = f"{CONNECTOR}: {what}"
        if self._on_missing == "fail":
            raise LookupError(
                f"{gone}; on_missing='earliest' or 'latest' goes on there, and counts what is lost"
            )
        words = gone + remedy
        logger.error("%s", words)
        if self._listener is not None:
            self._listener.has_lost(lost if self._is_all else None, words)
