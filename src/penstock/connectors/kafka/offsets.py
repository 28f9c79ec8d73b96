"""Where to begin in a partition: at a choice, or at an offset that may be gone."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from penstock.connectors.kafka.messages import KafkaPosition
from penstock.connectors.shared.reconnecting import SourceListener
from penstock.runtime import shorten

__all__ = ["CONNECTOR", "Extent", "FirstOffsets", "OnMissing", "Start", "require_position"]

CONNECTOR: Final = "read_kafka"
Start: TypeAlias = Literal["earliest", "latest"]
OnMissing: TypeAlias = Literal["fail", "earliest", "latest"]

logger = logging.getLogger(__name__)


def require_position(name: str, given: Any) -> KafkaPosition:
    """The position of a message, which a journal gives back as a list."""
    is_position = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    if not is_position or not given or not all(is_offset(each) for each in given):
        raise ValueError(
            f"{CONNECTOR}: {name} must be the position of a message, the next offset of each "
            f"partition from the first on, not {shorten(given)}"
        )
    return tuple(given)


def is_offset(given: Any) -> bool:
    """Whether a partition may have it."""
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


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

    def _tell_lost(self, lost: int | None, words: str) -> None:
        logger.error("%s: %s", CONNECTOR, words)
        if self._listener is not None:
            self._listener.has_lost(lost, f"{CONNECTOR}: {words}")
