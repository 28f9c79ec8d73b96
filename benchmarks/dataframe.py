"""A DataFrame as a flow against ``toArrow``: ``python3 dev.py bench dataframe``.

Wall time, since most of the work happens in the JVM.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import Flow
from penstock.spark.session.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["report"]

ROWS = 4_000_000
MANY_ROWS = 20_000_000
PARTITIONS = 16
ROUNDS = 3
BATCHES_BAR = 0.8
ROWS_BAR = 0.9
GROWTH_BAR_IN_MEGABYTES = 16


def frame(rows: int) -> DataFrame:
    """Rows of (long, string, double)."""
    numbers = spark_session().range(0, rows, 1, PARTITIONS)
    return numbers.selectExpr("id", "concat('s', id) AS name", "id * 0.5D AS half")


def report() -> None:
    """Print the growth of memory, and the ratios."""
    few = frame(ROWS)
    print_growth()  # first: toArrow leaves memory behind, in which a run could hide
    spent = best_of(
        {
            "toArrow": lambda: few.toArrow().num_rows,
            "from_dataframe, batches": lambda: all_wanted(batches(few)),
            "from_dataframe, batches, blocking": lambda: one_by_one(batches(few)),
            "toArrow().to_pylist()": lambda: sum(1 for _ in few.toArrow().to_pylist()),
            "from_dataframe, rows": lambda: sum(1 for _ in Flow.from_dataframe(few).blocking()),
        }
    )
    print(f"{ROWS:,} rows of (long, string, double) in {PARTITIONS} partitions")
    for name, seconds in spent.items():
        print(f"{name:42} {ROWS / seconds / 1e6:8.2f} M rows/s")
    compare("batches", spent["toArrow"] / spent["from_dataframe, batches"], BATCHES_BAR)
    lazily = spent["toArrow"] / spent["from_dataframe, batches, blocking"]
    print(f"batches, blocking: {lazily:.2f} of the speed; nothing is computed ahead")
    compare("rows", spent["toArrow().to_pylist()"] / spent["from_dataframe, rows"], ROWS_BAR)
    print()


def batches(of: DataFrame) -> Flow[int]:
    """How many rows there are in each batch."""
    return Flow.from_dataframe(of, batches=True).map(lambda batch: batch.num_rows)


def all_wanted(counts: Flow[int]) -> int:
    """How many rows come to who wants all of them when the flow begins."""
    return counts.reduce(0, add).run_sync() or 0


def one_by_one(counts: Flow[int]) -> int:
    """How many come to a loop that may be left, for which nothing is computed ahead."""
    return sum(counts.blocking())


def best_of(cases: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Seconds of each case, the best of some interleaved rounds."""
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(ROUNDS):
        for name, case in cases.items():
            started = time.perf_counter()
            assert case() == ROWS
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def compare(what: str, ratio: float, bar: float) -> None:
    """One line for a ratio."""
    verdict = "met" if ratio >= bar else "MISSED"
    print(f"{what}: {ratio:.2f} of the speed, bar {bar:g}: {verdict}")


def print_growth() -> None:
    """What a run of many rows adds to the memory of this process, at most."""
    all_wanted(batches(frame(MANY_ROWS // 100)))
    many = frame(MANY_ROWS)
    before = most = resident_megabytes()
    for _ in Flow.from_dataframe(many, batches=True).blocking():
        most = max(most, resident_megabytes())
    grown = most - before
    verdict = "met" if grown <= GROWTH_BAR_IN_MEGABYTES else "MISSED"
    line = f"{MANY_ROWS:,} rows in batches: memory grew by {grown:.1f} MB"
    print(f"{line}, bar {GROWTH_BAR_IN_MEGABYTES}: {verdict}")


def resident_megabytes() -> float:
    """The memory that this process holds now."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096 / 2**20
