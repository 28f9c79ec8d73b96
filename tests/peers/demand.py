"""The elements of a tree under random demand: those that RxPY gives, which knows no demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from penstock import UNBOUNDED
from tests.peers.differences import judge, words_here, words_there
from tests.peers.outcome import HORIZON, Outcome
from tests.peers.runs import run_here, run_there
from tests.peers.trees import TICK, Choose, Tree, grow
from tests.peers.vocabulary import OPERATORS

__all__ = ["KINDS", "Kind", "Schedule", "agrees", "schedule"]

Schedule = list[tuple[int, int]]
"""After how many ticks how many elements are requested."""


class Kind(NamedTuple):
    """A kind of trees that give the same whatever the demand."""

    arities: dict[str, int]
    failing: bool
    ordered: bool

    def grow(self, choose: Choose) -> Tree:
        # When a hot source is subscribed to may depend on the demand, and so what it gives.
        return grow(choose, self.arities, hot=False, failing=self.failing)


def named(*names: str) -> dict[str, int]:
    return {name: OPERATORS[name].inputs for name in names}


FAILING: Final = ("dematerialize", "map_that_fails")
ORDERED: Final = [name for name, each in OPERATORS.items() if each.ordered]
UNORDERED: Final = [name for name, each in OPERATORS.items() if each.unordered]

KINDS: Final = {
    "one after the other": Kind(
        named(*[name for name in ORDERED if not OPERATORS[name].at_once]),
        failing=True,
        ordered=True,
    ),
    "in order": Kind(
        named(*[name for name in ORDERED if name not in FAILING]), failing=False, ordered=True
    ),
    "in any order": Kind(
        named(*UNORDERED, "map", "filter", "start_with", "concat", "count", "repeat"),
        failing=False,
        ordered=False,
    ),
}


def schedule(choose: Choose) -> Schedule:
    """Up to twelve requests."""
    return [(choose(0, 3), choose(1, 4)) for _ in range(choose(0, 12))]


def agrees(tree: Tree, requests: Schedule, *, ordered: bool) -> bool:
    """Whether what came is what RxPY gives, once all is requested."""
    explained_by = judge(tree).explained_by
    if explained_by is None:
        return False
    there = run_there(tree, words_there(*explained_by))
    here = run_here(tree, words_here(*explained_by), in_seconds(requests), 2 * HORIZON)
    if there.end is None:  # here it had more time
        return begins_with(here, there, ordered=ordered)
    return here.ending == there.ending and same(here, there, ordered=ordered)


def in_seconds(requests: Schedule) -> Iterable[tuple[int, int]]:
    """The moments of the requests, and one for all the rest, half a horizon later at most."""
    moments = accumulate(ticks for ticks, _ in requests)
    for moment, (_, count) in zip(moments, requests, strict=True):
        yield moment * TICK, count
    yield HORIZON // 2 + HORIZON // 8, UNBOUNDED


def same(here: Outcome, there: Outcome, *, ordered: bool) -> bool:
    return here.values == there.values if ordered else counts(here) == counts(there)


def begins_with(here: Outcome, there: Outcome, *, ordered: bool) -> bool:
    if ordered:
        return here.values[: len(there.values)] == there.values
    return counts(there) <= counts(here)


def counts(outcome: Outcome) -> Counter[object]:
    return Counter(outcome.values)
