"""The ledger: what a sink was given, row by row, on disk, and the judgement over it.

The source hands over the numbers 0 to N-1. Whatever is killed in between, the sink's file shows
which of them arrived, how often, and at which place of which batch.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Entry", "Ledger", "Verdict", "entries", "judge"]

ENTRY: Final = struct.Struct("<QQQ")
ENTRIES_PER_SYNC: Final = 500


class Entry(NamedTuple):
    """A number, and where it stood."""

    number: int
    batch: int
    row: int


class Ledger:
    """The sink's file. An entry outlives its process as soon as ``add`` returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._unsynced = 0

    def add(self, entry: Entry) -> None:
        os.write(self._file, ENTRY.pack(*entry))  # no buffer of ours: the process may be killed
        self._unsynced += 1
        if self._unsynced == ENTRIES_PER_SYNC:
            self.sync()

    def sync(self) -> None:
        os.fsync(self._file)
        self._unsynced = 0

    def close(self) -> None:
        self.sync()
        os.close(self._file)


def entries(path: Path) -> Iterator[Entry]:
    """What is in the file, in sequence."""
    if path.exists():
        yield from map(Entry._make, ENTRY.iter_unpack(path.read_bytes()))


def written(path: Path) -> int:
    """How many entries there are."""
    return path.stat().st_size // ENTRY.size if path.exists() else 0


class Verdict(NamedTuple):
    """What the ledger says.

    ``lost``               numbers that never arrived
    ``foreign``            numbers that the source never had
    ``duplicated``         entries too many at a sink that takes whatever comes
    ``largest_repetition`` the most entries that came again in a row: at most a batch by promise
    ``duplicated_once``    the same at a sink that leaves out a (batch, row) that it has
    ``changed``            places at which another number stood the second time
    ``out_of_sequence``    places, in the sequence of (batch, row), at which the numbers do not rise
    """

    lost: int
    foreign: int
    duplicated: int
    largest_repetition: int
    duplicated_once: int
    changed: int
    out_of_sequence: int

    @property
    def is_clean(self) -> bool:
        """Whether an idempotent sink has everything, once, and in sequence."""
        return not (
            self.lost
            or self.foreign
            or self.duplicated_once
            or self.changed
            or self.out_of_sequence
        )


def judge(path: Path, count: int) -> Verdict:
    """Compare the ledger with what the source had: the numbers 0 to ``count - 1``."""
    places: dict[tuple[int, int], int] = {}
    seen: set[int] = set()
    duplicated = changed = repetition = largest = 0
    for number, batch, row in entries(path):
        changed += places.setdefault((batch, row), number) != number
        repetition = repetition + 1 if number in seen else 0
        largest = max(largest, repetition)
        duplicated += number in seen
        seen.add(number)
    numbers = [places[place] for place in sorted(places)]
    return Verdict(
        lost=len(set(range(count)) - seen),
        foreign=len(seen - set(range(count))),
        duplicated=duplicated,
        largest_repetition=largest,
        duplicated_once=len(numbers) - len(set(numbers)),
        changed=changed,
        out_of_sequence=sum(second <= first for first, second in pairwise(numbers)),
    )
