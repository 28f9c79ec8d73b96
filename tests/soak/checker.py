"""The judge of the soak: reads the files of the sink as a consumer would, and counts each row.

It knows nothing of Penstock. What it has read it removes, but for the newest files: the sink finds
its mark in the last one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy
from numpy.typing import NDArray
from pyarrow.parquet import read_table

from tests.soak.feed import Clockwork

__all__ = ["Checker", "Found", "Numbers"]

BATCH: Final = re.compile(r"batch-([0-9]+)\.parquet")
KEPT: Final = 5
"""How many of the newest files stay."""

Int64s: TypeAlias = NDArray[numpy.int64]


class Numbers:
    """Which numbers were there, as sorted ranges: exact, and small as long as few are missing."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.count = 0
        self.doubled = 0

    def add(self, numbers: Int64s) -> None:
        """Note these; each that was there already counts as doubled."""
        if not len(numbers):
            return
        ordered = numpy.sort(numbers)
        unique = numpy.unique(ordered)
        self.doubled += len(ordered) - len(unique)
        breaks = numpy.flatnonzero(numpy.diff(unique) != 1)
        starts = unique[[0, *(breaks + 1)]]
        ends = unique[[*breaks, len(unique) - 1]] + 1
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            self._add_range(start, end)

    def _add_range(self, start: int, end: int) -> None:
        """Join it with all ranges that it overlaps or touches."""
        first = bisect_right(self._ends, start - 1)
        last = bisect_right(self._starts, end)
        length = end - start
        known = 0
        for each in range(first, last):
            known += max(0, min(end, self._ends[each]) - max(start, self._starts[each]))
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        self.doubled += known
        self.count += length - known

    def missing(self, rows: int) -> Iterator[tuple[int, int]]:
        """The ranges below ``rows`` that were not there."""
        following = 0
        for start, end in zip(self._starts, self._ends, strict=True):
            if following < min(start, rows):
                yield following, min(start, rows)
            following = max(following, end)
        if following < rows:
            yield following, rows

    def beyond(self, rows: int) -> int:
        """How many there were that are below 0, or not below ``rows``."""
        ranges = zip(self._starts, self._ends, strict=True)
        return sum(
            max(0, min(end, 0) - start) + max(0, end - max(start, rows)) for start, end in ranges
        )


@dataclass(frozen=True)
class Found:
    """What one look has found: how many rows, when they were there, and how late each was."""

    rows: int = 0
    latencies: NDArray[numpy.float64] = field(default_factory=lambda: numpy.empty(0))
    appeared: tuple[float, ...] = ()


@dataclass
class Checker:
    """Looks into the folder again and again; each file counts once, a replaced one again."""

    folder: Path
    clockwork: Clockwork
    factor: int
    modulus: int
    numbers: Numbers = field(default_factory=Numbers)
    files: int = 0
    wrong: int = 0
    _read: dict[str, tuple[int, int]] = field(default_factory=dict)

    def look(self) -> Found:
        """Read what is new, and remove what has been read but for the newest files."""
        found = []
        present = self._present()
        for name, path in present:
            identity = identity_of(path)
            if self._read.get(name) != identity:
                found.append(self._check(path, identity[1] / 1e9))
                self._read[name] = identity
        for name, path in present[:-KEPT]:
            path.unlink()
            self._read.pop(name)
        return Found(
            sum(each.rows for each in found),
            numpy.concatenate([numpy.empty(0), *(each.latencies for each in found)]),
            tuple(moment for each in found for moment in each.appeared),
        )

    def _present(self) -> list[tuple[str, Path]]:
        """The files of batches, the oldest first."""
        try:
            names = [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        batches = [(int(match[1]), match[0]) for match in map(BATCH.fullmatch, names) if match]
        return [(name, self.folder / name) for _, name in sorted(batches)]

    def _check(self, path: Path, appeared: float) -> Found:
        table = read_table(path, memory_map=False, partitioning=None)
        numbers, made, tags = (
            table.column(name).to_numpy().astype(numpy.int64) for name in ("number", "made", "tag")
        )
        self.numbers.add(numbers)
        self.wrong += int(
            numpy.count_nonzero(
                (made != self.clockwork.made_at(numbers))
                | (tags != numbers * self.factor % self.modulus)
            )
        )
        self.files += 1
        return Found(len(numbers), appeared - made / 1e6, (appeared,))


def identity_of(path: Path) -> tuple[int, int]:
    """What differs when a file is replaced by another one of its name."""
    state = path.stat()
    return state.st_ino, state.st_mtime_ns
