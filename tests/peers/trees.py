"""Random trees of operators: timed sources at the leaves, and what is done with them.

All times of a tree are whole seconds. Each source and each length of time has an offset of its own,
far below the length of a tick, and none is a small multiple of others: what different sources do
never falls on the same moment by accident, where the order would be a matter of taste.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

__all__ = ["TICK", "Node", "Source", "Tree", "grow", "operators_in"]

TICK: Final = 2**24
"""The unit of all times in a tree, in seconds."""

OFFSETS: Final = Random(1).sample(range(2**20), 14)
LONGEST: Final = 6
DEEPEST: Final = 4

Choose = Callable[[int, int], int]
"""A number from the first to the second one: hypothesis's choice, or that of a random generator."""


@dataclass(frozen=True)
class Source:
    """Elements and an end at their moments: of the clock if it is hot, else of the subscription.

    A source without ``end`` goes on for ever; with ``error`` it fails at its end.
    """

    name: str
    hot: bool
    elements: tuple[tuple[int, int], ...]
    end: int | None
    error: str | None

    def __str__(self) -> str:
        kind = "hot" if self.hot else "cold"
        ending = "" if self.end is None else f" {self.error or 'end'}@{in_ticks(self.end)}"
        played = " ".join(f"{element}@{in_ticks(at)}" for at, element in self.elements)
        return f"{self.name}({kind}: {played}{ending})"


@dataclass(frozen=True)
class Node:
    """An operator with its number, its length of time, and the trees it is applied to."""

    operator: str
    number: int
    seconds: int
    inputs: tuple[Tree, ...]

    def __str__(self) -> str:
        upstream, *others = map(str, self.inputs)
        arguments = [f"n={self.number}", f"seconds={in_ticks(self.seconds)}", *others]
        return f"{upstream}\n  .{self.operator}({', '.join(arguments)})"


Tree = Source | Node


def in_ticks(seconds: int) -> str:
    """A time as it is printed: ticks, and the offsets that keep moments apart."""
    ticks, rest = divmod(seconds, TICK)
    return f"{ticks}+{rest}"


def operators_in(tree: Tree) -> set[str]:
    """The names of all operators of a tree."""
    if isinstance(tree, Source):
        return set()
    return {tree.operator}.union(*map(operators_in, tree.inputs))


def grow(
    choose: Choose, arities: Mapping[str, int], *, hot: bool = True, failing: bool = True
) -> Tree:
    """A tree of the operators in ``arities``, each with the number of its inputs.

    Sources may be ``hot`` and ``failing``, unless they must not.
    """
    return _Growth(choose, list(arities.items()), hot, failing).tree(choose(1, DEEPEST))


class _Growth:
    """How a tree grows; it hands out the offsets."""

    def __init__(
        self, choose: Choose, arities: Sequence[tuple[str, int]], hot: bool, failing: bool
    ) -> None:
        self._choose = choose
        self._arities = arities
        self._hot = hot
        self._failing = failing
        self._used = 0

    def tree(self, depth: int) -> Tree:
        if depth == 0 or self._used > len(OFFSETS) - 4:
            return self.source()
        operator, inputs = self._arities[self._choose(0, len(self._arities) - 1)]
        upstream = self.tree(depth - 1)
        others = [self.tree(self._choose(0, min(1, depth - 1))) for _ in range(inputs - 1)]
        number, seconds = self._choose(1, 4), self._choose(1, 3) * TICK + self._offset()
        return Node(operator, number, seconds, (upstream, *others))

    def source(self) -> Source:
        name, offset = f"s{self._used}", self._offset()
        moments = [0]
        for _ in range(self._choose(0, LONGEST)):
            moments.append(moments[-1] + self._choose(0, 3))
        *before, last = [moment * TICK + offset for moment in moments]
        elements = tuple((at, self._choose(0, 9)) for at in before)
        ending = self._choose(0, 5)
        return Source(
            name,
            hot=self._hot and self._choose(0, 3) == 3,
            elements=elements,
            end=None if ending == 5 else last,
            error=f"{name} failed" if ending == 4 and self._failing else None,
        )

    def _offset(self) -> int:
        self._used += 1
        return OFFSETS[self._used % len(OFFSETS)]
