"""``python -m tests.peers --trees 20000``: compare that many random trees, and count them."""

from __future__ import annotations

import argparse
import sys

from tests.peers.counting import count_demands, count_trees


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--trees", type=int, default=1_000, help="how many trees (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="which trees (default: 1)")
    options = parser.parse_args()
    unbounded = count_trees(options.trees, options.seed)
    requested = count_demands(options.trees, options.seed)
    sys.stdout.write(f"Unbounded demand:\n{unbounded}\n\nRandom demand:\n{requested}\n")
    return 1 if unbounded.unexplained or requested.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
