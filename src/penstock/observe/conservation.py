"""Whether all that went in came out: the sum behind ``lost``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Conservation", "Passage"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the way on which elements become neither more nor fewer.

    ``entered``  elements that were accepted at its beginning
    ``left``     those that were handed on at its end
    ``held``     those that are on it, or that will come again
    ``aside``    dead letters: they were taken out on purpose
    """

    giver: str
    taker: str
    entered: int
    left: int
    held: int = 0
    aside: int = 0

    @property
    def missing(self) -> int:
        """What went in and is nowhere."""
        return max(self.entered - self.left - self.held - self.aside, 0)


class Conservation:
    """Adds up what is missing, look after look."""

    def __init__(self) -> None:
        self._missing: dict[tuple[str, str], int] = {}

    def lost(self, passages: Iterable[Passage], *, settled: bool) -> int | None:
        """What is missing in all of them; ``None`` if there is no passage that could tell.

        The gauges of a passage are read one after the other. While elements move, one of them may
        be between two gauges: then only what two looks in a row find missing is lost.
        """
        before = self._missing
        self._missing = {(each.giver, each.taker): each.missing for each in passages}
        if not self._missing:
            return None
        return sum(
            missing if settled else min(missing, before.get(passage, 0))
            for passage, missing in self._missing.items()
        )
