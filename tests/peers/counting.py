"""How many random trees give the same here and there, and why others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import Final, Protocol, TypeVar

from tests.peers.demand import KINDS, Kind, Schedule, agrees, schedule
from tests.peers.differences import judge
from tests.peers.trees import Tree, grow
from tests.peers.vocabulary import OPERATORS

__all__ = ["EVERY", "Counts", "count_demands", "count_trees"]

T = TypeVar("T")
EVERY: Final = {name: operator.inputs for name, operator in OPERATORS.items()}


@dataclass
class Counts:
    """How many trees were equal, different for which reasons, and those without a reason."""

    equal: int = 0
    different: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unexplained: list[Tree] = field(default_factory=list)

    def __str__(self) -> str:
        total = self.equal + self.different.total() + len(self.unexplained)
        lines = [f"{total:7} trees", f"{self.equal:7} equal"]
        for names, count in self.different.most_common():
            lines.append(f"{count:7} {' + '.join(names)}")
        lines.append(f"{len(self.unexplained):7} unexplained")
        return "\n".join([*lines, *map(str, self.unexplained)])


class Watch(Protocol):
    """Sees trees pass, of which there are ``total``."""

    def __call__(self, trees: Iterable[T], total: int) -> Iterable[T]:
        """The same trees."""


def unwatched(trees: Iterable[T], total: int) -> Iterable[T]:
    return trees


def count_trees(trees: int, seed: int, watch: Watch = unwatched) -> Counts:
    """Under unbounded demand: elements, times and the end."""
    counts, choose = Counts(), Random(seed).randint
    grown = (grow(choose, EVERY) for _ in range(trees))
    for tree in watch(grown, trees):
        match judge(tree).explained_by:
            case None:
                counts.unexplained.append(tree)
            case ():
                counts.equal += 1
            case names:
                counts.different[names] += 1
    return counts


def count_demands(trees: int, seed: int, watch: Watch = unwatched) -> Counts:
    """Under random demand: the elements, and how it ended."""
    counts = Counts()
    for kind, tree, requests in watch(drawn(trees, seed), trees):
        if agrees(tree, requests, ordered=kind.ordered):
            counts.equal += 1
        else:
            counts.unexplained.append(tree)
    return counts


def drawn(trees: int, seed: int) -> Iterator[tuple[Kind, Tree, Schedule]]:
    """Trees of each kind in turn, and when how much is requested of them."""
    choose = Random(seed).randint
    for _, kind in zip(range(trees), cycle(KINDS.values()), strict=False):
        yield kind, kind.grow(choose), schedule(choose)
