"""How far a topic was read: what a position says, which goes along with each message.

A position is numbers alone. First come the next offsets, one for each partition, which are zero or
more. What follows is below zero: the partitions, if not all of them are read, as ``-1 - partition``
each, and then what stands for the topic. Of all partitions the last is left out if nobody knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeAlias

from penstock.connectors.kafka.offsets import CONNECTOR
from penstock.runtime import shorten

__all__ = ["KafkaPosition", "TopicProgress", "end_of_position", "require_partitions"]

KafkaPosition: TypeAlias = tuple[int, ...]
"""The offset of the next message of each partition, and what tells partitions and topic."""

NOT_KNOWN: Final = -1
"""Stands for a topic of which brokers do not tell the id."""


class TopicProgress(NamedTuple):
    """How far a topic was read.

    ``next_offsets``  those of the partitions that were read, in order
    ``is_whole``      whether these were all partitions that there were
    ``identity``      a number below zero that stands for the topic, if that is known
    """

    next_offsets: dict[int, int]
    is_whole: bool
    identity: int | None

    @classmethod
    def of(cls, name: str, given: Any) -> TopicProgress:
        """What a position says, which a journal gives back as a list."""
        progress = found_in(given) if is_numbers(given) else None
        if progress is None:
            raise ValueError(
                f"{CONNECTOR}: {name} must be the position of a message, or the next offset of "
                f"each partition from the first on, not {shorten(given)}"
            )
        return progress

    def offsets_of(self, partitions: Sequence[int] | None) -> dict[int, int]:
        """The next offsets of some partitions, or of all; new ones have none.

        Raises ``LookupError`` if some were left out before: nobody knows where to begin with them.
        """
        known = self.next_offsets
        if not self.is_whole and (partitions is None or not known.keys() >= {*partitions}):
            raise LookupError(
                f"{CONNECTOR}: the position is one of partitions={[*known]}, and says nothing of "
                "others; read these, or begin without that position"
            )
        if partitions is None:
            return dict(known)
        return {each: known[each] for each in partitions if each in known}


def found_in(numbers: Sequence[int]) -> TopicProgress | None:
    """The parts of a position; ``None`` if it is none."""
    offsets = [*takewhile((-1).__lt__, numbers)]
    rest = numbers[len(offsets) :]
    if not offsets or max(rest, default=-1) >= 0:
        return None
    if len(rest) <= 1:
        return TopicProgress(dict(enumerate(offsets)), True, identity_in(rest))
    partitions = [-1 - each for each in rest[:-1]]
    if len(partitions) != len(offsets) or partitions != sorted({*partitions}):
        return None
    return TopicProgress(dict(zip(partitions, offsets, strict=True)), False, identity_in(rest[-1:]))


def identity_in(rest: Sequence[int]) -> int | None:
    """What stands for the topic, if it says."""
    return None if not rest or rest[0] == NOT_KNOWN else rest[0]


def end_of_position(partitions: Sequence[int] | None, identity: int | None) -> tuple[int, ...]:
    """What a position has behind the offsets; ``partitions`` if only some are read."""
    if partitions is None:
        return () if identity is None else (identity,)
    return (*(-1 - each for each in partitions), NOT_KNOWN if identity is None else identity)


def require_partitions(given: object) -> tuple[int, ...] | None:
    """Numbers of partitions, in order; ``None`` for all that there are."""
    if given is None:
        return None
    numbers = [*given] if isinstance(given, Iterable) else []
    if not is_numbers(numbers) or min(numbers, default=-1) < 0 or len({*numbers}) < len(numbers):
        raise ValueError(
            f"{CONNECTOR}: partitions must be numbers from 0 on, each once, such as [0, 1], not "
            f"{shorten(given)}"
        )
    return tuple(sorted(numbers))


def is_numbers(given: Any) -> bool:
    """Whether it is a sequence of whole numbers."""
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str | bytes)
        and all(isinstance(each, int) and not isinstance(each, bool) for each in given)
    )
