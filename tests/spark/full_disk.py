"""A disk that gets full, in a process of its own: ``python -m tests.spark.full_disk WHAT FOLDER``.

Says ``done`` when all went as it should.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from penstock import ExecutorPublisher, ThreadPool
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.journal import Journal, JournalReader, NoSpace
from tests.small_disk import SIZE, can_mount, on_small_disk
from tests.spark.journals import Numbers, all_rows, append_rows, open_journal

__all__ = ["MEANS", "run"]

ROOT = Path(__file__).parents[2]
LIMIT = 200_000
COUNT = 15_000
PATIENCE = 60.0


def run(scenario: str, means: str, folder: Path) -> str:
    """What a process says that runs out of space by these means."""
    command = [sys.executable, "-m", __name__, scenario, means, str(folder)]
    if means == "small disk":
        command = on_small_disk(folder, command)
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=10 * PATIENCE
    )
    return done.stdout + done.stderr


MEANS = ["file size limit", *(["small disk"] if can_mount() else [])]


class FileSizeLimit:
    """No file may be larger than so many bytes."""

    max_bytes = 1 << 28

    def __init__(self, folder: Path) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))

    def make_space(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class SmallDisk:
    """A disk on which something else takes most of the space."""

    max_bytes = LIMIT * 2

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"
        self._ballast.write_bytes(bytes(SIZE - LIMIT))

    def make_space(self) -> None:
        self._ballast.unlink()


def the_journal_goes_on_when_there_is_space(folder: Path, disk: FileSizeLimit | SmallDisk) -> None:
    with open_journal(folder / "journal") as journal:
        full = fill(journal)
        assert f"there is no space left for {folder / 'journal'}" in str(full)
        assert isinstance(full.__cause__, OSError)
        assert full.__cause__.errno in {errno.ENOSPC, errno.EFBIG}
        end = journal.end
        assert end > 100
        assert all_rows(folder / "journal") == list(range(end))
        fill(journal)
        disk.make_space()
        append_rows(journal, 100)
        journal.seal()
        assert all_rows(folder / "journal") == list(range(journal.end))
    with open_journal(folder / "journal") as again:
        assert again.end >= end + 100


def fill(journal: Journal) -> NoSpace:
    """Append until there is no space."""
    while True:
        try:
            append_rows(journal, 100)
        except NoSpace as full:
            return full


def a_commit_works_on_a_full_disk(folder: Path, disk: FileSizeLimit | SmallDisk) -> None:
    with open_journal(folder / "journal", max_bytes=disk.max_bytes) as journal:
        fill(journal)
        journal.commit(journal.end)
        assert JournalReader(folder / "journal").start() == journal.end
    with open_journal(folder / "journal") as again:
        assert again.start == again.end
        disk.make_space()
        append_rows(again, 100)


def the_stream_waits_until_there_is_space(folder: Path, disk: FileSizeLimit | SmallDisk) -> None:
    said: list[NoSpace | None] = []
    failures: list[Exception] = []
    is_full, is_sealed = threading.Event(), threading.Event()

    def on_space(full: NoSpace | None) -> None:
        said.append(full)
        is_full.set()

    journal = open_journal(folder / "journal")
    recorder = JournalSubscriber(
        journal,
        Numbers(),
        on_failure=failures.append,
        on_completed=is_sealed.set,
        on_space=on_space,
        prefetch=256,
    )
    with ThreadPool() as pool:
        ExecutorPublisher(range(COUNT), pool).subscribe(recorder)
        assert is_full.wait(PATIENCE)
        durable = JournalReader(folder / "journal").end()
        assert all_rows(folder / "journal") == list(range(durable))
        disk.make_space()
        assert is_sealed.wait(PATIENCE)
    assert all_rows(folder / "journal") == list(range(COUNT))
    recorder.stop()
    journal.close()
    assert not failures
    assert [type(word) for word in said] == [NoSpace, type(None)]


SCENARIOS: dict[str, Callable[[Path, FileSizeLimit | SmallDisk], None]] = {
    scenario.__name__: scenario
    for scenario in (
        the_journal_goes_on_when_there_is_space,
        a_commit_works_on_a_full_disk,
        the_stream_waits_until_there_is_space,
    )
}
DISKS: dict[str, type[FileSizeLimit | SmallDisk]] = {
    "file size limit": FileSizeLimit,
    "small disk": SmallDisk,
}


if __name__ == "__main__":
    _, scenario, means, place = sys.argv
    SCENARIOS[scenario](Path(place), DISKS[means](Path(place)))
    os.write(1, b"done\n")
