"""Whether all that went in came out: the sum that makes ``lost``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "Cause",
    "Conservation",
    "Ledger",
    "LedgerLine",
    "Passage",
    "difference",
]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the way on which elements become neither more nor fewer.

    ``entered``  elements that were accepted at its beginning
    ``left``     those that were handed on at its end
    ``held``     those that are on it, or that will come again
    ``aside``    dead letters: they were taken out on purpose
    ``failing``  what has happened to those that are missing, in words
    """

    giver: str
    taker: str
    entered: int
    left: int
    held: int = 0
    aside: int = 0
    failing: str = ""

    @property
    def words(self) -> str:
        """What has happened to those that are missing."""
        if self.failing:
            return self.failing
        if self.giver == self.taker:
            return f"entered {self.giver} and never left it"
        return f"left {self.giver} and never reached {self.taker}"

    @property
    def missing(self) -> int:
        """What went in and is nowhere."""
        return max(self.entered - self.left - self.held - self.aside, 0)


class Conservation:
    """Finds what is missing, sample after sample."""

    def __init__(self) -> None:
        self._missing: dict[tuple[str, str], int] = {}

    def missing(
        self, passages: Iterable[Passage], *, settled: bool
    ) -> list[tuple[Passage, int]] | None:
        """How many each of them misses; ``None`` if there is no passage that could tell.

        The meters of a passage are read one after the other. While elements move, one of them may
        be between two meters: then only what two samples in a row find missing is lost.
        """
        before, known = self._missing, list(passages)
        self._missing = {key_of(each): each.missing for each in known}
        if not known:
            return None
        return [
            (each, each.missing if settled else min(each.missing, before.get(key_of(each), 0)))
            for each in known
        ]


def key_of(passage: Passage) -> tuple[str, str]:
    """What tells a passage from the others of a pipeline."""
    return passage.giver, passage.words


def difference(taken: int, terms: Iterable[int | None], *, settled: bool) -> int | None:
    """What was taken and is in no term; ``None`` if one is not known, and while they move."""
    rest = taken
    for each in terms:
        if each is None:
            return None
        rest -= each
    return rest if settled else None


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Something that the ledger must say, such as a restart; ``at`` in seconds since 1970."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a number of the ledger is not 0, or not known.

    ``field``  the number
    ``count``  its part of that; ``None`` if nobody can tell
    ``place``  the stage where it was counted
    ``words``  what happened there
    """

    field: str
    count: int | None
    place: str
    words: str

    @property
    def figure(self) -> str:
        """How many."""
        return "not known" if self.count is None else f"{self.count:,}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was taken, and what became of it; ``words.py`` explains each number.

    Those that are ``None`` nobody can tell, and those that ``at_least`` names may be more.
    ``difference`` is what was taken and is in none of the terms, once nothing moves any more.
    ``lost``, ``duplicated``, ``possibly_duplicated`` and ``late`` are the sums of their ``causes``.
    """

    taken: int = 0
    delivered: int | None = 0
    filtered: int | None = None
    late: int | None = 0
    dead_letters: int = 0
    in_flight: int | None = 0
    replayed: int = 0
    recognised: int = 0
    lost: int | None = None
    duplicated: int | None = None
    possibly_duplicated: int | None = 0
    restarts: int = 0
    difference: int | None = None
    at_least: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    passages: tuple[Passage, ...] = ()
    lines: tuple[LedgerLine, ...] = ()
