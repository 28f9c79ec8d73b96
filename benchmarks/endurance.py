"""A hundred million elements through ten operators: ``python3 dev.py bench endurance``."""

from __future__ import annotations

import operator
import resource
import time

from penstock import Flow, X, guard

__all__ = ["report"]

ELEMENTS = 100_000_000
UNDER_GUARD = 200_000
PORTION = 1_000_000


def ten_operators(count: int) -> Flow[int]:
    """A flow whose result is known."""
    return (
        Flow.range(count)
        .map(X + 1)
        .filter(X % 2 == 0)
        .skip(1)
        .map(X // 2)
        .take_while(X > 0)
        .distinct_until_changed()
        .scan(0, lambda _, x: x)
        .flat_map_iterable(lambda x: (x,))
        .take(count)
        .map(X - 1)
    )


def report() -> None:
    """Print the time and the growth of memory, and say which rules were broken."""
    expected = sum(range(1, UNDER_GUARD // 2))
    guarded = Flow.from_publisher(guard(ten_operators(UNDER_GUARD)))
    assert guarded.reduce(0, operator.add).run_sync() == expected
    print(f"{UNDER_GUARD:,} elements under guard: no rule broken")
    ten_operators(PORTION).reduce(0, operator.add).run_sync()
    before = peak_memory()
    started = time.process_time()
    total = ten_operators(ELEMENTS).reduce(0, operator.add).run_sync()
    seconds = time.process_time() - started
    assert total == sum(range(1, ELEMENTS // 2))
    grown = peak_memory() - before
    each = seconds / ELEMENTS * 1e9
    print(f"{ELEMENTS:,} elements through ten operators: {seconds:.0f} s CPU, {each:.0f} ns each;")
    print(f"the most memory held grew by {grown:,} KB over that of {PORTION:,} elements")


def peak_memory() -> int:
    """The most memory that this process ever held, in KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
