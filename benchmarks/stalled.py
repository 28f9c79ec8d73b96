"""What a subscriber that has requested ten elements, and no more, makes this program hold."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.testing import ManualSubscriber

__all__ = ["REQUESTED", "Stalled", "stalled"]

REQUESTED: Final = 10


@dataclass
class Stalled:
    """What it costs, all in bytes.

    ``held``   the most that Python held
    ``grown``  by how much the whole process has grown, libraries included
    ``read``   what was read from files
    """

    held: int = 0
    grown: int = 0
    read: int = 0

    def __str__(self) -> str:
        held = f"{self.held / 1e3:,.0f} kB held by Python"
        return f"{held}, the process grew by {self.grown / 1e6:.1f} MB"


@contextmanager
def stalled(flow: Flow[Any]) -> Iterator[Stalled]:
    """A subscriber of ``flow`` that has what it has requested, until the end of the block."""
    cost = Stalled()
    grown, read = resident(), bytes_read()
    tracemalloc.start()
    flow.subscribe(subscriber := ManualSubscriber[Any](request=REQUESTED))
    try:
        subscriber.await_elements(REQUESTED)
        cost.held = tracemalloc.get_traced_memory()[1]
        cost.grown, cost.read = resident() - grown, bytes_read() - read
        yield cost
    finally:
        tracemalloc.stop()
        subscriber.cancel()


def resident() -> int:
    """The memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def bytes_read() -> int:
    """By any thread of this process, from files; what comes by sockets is not counted."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(lines[0].removeprefix("rchar: "))
