"""Prints the table of benchmarks."""

from __future__ import annotations

import platform
import sys
import tracemalloc

from benchmarks.measure import best_of
from benchmarks.reference import CASES, bytes_per_subscriber

BARS_IN_MICROSECONDS = {"subscribe and one element": 5.0}


def main() -> None:
    """Measure everything, which takes some seconds, and print it."""
    print(f"CPython {platform.python_version()}, CPU time, best of 9 interleaved rounds\n")
    results = best_of(CASES)
    bare = results["bare loop"]
    print(f"{'':34} {'ns':>8} {'x bare':>8}   bar")
    for name, spent in results.items():
        print(f"{name:34} {spent:8,.0f} {spent / bare:8.1f}   {verdict(name, spent)}")
    tracemalloc.start()
    size = bytes_per_subscriber(10_000)
    tracemalloc.stop()
    print(f"\n10,000 subscribers of one Broadcast: {size:,.0f} bytes each (bar: 2,048)")


def verdict(name: str, nanoseconds: float) -> str:
    """Whether a bar was met, where there is one."""
    bar = BARS_IN_MICROSECONDS.get(name)
    if bar is None:
        return ""
    return f"{bar:g} us: {'met' if nanoseconds <= bar * 1000 else 'MISSED'}"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
