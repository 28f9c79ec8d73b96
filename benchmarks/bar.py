"""What is measured, and against what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Bench", "Peer", "Work"]

Work: TypeAlias = Callable[[], int]
"""Does something, and returns how many elements that was."""


@dataclass(frozen=True)
class Peer:
    """Another way to do the same."""

    name: str
    work: Work


@dataclass(frozen=True)
class Bench:
    """Something of ours, the bare loop that does the same, and how the two should compare.

    ``bar``    the most that ours may cost, as a multiple of the bare loop
    ``peers``  how many times faster than each of them ours should be
    """

    name: str
    work: Work
    bare: Work
    bar: float
    peers: dict[Peer, float] = field(default_factory=dict)
