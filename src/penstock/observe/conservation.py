"""Whether all that went in came out: the sum behind ``lost``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Conservation", "Passage", "difference"]


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
    """Finds what is missing, look after look."""

    def __init__(self) -> None:
        self._missing: dict[tuple[str, str], int] = {}

    def missing(
        self, passages: Iterable[Passage], *, settled: bool
    ) -> list[tuple[Passage, int]] | None:
        """How many each of them misses; ``None`` if there is no passage that could tell.

        The gauges of a passage are read one after the other. While elements move, one of them may
        be between two gauges: then only what two looks in a row find missing is lost.
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
