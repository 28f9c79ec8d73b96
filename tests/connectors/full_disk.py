"""Sinks on a disk that gets full: ``python -m tests.connectors.full_disk MEANS FOLDER``.

Prints, for each sink, the error of the batch for which there is no space, which files there are
then, and how many rows there are when there is space again, as other programs read them.
"""

from __future__ import annotations

import csv
import json
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow.dataset

from penstock.connectors import Writer, write_csv, write_json_lines, write_parquet, write_sqlite
from tests.connectors.delivery.lives import Checkpoint, lived
from tests.small_disk import SIZE, can_mount, on_small_disk

__all__ = ["MEANS", "SINKS", "numbers_of", "run"]

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 120
ROOM: Final = 200_000
RANDOM: Final = Random(7)
"""So that nothing can make the texts shorter."""
BATCHES: Final[list[list[dict[str, Any]]]] = [
    [{"number": number, "text": RANDOM.randbytes(40).hex()} for number in range(first, last)]
    for first, last in ((0, 100), (100, 4_000))
]
"""One that there is room for, and one that there is not."""


def numbers_in_lines(folder: Path) -> list[int]:
    return [json.loads(line)["number"] for line in (folder / "rows.jsonl").open()]


def numbers_in_csv(folder: Path) -> list[int]:
    return [int(row["number"]) for row in csv.DictReader((folder / "rows.csv").open())]


def numbers_in_sqlite(folder: Path) -> list[int]:
    database = sqlite3.connect(folder / "rows.db")
    try:
        return [number for (number,) in database.execute("SELECT number FROM rows ORDER BY rowid")]
    finally:
        database.close()


def numbers_in_parquet(folder: Path) -> list[int]:
    found = pyarrow.dataset.dataset(folder / "rows", format="parquet").to_table()
    numbers: list[int] = found.column("number").to_pylist()
    return numbers


Sink = tuple[Callable[[Path], Writer], Callable[[Path], list[int]]]

SINKS: Final[dict[str, Sink]] = {
    "lines": (lambda folder: write_json_lines(folder / "rows.jsonl"), numbers_in_lines),
    "csv": (lambda folder: write_csv(folder / "rows.csv", ["number", "text"]), numbers_in_csv),
    "sqlite": (lambda folder: write_sqlite(folder / "rows.db", "rows"), numbers_in_sqlite),
    "parquet": (lambda folder: write_parquet(folder / "rows"), numbers_in_parquet),
}


class FileSizeLimit:
    """No file may be larger than so many bytes."""

    def __init__(self, folder: Path) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))

    def make_space(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class SmallDisk:
    """A disk on which something else takes most of the space."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder.parent / "ballast"
        self._ballast.write_bytes(bytes(SIZE - ROOM))

    def make_space(self) -> None:
        self._ballast.unlink()


DISKS: Final[dict[str, type[FileSizeLimit | SmallDisk]]] = {
    "file size limit": FileSizeLimit,
    "small disk": SmallDisk,
}
MEANS: Final = [*DISKS][: 2 if can_mount() else 1]


def run(means: str, folder: Path) -> dict[str, Any]:
    """What each sink does that runs out of space by these means."""
    command = [sys.executable, "-m", __name__, means, str(folder)]
    if means == "small disk":
        command = on_small_disk(folder, command)
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert not done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def fill_and_make_space(name: str, means: str, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    make, numbers = SINKS[name]
    checkpoint = Checkpoint()
    disk = DISKS[means](folder)
    error = error_of(checkpoint, make(folder))
    files = sorted(path.name for path in folder.rglob("*") if path.is_file())
    disk.make_space()
    lived(checkpoint, make(folder), BATCHES)
    kept = numbers(folder)
    shutil.rmtree(folder)
    return {
        "kind": type(error).__name__, "words": str(error), "files": files, "numbers": kept,
    }  # fmt: skip


def error_of(checkpoint: Checkpoint, writer: Writer) -> Exception | None:
    """The error of the life that comes to an end, as a pipeline ends it."""
    try:
        lived(checkpoint, writer, BATCHES)
    except Exception as error:
        return error
    finally:
        writer.sink.close()
    return None


def numbers_of() -> list[int]:
    """What each sink has in the end."""
    return [row["number"] for batch in BATCHES for row in batch]


if __name__ == "__main__":
    _, given, place = sys.argv
    outcomes = {name: fill_and_make_space(name, given, Path(place, name)) for name in SINKS}
    json.dump(outcomes, sys.stdout)
