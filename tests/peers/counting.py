"""How many random trees give the same here and there, and why others do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.peers.demand import KINDS, agrees, schedule
from tests.peers.differences import judge
from tests.peers.trees import Tree, grow
from tests.peers.vocabulary import OPERATORS

__all__ = ["EVERY", "Counts", "count_demands", "count_trees"]

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


def count_trees(trees: int, seed: int) -> Counts:
    """Under unbounded demand: elements, times and the end."""
    counts, choose = Counts(), Random(seed).randint
    for _ in range(trees):
        tree = grow(choose, EVERY)
        match judge(tree).explained_by:
            case None:
                counts.unexplained.append(tree)
            case ():
                counts.equal += 1
            case names:
                counts.different[names] += 1
    return counts


def count_demands(trees: int, seed: int) -> Counts:
    """Under random demand: the elements, and how it ended."""
    counts, choose = Counts(), Random(seed).randint
    for number in range(trees):
        kind = list(KINDS.values())[number % len(KINDS)]
        tree, requests = kind.grow(choose), schedule(choose)
        if agrees(tree, requests, ordered=kind.ordered):
            counts.equal += 1
        else:
            counts.unexplained.append(tree)
    return counts
