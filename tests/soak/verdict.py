"""What a soak has shown: whether each row was there once, and whether anything grows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, Final

__all__ = ["OUTCOME", "SAMPLES", "Growth", "Sample", "growths", "read_samples", "verdict_of"]

SAMPLES: Final = "samples.csv"
OUTCOME: Final = "outcome.json"
Sample = dict[str, float | None]

LONG_ENOUGH: Final = 1800.0
"""In fewer seconds than this, growth is that of a start."""
MOST_GROWTH: Final = 0.10
GROWING: Final = {
    "program_rss": ("memory of the program", 16 << 20),
    "jvm_rss": ("memory of the JVM", 384 << 20),
    "workers_rss": ("memory of the workers", 64 << 20),
    "program_descriptors": ("descriptors of the program", 2),
    "jvm_descriptors": ("descriptors of the JVM", 10),
    "workers_descriptors": ("descriptors of the workers", 10),
    "program_threads": ("threads of the program", 1),
    "jvm_threads": ("threads of the JVM", 20),
    "workers_threads": ("threads of the workers", 4),
    "checkpoint_files": ("files of the checkpoint", 10),
    "journal_files": ("files of the journal", 2),
    "journal_bytes": ("bytes of the journal", 16 << 20),
    "sink_files": ("files that the checker has left", 10),
    "temporary_files": ("temporary files", 20),
    "temporary_folders": ("temporary folders", 1),
}
"""What is watched, and how much of it is no growth: what one life differs from the next by.

The JVM makes its heap larger and smaller as it sees fit, up to the limit of 1 GB.
"""
LONG_LIFE: Final = 300.0
WITHIN_A_LIFE: Final = ("program_rss", "jvm_rss", "workers_rss")
"""What could grow from a start to the next kill, which would hide it."""


@dataclass(frozen=True)
class Growth:
    """The median of something in the second quarter of the time, and in the last one."""

    what: str
    before: float
    after: float
    slack: float

    @property
    def is_none(self) -> bool:
        """Whether it is as much as before, but for a tenth, or for what is no growth."""
        return self.after - self.before <= max(self.slack, self.before * MOST_GROWTH)

    def __str__(self) -> str:
        mark = "ok" if self.is_none else "GROWS"
        return f"{mark:<6} {self.what:<38} {self.before:>14,.0f} -> {self.after:>14,.0f}"


def read_samples(folder: Path) -> list[Sample]:
    """What was written down every few seconds; None where nothing was known."""
    with (folder / SAMPLES).open(newline="") as file:
        return [
            {name: float(value) if value else None for name, value in row.items()}
            for row in csv.DictReader(file)
        ]


def verdict_of(folder: Path) -> tuple[bool, list[str]]:
    """Whether all is well, and the lines that say so."""
    outcome: dict[str, Any] = json.loads((folder / OUTCOME).read_text())
    samples = read_samples(folder)
    faults = [*faults_of(outcome)]
    found = growths(samples)
    lines = [
        *course_lines(outcome),
        *kill_lines(outcome["kills"]),
        *latency_lines(samples),
        processor_line(samples),
        *(map(str, found) if found else ["growth is not judged: it was too short for that"]),
        *(f"FAILED {fault}" for fault in faults),
    ]
    sound = not faults and all(each.is_none for each in found)
    return sound, [*lines, "ok" if sound else "FAILED"]


def course_lines(outcome: dict[str, Any]) -> Iterator[str]:
    """How long it was, and how many rows there were."""
    hours, kills = outcome["seconds"] / 3600, len(outcome["kills"])
    yield f"{hours:.2f} h at {outcome['rate']:,} rows/s, {kills} kills"
    counts = (f"{what} {outcome[what]:,}" for what in ("missing", "doubled", "wrong"))
    rows = f"expected {outcome['expected']:,} rows, found {outcome['found']:,}"
    yield f"{rows}: {', '.join(counts)}"


def faults_of(outcome: dict[str, Any]) -> Iterator[str]:
    """What must not be."""
    for what in ("missing", "doubled", "beyond", "wrong", "survivors"):
        if outcome[what]:
            yield f"{what}: {outcome[what]:,}"
    for kill in outcome["kills"]:
        if kill["survivors"] or kill["recovered"] is None:
            yield f"after a kill, {kill}"
    yield from outcome["failures"]


def kill_lines(kills: list[dict[str, Any]]) -> Iterator[str]:
    """How long the sink got nothing, and how long it was behind."""
    for name, words in {
        "recovered": "first row after a kill",
        "caught_up": "as close to the feed as before",
    }.items():
        seconds = sorted(kill[name] for kill in kills if kill[name] is not None)
        if seconds:
            yield f"{words}: median {median(seconds):.0f} s, longest {seconds[-1]:.0f} s"


def latency_lines(samples: Sequence[Sample]) -> Iterator[str]:
    """Of all samples, those after a kill included."""
    for name in ("p50", "p99"):
        seconds = sorted(value for each in samples if (value := each[name]) is not None)
        if seconds:
            nine_tenths = seconds[len(seconds) * 9 // 10]
            yield (
                f"latency, {name} of a sample: median {median(seconds):.2f} s, "
                f"in nine of ten samples below {nine_tenths:.2f} s, most {seconds[-1]:.0f} s"
            )


def processor_line(samples: Sequence[Sample]) -> str:
    """What all processes of the pipeline take together."""
    names = ("program_cpu", "jvm_cpu", "workers_cpu")
    cores = median(sum(each[name] or 0.0 for name in names) for each in samples)
    return f"processors: median of {cores:.2f}"


def growths(samples: Sequence[Sample]) -> list[Growth]:
    """Of all that is watched; none of a soak that was too short."""
    if (samples[-1]["seconds"] or 0.0) < LONG_ENOUGH:
        return []
    whole = [
        Growth(words, *quarters(samples, name), slack) for name, (words, slack) in GROWING.items()
    ]
    return [*whole, *growths_within_lives(samples)]


def growths_within_lives(samples: Sequence[Sample]) -> Iterator[Growth]:
    """The same from a start to the next kill: of all lives that were long, the median."""
    lives = [[*life] for _, life in groupby(samples, key=lambda each: each["kills"])]
    long = [life for life in lives if length_of(life) >= LONG_LIFE]
    for name in WITHIN_A_LIFE if long else ():
        before, after = zip(*(quarters(life, name) for life in long), strict=True)
        words, slack = GROWING[name]
        yield Growth(f"{words}, within a life", median(before), median(after), slack)


def length_of(samples: Sequence[Sample]) -> float:
    return (samples[-1]["seconds"] or 0.0) - (samples[0]["seconds"] or 0.0)


def quarters(samples: Sequence[Sample], name: str) -> tuple[float, float]:
    """The median of the second quarter of the time, and that of the last one."""
    start, length = samples[0]["seconds"] or 0.0, length_of(samples)
    known = [
        (((each["seconds"] or 0.0) - start) / length, value)
        for each in samples
        if (value := each[name]) is not None
    ]
    return (
        median(value for moment, value in known if 0.25 <= moment < 0.5),
        median(value for moment, value in known if moment >= 0.75),
    )
