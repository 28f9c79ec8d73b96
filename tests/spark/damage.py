"""Random damage to a journal, and what a journal must make of it.

``python -m tests.spark.damage [COUNT [SEED]]`` does that many times and prints what came of it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from penstock.spark.journal import JournalDamaged, JournalError, JournalReader
from penstock.spark.journal.record import RecordKind, encode
from tests.spark.journals import (
    all_rows,
    append_rows,
    numbered,
    open_journal,
    read_rows,
    segment_files,
)

__all__ = ["DAMAGES", "Specimen"]

BYTES: Final = 24_000
ROWS: Final = 200


def truncate(file: Path, random: Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: random.randrange(len(content))])


def flip_bits(file: Path, random: Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(random.choice([1, 1, 1, 2, 8])):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    file.write_bytes(content)


def delete(file: Path, random: Random) -> None:
    file.unlink()


def swap(file: Path, random: Random) -> None:
    other = random.choice([each for each in segment_files(file.parent) if each != file])
    content = file.read_bytes()
    file.write_bytes(other.read_bytes())
    other.write_bytes(content)


def duplicate_bytes(file: Path, random: Random) -> None:
    content = file.read_bytes()
    start, end = sorted(random.choices(range(len(content) + 1), k=2))
    file.write_bytes(content[:end] + content[start:end] + content[end:])


def remove_bytes(file: Path, random: Random) -> None:
    content = file.read_bytes()
    start, end = sorted(random.choices(range(len(content) + 1), k=2))
    file.write_bytes(content[:start] + content[end:])


def zero_a_block(file: Path, random: Random) -> None:
    content = bytearray(file.read_bytes())
    start = random.randrange(len(content))
    end = min(len(content), start + random.choice([1, 64, 512, 4096]))
    content[start:end] = bytes(end - start)
    file.write_bytes(content)


def add_garbage(file: Path, random: Random) -> None:
    file.write_bytes(file.read_bytes() + random.randbytes(random.randrange(1, 200)))


def add_zeros(file: Path, random: Random) -> None:
    file.write_bytes(file.read_bytes() + bytes(random.randrange(1, 5000)))


def tear_the_next_record(file: Path, random: Random) -> None:
    """What a crash within a write leaves behind, of a record that nobody was told of."""
    last = segment_files(file.parent)[-1]
    identity = bytes.fromhex(JournalReader(file.parent).identity)
    parts = encode(RecordKind.DATA, identity, ROWS, numbered(ROWS, ROWS + 5), None)
    record = b"".join(bytes(part) for part in parts)
    last.write_bytes(last.read_bytes() + record[: random.randrange(len(record))])


Damage = Callable[[Path, Random], None]

DAMAGES: Final[list[Damage]] = [
    truncate,
    flip_bits,
    delete,
    swap,
    duplicate_bytes,
    remove_bytes,
    zero_a_block,
    add_garbage,
    add_zeros,
    tear_the_next_record,
]
OF_SEGMENTS_ONLY: Final = {swap}


class Specimen:
    """A journal of many segments that is damaged again and again."""

    def __init__(self, folder: Path) -> None:
        self._sound = folder / "sound"
        self._damaged = folder / "damaged"
        with open_journal(self._sound, max_bytes=BYTES) as journal:
            random = Random(0)
            while journal.end < ROWS:
                append_rows(journal, min(random.randrange(1, 9), ROWS - journal.end))
        assert len(segment_files(self._sound)) > 5

    def suffer(self, random: Random) -> tuple[str, str]:
        """Do some damage, and check what becomes of it: its name, and what it led to."""
        shutil.rmtree(self._damaged, ignore_errors=True)
        shutil.copytree(self._sound, self._damaged)
        damage = random.choice(DAMAGES)
        files = segment_files(self._damaged)
        if damage not in OF_SEGMENTS_ONLY and not random.randrange(10):
            files = [self._damaged / "schema", self._damaged / "bounds"]
        damage(random.choice(files), random)
        self._read()
        return damage.__name__, self._open()

    def _read(self) -> None:
        """A reader finds right rows or none."""
        try:
            rows = read_rows(self._damaged, 0, ROWS)
        except JournalError:
            return
        assert rows == list(range(ROWS))

    def _open(self) -> str:
        """A writer finds all rows or opens nothing."""
        lost = self._is_anything_lost()
        before = self._contents(self._damaged)
        refusal = self._refusal()
        if refusal is not None:
            assert refusal.file.startswith(str(self._damaged))
            assert f"{refusal.file} is damaged at byte {refusal.offset}" in str(refusal)
            assert self._contents(self._damaged) == before
            return "refused"
        assert not lost
        assert all_rows(self._damaged) == list(range(ROWS))
        return "unharmed" if before == self._contents(self._sound) else "no row lost"

    def _refusal(self) -> JournalDamaged | None:
        try:
            open_journal(self._damaged, max_bytes=BYTES).close()
        except JournalDamaged as refusal:
            return refusal
        return None

    def _is_anything_lost(self) -> bool:
        """Whether a file is gone or changed in more than what follows its end."""
        sound, damaged = self._contents(self._sound), self._contents(self._damaged)
        damaged.setdefault("bounds", sound["bounds"])  # is made anew
        return any(
            not damaged.get(name, b"").startswith(content) for name, content in sound.items()
        )

    def _contents(self, folder: Path) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "lock"}


def main(count: int = 1000, seed: int = 0) -> None:
    """Print how many damages of each kind led to what."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        specimen = Specimen(Path(folder))
        outcomes = Counter(specimen.suffer(random) for _ in range(count))
    for (damage, outcome), times in sorted(outcomes.items()):
        sys.stdout.write(f"{damage.replace('_', ' '):24} {outcome:14} {times:6}\n")
    sys.stdout.write(f"{count} damages, seed {seed}: no wrong row, no loss in silence\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
