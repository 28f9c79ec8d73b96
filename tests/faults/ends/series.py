"""Faults at both ends: each kind of them again and again, then the sinks are read row by row.

``python -m tests.faults.ends.series [--times 20] [--count 4000] [FAULT ...]`` prints a line for
each kind of fault and each sink. A quick selection runs with the tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.faults.ends.judgement import Verdict, judge
from tests.faults.ends.lives import FAULTS, contents, finish, suffer
from tests.faults.ends.pipelines import SOURCES
from tests.faults.ends.supply import supplied
from tests.quick_spark import start_quickly

__all__ = ["Series", "run_series"]

AT_LEAST_ONCE: Final = {"function"}
HEADER: Final = (
    f"{'fault':<30}{'times':>6}  {'sink':<16}{'rows':>8}{'lost':>6}{'again':>7}{'foreign':>9}"
    f"  {'verdict'}"
)


class Series(NamedTuple):
    """What came of faults of some kinds: how often they struck, what the sinks have."""

    times: int
    verdicts: list[Verdict]
    unchanged: bool

    @property
    def passed(self) -> bool:
        """Whether each sink has kept its promise, and a further run changed nothing."""
        return self.unchanged and all(map(keeps_promise, self.verdicts))


def keeps_promise(verdict: Verdict) -> bool:
    return verdict.is_complete if verdict.sink in AT_LEAST_ONCE else verdict.is_exact


def run_series(
    folder: Path, faults: Sequence[str], count: int, random: Random, *, again: bool = True
) -> Series:
    """Let the faults strike one after the other, let the pipeline finish, and run it again."""
    with supplied(folder, count) as settings:
        times = sum(suffer(folder, settings, FAULTS[fault], random) for fault in faults)
        finish(folder, settings)
        before = contents(folder)
        if again:
            finish(folder, settings)
        unchanged = contents(folder) == before
    return Series(times, judge(folder, tuple(SOURCES), count), unchanged)


def lines(fault: str, series: Series) -> Iterator[str]:
    for verdict in series.verdicts:
        word = "ok" if series.unchanged and keeps_promise(verdict) else "FAILED"
        yield (
            f"{fault:<30}{series.times:>6}  {verdict.sink:<16}{verdict.rows:>8,}{verdict.lost:>6}"
            f"{verdict.again:>7}{verdict.foreign:>9}  {word}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.ends.series", description=__doc__)
    parser.add_argument("fault", nargs="*", choices=[*FAULTS, []], default=[])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--count", type=int, default=4_000, help="rows of each source")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    start_quickly()
    passed = True
    sys.stdout.write(f"sources: {', '.join(SOURCES)}\n{HEADER}\n")
    for fault in options.fault or FAULTS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="penstock-ends-") as folder:
            faults = [fault] * options.times
            series = run_series(Path(folder), faults, options.count, Random(options.seed))
        passed = passed and series.passed
        sys.stdout.write("".join(f"{line}\n" for line in lines(fault, series)))
        sys.stdout.write(f"  {time.monotonic() - began:.0f} s; run again: ")
        sys.stdout.write("nothing changed\n" if series.unchanged else "FAILED: files changed\n")
        sys.stdout.flush()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
