"""Every fault of the matrix, with figures: ``python -m tests.faults [FAULT ...]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.faults.damaged_checkpoint import damage, damages, make_checkpoint
from tests.faults.full_disk import COUNT as DISK_COUNT
from tests.faults.full_disk import SPARK_COUNT, fill_under_spark, fill_under_the_journal
from tests.faults.kills import Lives, kill_at_points, kill_at_random
from tests.faults.lost_workers import COUNT as WORKER_COUNT
from tests.faults.lost_workers import KINDS, interrupt
from tests.faults.pipeline_process import CRASHES
from tests.faults.surviving_process import survive
from tests.quick_spark import start_quickly

KILLS: Final = 20
NUMBERS: Final = 1_000_000
KILLS_ALONE: Final = 5
NUMBERS_ALONE: Final = 100_000
WINDOW_NUMBERS: Final = 40_000
SECONDS: Final = 60.0
WORKER_KILLS: Final = 5
SEED: Final = 20


class Line(NamedTuple):
    """One line of the matrix."""

    fault: str
    times: int
    lost: int
    duplicated: int | str
    duplicated_once: int | str
    seconds: float
    passed: bool
    note: str = ""

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        return (
            f"{self.fault:<34}{self.times:>6}{self.lost:>6}{self.duplicated:>8}"
            f"{self.duplicated_once:>12}{self.seconds:>9.1f}  {verdict:<7}{self.note}"
        )


HEADER: Final = (
    f"{'fault':<34}{'times':>6}{'lost':>6}{'again':>8}{'idempotent':>12}{'worst s':>9}  verdict"
)


def of_lives(fault: str, lives: Lives) -> Line:
    verdict = lives.verdict
    note = f"{lives.numbers:,} elements, most rows again at once {verdict.largest_repetition:,}"
    return Line(
        fault,
        lives.kills,
        verdict.lost,
        verdict.duplicated,
        verdict.duplicated_once,
        lives.worst_start,
        lives.keeps_the_promise,
        note,
    )


def killed_at_random(folder: Path) -> Iterator[Line]:
    lives = kill_at_random(folder, NUMBERS, KILLS, Random(SEED))
    yield of_lives("F1 kill -9 of the process group", lives)


def killed_alone(folder: Path) -> Iterator[Line]:
    lives = kill_at_random(folder, NUMBERS_ALONE, KILLS_ALONE, Random(SEED), alone=True)
    yield of_lives("F1 kill -9 of the program alone", lives)


def killed_at_points(folder: Path) -> Iterator[Line]:
    lives = kill_at_points(folder, WINDOW_NUMBERS, CRASHES)
    yield of_lives("F2 kill -9 in exact windows", lives)


def processes_of_spark_killed(folder: Path) -> Iterator[Line]:
    for kind in KINDS:
        lost = again = 0
        worst = 0.0
        for number in range(WORKER_KILLS):
            place = folder / f"{kind}-{number}"
            place.mkdir()
            found = interrupt(place, kind)
            lost += len({*range(WORKER_COUNT)} - {*found.numbers})
            again += len(found.numbers) - len({*found.numbers})
            worst = max(worst, found.seconds)
        passed = not lost and not again
        yield Line(f"F3 a {kind} of Spark killed", WORKER_KILLS, lost, again, again, worst, passed)


def slow_and_then_without_a_jvm(folder: Path) -> Iterator[Line]:
    seen = survive(SECONDS)
    passed = (
        seen.error.startswith("SparkLost: ")
        and seen.seconds <= 5.0
        and not seen.orphans
        and seen.afterwards
        and not seen.left_behind
    )
    note = f"the worst time is that to on_error; {seen.orphans} processes left"
    yield Line("F4 JVM killed, Python lives", 1, 0, "-", "-", seen.seconds, passed, note)
    passed = (
        seen.most_over <= 0
        and seen.most_over_sink <= 0
        and seen.source_paused
        and seen.growth <= 1.05
    )
    note = (
        f"{SECONDS:.0f} s, {seen.taken} taken, the source gave {seen.made:,} and came to "
        f"rest; memory x {seen.growth:.3f}"
    )
    yield Line("F9 slow subscriber", 1, 0, "-", "-", 0.0, passed, note)


def full_disks(folder: Path) -> Iterator[Line]:
    began = time.monotonic()
    journal = fill_under_the_journal(folder / "journal")
    lost = len({*range(DISK_COUNT)} - {*journal.numbers})
    again = len(journal.numbers) - len({*journal.numbers})
    passed = not lost and not again and journal.asked_later == journal.asked_when_full
    note = f"no more than {journal.asked_when_full:,} of {DISK_COUNT:,} were asked for meanwhile"
    seconds = time.monotonic() - began
    yield Line("F5 disk full under the journal", 1, lost, again, again, seconds, passed, note)
    began = time.monotonic()
    spark = fill_under_spark(folder / "spark")
    numbers = [row.number for row in spark.elements]
    lost = len({*range(SPARK_COUNT)} - {*numbers})
    again = len(numbers) - len({*numbers})
    passed = not lost and not again and spark.error is None
    note = "the query waited, and went on when there was space"
    seconds = time.monotonic() - began
    yield Line("F5 disk full under the checkpoint", 1, lost, again, again, seconds, passed, note)


def damaged_files(folder: Path) -> Iterator[Line]:
    place = folder / "checkpoint"
    before = make_checkpoint(place)
    found = [
        damage(place, folder / f"copy-{number}", file, how, before)
        for number, (file, how) in enumerate(damages(place))
    ]
    refused = sum(each.is_refused for each in found)
    harmless = sum(each.is_harmless for each in found)
    yield Line(
        "F7 checkpoint files damaged",
        len(found),
        sum(each.lost for each in found),
        sum(each.duplicated for each in found),
        sum(each.changed for each in found),
        0.0,
        refused + harmless == len(found),
        f"{refused} refused, {harmless} harmless",
    )


FAULTS: Final[dict[str, Callable[[Path], Iterator[Line]]]] = {
    "kills": killed_at_random,
    "alone": killed_alone,
    "windows": killed_at_points,
    "survivors": slow_and_then_without_a_jvm,
    "workers": processes_of_spark_killed,
    "disks": full_disks,
    "files": damaged_files,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("fault", nargs="*", choices=[*FAULTS, []], default=[])
    start_quickly()
    passed = True
    sys.stdout.write(HEADER + "\n")
    for name in parser.parse_args().fault or FAULTS:
        with tempfile.TemporaryDirectory(prefix="penstock-faults-") as folder:
            for line in FAULTS[name](Path(folder)):
                passed = passed and line.passed
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
