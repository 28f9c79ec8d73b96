"""What the system says of the program: memory, descriptors, threads, CPU time and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults.processes import descendants, read

__all__ = ["Files", "Usage", "files_under", "usage_of"]

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICKS: Final = os.sysconf("SC_CLK_TCK")
JVM: Final = "java"


@dataclass(frozen=True)
class Usage:
    """What some processes use together."""

    processes: int = 0
    resident: int = 0
    descriptors: int = 0
    threads: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.processes + other.processes,
            self.resident + other.resident,
            self.descriptors + other.descriptors,
            self.threads + other.threads,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class Files:
    """How many files and folders there are in a place, and how long they are together."""

    count: int = 0
    size: int = 0


def usage_of(program: int) -> dict[str, Usage]:
    """Of a program, of the JVM that it has started, and of all other processes."""
    found = {"program": usage(program), "jvm": Usage(), "workers": Usage()}
    for process in descendants(program):
        kind = "jvm" if read(process, "comm").strip() == JVM else "workers"
        found[kind] += usage(process)
    return found


def usage(process: int) -> Usage:
    """Of one process; nothing if it is gone."""
    memory = read(process, "statm").split()
    state = read(process, "stat").rpartition(")")[2].split()
    if len(memory) < 2 or len(state) < 18:
        return Usage()
    try:
        descriptors = len([*Path(f"/proc/{process}/fd").iterdir()])
    except OSError:
        descriptors = 0
    seconds = (int(state[11]) + int(state[12])) / TICKS
    return Usage(1, int(memory[1]) * PAGE, descriptors, int(state[17]), seconds)


def files_under(folder: Path) -> Files:
    """What is in a folder, and in those within it, while others add and remove files."""
    count = size = 0
    for entry in entries(folder):
        count += 1
        try:
            size += 0 if entry.is_dir(follow_symlinks=False) else entry.stat().st_size
        except FileNotFoundError:
            continue
    return Files(count, size)


def entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            here = [*found]
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in here:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from entries(entry.path)
