"""Levels, and the tracers that add switch points inside the subject's own code.

CPython 3.11 to 3.13 can switch threads when a Python function is entered, when a jump backwards
arrives, and after a call that did not enter a Python function. It cannot when a Python function
returns, nor between other instructions.
"""

from __future__ import annotations

import os
from _thread import get_ident
from collections.abc import Hashable, Sequence
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Self

from penstock.tck.explorer.task import controlled_threads

__all__ = [
    "Level",
    "TracedSubject",
    "Tracer",
    "count_step",
    "is_explorers",
    "switch_point",
]

_EXPLORER = str(Path(__file__).parent) + os.sep


class Level(Enum):
    """Where threads may be switched."""

    GIL = "gil"
    """At operations on primitives, and where CPython with its global lock can switch."""
    VISIBLE = "visible"
    """Before everything that other threads can see: what the language allows."""
    SYNC = "sync"
    """Only at primitives; quick, and blind to unlocked data."""


class Tracer:
    """Switch points in the subject's code; this one, for level ``sync``, adds none."""

    def __enter__(self) -> Self:
        """Prepare the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the process as it was."""

    def begin(self) -> None:
        """Prepare for a new run."""

    def attach(self) -> None:
        """Begin to trace the calling thread."""

    def detach(self) -> None:
        """Stop tracing the calling thread."""


class TracedSubject:
    """Tells the subject's code from all other."""

    def __init__(self, modules: Sequence[ModuleType]) -> None:
        # By globals, since names of files are not unique: generated code has "<string>".
        self._namespaces = {id(vars(module)) for module in modules}

    def owns(self, frame: FrameType) -> bool:
        return id(frame.f_globals) in self._namespaces and frame.f_code.co_name != "<module>"


def switch_point(place: Hashable) -> None:
    """Offer the run that controls the calling thread to switch."""
    task = controlled_threads.get(get_ident())
    if task is not None:
        task.run.point(place)


def count_step() -> None:
    """Count a step of the run that controls the calling thread."""
    task = controlled_threads.get(get_ident())
    if task is not None:
        task.run.step()


def is_explorers(code: CodeType) -> bool:
    """Say whether code belongs to the explorer, which places its own switch points."""
    return code.co_filename.startswith(_EXPLORER)
