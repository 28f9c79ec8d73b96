"""``python -m tests.peers --trees 20000``: compare that many random trees, and count them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

from tests.peers.counting import Counts, count_demands, count_trees

T = TypeVar("T")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--trees", type=int, default=1_000, help="how many trees (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="which trees (default: 1)")
    options = parser.parse_args()
    found: list[Counts] = []
    for demand, count in (("Unbounded", count_trees), ("Random", count_demands)):
        counts = count(options.trees, options.seed, shown)
        sys.stdout.write(f"{demand} demand:\n{counts}\n\n")
        sys.stdout.flush()
        found.append(counts)
    return 1 if any(counts.unexplained for counts in found) else 0


def shown(trees: Iterable[T], total: int) -> Iterator[T]:
    """The same, with a line on stderr every few seconds: how many are done, and the slowest.

    A tree that takes much longer than others is worth a look: it may be work that grows too fast.
    """
    began = told = last = monotonic()
    slowest = 0.0, 0
    for number, tree in enumerate(trees):
        yield tree
        now = monotonic()
        slowest, last = max(slowest, (now - last, number)), now
        if now - told > 5 or number + 1 == total:
            seconds, which = slowest
            sys.stderr.write(
                f"{number + 1} of {total} trees in {now - began:.0f} s; "
                f"the slowest is number {which}, {seconds:.1f} s\n"
            )
            told = now


if __name__ == "__main__":
    sys.exit(main())
