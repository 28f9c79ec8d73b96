"""What came of a tree: elements with their times, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tests.peers.trees import TICK

__all__ = ["HORIZON", "Failed", "Outcome"]

HORIZON: Final = 64 * TICK
"""When a run is left, in seconds: trees that go on for ever go no further."""


class Failed(Exception):
    """An error of a tree: of a source, or of a function."""


@dataclass
class Outcome:
    """Elements and the end, each with its time. Errors are the same if their texts are."""

    elements: list[tuple[int, object]] = field(default_factory=list)
    end: tuple[int, str] | None = None

    @property
    def values(self) -> list[object]:
        """The elements without their times."""
        return [element for _, element in self.elements]

    def sorted_by_time(self) -> Outcome:
        """The same with the elements of each moment in an order that is theirs alone."""
        return Outcome(sorted(self.elements, key=repr), self.end)

    @property
    def ending(self) -> str:
        """How it ended, without the time; nothing if it goes on."""
        return "" if self.end is None else self.end[1]
