"""What a run takes of its machine: processors and memory by process, and the disk that is left.

Linux tells it of each process in ``/proc``. Elsewhere only the disk is known, and the status says
so.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from penstock.observe.status import MachineStatus, ProcessUse

__all__ = ["MachineMeter"]

PROC: Final = Path("/proc")
EVERY: Final = 2.0
"""The seconds between two looks: each reads a file for every thread."""
PROGRAM: Final = "this program"
JVM: Final = "Spark's JVM"
WORKERS: Final = "Python workers"
OTHERS: Final = "other processes"
KINDS: Final = (PROGRAM, JVM, WORKERS, OTHERS)
DEEPEST: Final = 8
MOST: Final = 1_000
ELSEWHERE: Final = "Processors and memory are known on Linux alone."


class ProcessTimes(NamedTuple):
    """A process: what it is called, the seconds of its processors, and the bytes that it holds."""

    name: str
    seconds: float
    memory: int


class MachineMeter:
    """Reads what the processes of a run take; now and then, however often it is asked.

    ``place``  the checkpoint, if there is one
    """

    def __init__(
        self,
        place: str | None = None,
        *,
        proc: Path = PROC,
        clock: Callable[[], float] = monotonic,
        process: int | None = None,
    ) -> None:
        self._folder = local_folder(place)
        self._proc = proc
        self._clock = clock
        self._process = os.getpid() if process is None else process
        self._read_at = -EVERY
        self._seconds: dict[int, float] = {}
        self._status = MachineStatus()
        self._knows = sys.platform == "linux" or proc is not PROC

    def status(self) -> MachineStatus:
        """As of the last look. From any thread: two looks at once do no harm."""
        now = self._clock()
        passed = now - self._read_at
        if passed >= EVERY:
            self._read_at = now
            self._status = self._looked_at(passed)
        return self._status

    def _looked_at(self, passed: float) -> MachineStatus:
        free, total = disk_at(self._folder)
        if not self._knows:
            return MachineStatus(disk_free=free, disk_total=total, note=ELSEWHERE)
        return MachineStatus(tuple(self._uses(passed)), os.cpu_count(), free, total)

    def _uses(self, passed: float) -> Iterator[ProcessUse]:
        """What the processes of each kind take together."""
        found: dict[str, list[tuple[int, ProcessTimes]]] = defaultdict(list)
        for kind, number, times in self._processes(self._process, PROGRAM, DEEPEST):
            found[kind].append((number, times))
        before, self._seconds = self._seconds, {}
        for kind in KINDS:
            if kind in found:
                self._seconds |= {number: times.seconds for number, times in found[kind]}
                spent = sum(
                    max(times.seconds - before.get(number, 0.0), 0.0)
                    for number, times in found[kind]
                )
                memory = sum(times.memory for _, times in found[kind])
                # Without a look before, all that they ever spent would count.
                cores = spent / passed if before else None
                yield ProcessUse(kind, len(found[kind]), cores, memory)

    def _processes(
        self, number: int, kind: str, depth: int
    ) -> Iterator[tuple[str, int, ProcessTimes]]:
        """A process of this kind, unless it is a JVM, and those that it has started."""
        times = times_of(self._proc / str(number))
        if times is None:
            return
        kind = JVM if times.name == "java" and kind != PROGRAM else kind
        yield kind, number, times
        if depth:
            started = WORKERS if kind in (JVM, WORKERS) else OTHERS
            for child in children_of(self._proc / str(number)):
                yield from self._processes(child, started, depth - 1)


def times_of(folder: Path) -> ProcessTimes | None:
    """What a process has used; ``None`` if it is gone."""
    try:
        before, _, after = (folder / "stat").read_text(errors="replace").rpartition(")")
        memory = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
    # The name is in brackets, and may have some itself; the rest is counted from the state on.
    fields = after.split()
    ticks = int(fields[11]) + int(fields[12])
    return ProcessTimes(before.partition("(")[2], ticks / os.sysconf("SC_CLK_TCK"), memory)


def children_of(folder: Path) -> Iterator[int]:
    """The processes that the threads of one have started."""
    found: list[int] = []
    try:
        for thread in (folder / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except (OSError, ValueError):
        pass  # a thread, or all of it, has ended meanwhile
    yield from found[:MOST]


def local_folder(place: str | None) -> Path | None:
    """Where a checkpoint is on this machine, if it is."""
    if place is None or urlsplit(place).scheme not in ("", "file"):
        return None
    return Path(place.removeprefix("file://"))


def disk_at(folder: Path | None) -> tuple[int | None, int | None]:
    """The bytes that are left where a folder is, or will be, and all that there are."""
    while folder is not None:
        try:
            usage = shutil.disk_usage(folder)
        except FileNotFoundError:
            folder = folder.parent if folder.parent != folder else None
        except OSError:
            break
        else:
            return usage.free, usage.total
    return None, None
