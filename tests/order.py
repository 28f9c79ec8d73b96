"""In which order the tests run: the fast ones first, so that a fault of most kinds is seen soon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

__all__ = ["in_shares"]

Item = TypeVar("Item")

# They wait for other processes, for a minute and more each: begun last, they would end last.
LONGEST: Final = ("tests/faults/", "tests/demo/", "tests/cli/test_service.py")
SLOW: Final = (
    "tests/attacks/",
    "tests/bridges/",
    "tests/browser/",
    "tests/connectors/test_conformance.py",
    "tests/examples/",
    "tests/flow/explored/",
    "tests/flow/test_conformance.py",
    "tests/pipeline/",
    "tests/spark/",
    "tests/style/test_tools.py",
    "tests/tck/jvm/",
    "tests/tck/mutants/",
    "tests/tck/unit/",
)


def in_shares(items: Sequence[Item], names: Sequence[str], processes: int) -> list[Item]:
    """``items``, which have these names: a share for each process, one share after another.

    Each share begins with fast tests. Those of Spark stay together, since they share a session.
    """
    named = list(zip(names, items, strict=True))
    longest = [item for name, item in named if name.startswith(LONGEST)]
    slow = [item for name, item in named if name.startswith(SLOW)]
    fast = [item for name, item in named if not name.startswith(LONGEST + SLOW)]
    ordered = longest
    for number in range(processes):
        ordered += part(fast, number, processes) + part(slow, number, processes)
    return ordered


def part(items: list[Item], number: int, parts: int) -> list[Item]:
    """One of so many parts that are about as long."""
    return items[len(items) * number // parts : len(items) * (number + 1) // parts]
