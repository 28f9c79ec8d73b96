"""Processes as the system sees them: who was started by whom, and how much memory one takes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["MARK", "command_of", "descendants", "marked", "resident_bytes", "running"]

MARK: Final = "PENSTOCK_FAULTS_MARK"
"""The environment variable by which all are found that a process has started, and these in turn."""


def marked(mark: str) -> list[int]:
    """The processes that have this mark, no matter which parent they have by now."""
    return [process for process in running() if f"{MARK}={mark}" in environment_of(process)]


def descendants(ancestor: int) -> list[int]:
    """All that a process has started, and these in turn."""
    children: dict[int, list[int]] = {}
    for process in running():
        children.setdefault(parent_of(process), []).append(process)
    found: list[int] = []
    waiting = [ancestor]
    while waiting:
        following = children.get(waiting.pop(), [])
        found += following
        waiting += following
    return found


def running() -> list[int]:
    """All processes."""
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()]


def environment_of(process: int) -> list[str]:
    return read(process, "environ").split("\0")


def command_of(process: int) -> str:
    return read(process, "cmdline").replace("\0", " ")


def parent_of(process: int) -> int:
    state = read(process, "stat").rpartition(")")[2].split()
    return int(state[1]) if state and state[0] != "Z" else 0


def resident_bytes() -> int:
    """The memory that this process has now."""
    pages = int(read(os.getpid(), "statm").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def read(process: int, file: str) -> str:
    """A file of the system about a process; empty if that is gone."""
    try:
        return Path("/proc", str(process), file).read_text(errors="replace")
    except OSError:
        return ""
