"""Where to begin in a partition: at a choice, or at an offset that may be gone."""

from __future__ import annotations

import logging
from typing import Final, Literal, NamedTuple, TypeAlias

from penstock.connectors.shared.reconnecting import SourceListener

__all__ = [
    "CONNECTOR",
    "Extent",
    "FirstOffsets",
    "OnMissing",
    "Start",
]

CONNECTOR: Final = "read_kafka"
Start: TypeAlias = Literal["earliest", "latest"]
OnMissing: TypeAlias = Literal["fail", "earliest", "latest"]

logger = logging.getLogger(__name__)


class Extent(NamedTuple):
    """What a partition has: the messages from ``first`` to the one before ``end``."""

    first: int
    end: int

    def __str__(self) -> str:
        if self.first == self.end:
            return f"none; the next one will be {self.end}"
        return f"{self.first} to {self.end - 1}"


class FirstOffsets:
    """Decides at which offset a reading begins in each partition, and what if that is gone.

    The listener is told what is lost, on the thread that reads.
    """

    def __init__(
        self, topic: str, start: Start, on_missing: OnMissing, listener: SourceListener | None
    ) -> None:
        self._topic = topic
        self._start = start
        self._on_missing = on_missing
        self._listener = listener
        self._chosen: dict[int, int] = {}

    def chosen(self, partition: int, extent: Extent, *, is_new: bool) -> int:
        """Where to begin in a partition of which nothing was read; one that is new has it all."""
        offset = extent.end if self._start == "latest" and not is_new else extent.first
        self._chosen[partition] = offset
        return offset

    def found(self, partition: int, wanted: int, extent: Extent) -> int:
        """Where to go on; ``LookupError`` if the offset is gone and that is to be an error."""
        if extent.first <= wanted <= extent.end:
            return wanted
        if self._chosen.get(partition) == wanted < extent.first and self._start == "earliest":
            return self.chosen(partition, extent, is_new=True)  # nothing of it was promised
        place = f"{self._topic}, partition {partition}"
        what = "gone" if wanted < extent.first else "not there"
        gone = f"{place}: offset {wanted} is {what}, the partition has {extent}"
        if self._on_missing == "fail":
            raise LookupError(
                f"{CONNECTOR}: {gone}; on_missing='earliest' or 'latest' goes on there, and counts "
                "what is lost"
            )
        offset = extent.first if self._on_missing == "earliest" else extent.end
        # More were read than there are: the topic was made anew, or a broker has lost some.
        lost = offset - wanted if wanted < extent.first else None
        self._tell_lost(lost, f"{gone}; it goes on at {offset}")
        return offset

    def begin_anew(self) -> None:
        """What was read is another topic of the same name; ``LookupError`` if that is an error."""
        gone = f"{self._topic} was deleted and made anew since it was read"
        if self._on_missing == "fail":
            raise LookupError(
                f"{CONNECTOR}: {gone}; begin without that position, or let on_missing='earliest' "
                "or 'latest' begin there"
            )
        self._start = self._on_missing
        self._tell_lost(None, f"{gone}; it begins at the {self._start}")

    def _tell_lost(self, lost: int | None, words: str) -> None:
        logger.error("%s: %s", CONNECTOR, words)
        if self._listener is not None:
            self._listener.has_lost(lost, f"{CONNECTOR}: {words}")
