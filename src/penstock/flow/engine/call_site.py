"""Where in the user's code an operator was called, and how errors say so."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = ["CallSite", "Located", "caller", "is_own", "named", "note", "parts_at", "with_note"]

OWN = __name__.partition(".")[0]
PROGRAMS = (f"{OWN}.demo",)
"""Parts of this package that use it as users do."""
SITES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
LIBRARIES = (
    "<frozen ",
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "scripts")),
    str(Path(__file__).parents[2]) + os.sep,
)
"""Where files of installed libraries begin, those of Python and of this package included."""
OPENING, PLACE = "in ", ", assembled at "
E = TypeVar("E", bound=Exception)


class CallSite(NamedTuple):
    """A line of the user's code."""

    code: CodeType
    line: int

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line}, in {self.code.co_name}"


class Located(Protocol):
    """A part of a flow that knows where it was assembled, and what errors that pass it say."""

    name: str
    site: CallSite | None
    mark: str


def caller() -> CallSite | None:
    """The line that called into this package: of the user's code, if any is there.

    Where a library makes the call, be it a command line or a pool of threads, its line would say
    nothing to the user. It is named only if there is no other.
    """
    frame: FrameType | None = sys._getframe(1)
    nearest: FrameType | None = None
    while frame is not None:
        if not is_own(frame):
            if is_users(frame):
                return CallSite(frame.f_code, frame.f_lineno)
            nearest = nearest or frame
        frame = frame.f_back
    return None if nearest is None else CallSite(nearest.f_code, nearest.f_lineno)


def is_users(frame: FrameType) -> bool:
    """Whether a frame that is not our own runs code of the user, and not of a library."""
    if not is_library(frame.f_code.co_filename):
        return True
    module = frame.f_globals.get("__name__", "")
    return type(module) is str and module.startswith(PROGRAMS)


@lru_cache(maxsize=256)
def is_library(file: str) -> bool:
    """Whether a file belongs to an installed library, and not to a program that uses it."""
    return file.startswith(LIBRARIES) or any(site in file for site in SITES)


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of this package."""
    module = frame.f_globals.get("__name__", "")
    if type(module) is not str or module.partition(".")[0] != OWN:
        return False
    return not module.startswith(PROGRAMS)


def with_note(error: E) -> E:
    """``error``, with notes: the operator in which it arose, and the marks that it passed.

    Nothing is kept per element for this: the traceback leads through the frames of the stages. The
    operator is named once: where an error is handled and passed on is not where it arose.
    """
    if isinstance(error.__context__, GeneratorExit):
        # It arose because somebody left, who has nothing to do with it, and whom it would keep.
        error.__context__ = None
    passed = list(_passed(error.__traceback__))
    if passed:
        named(error, passed[-1][0])
    for _, *downstream in reversed(passed):
        for part in downstream:
            if part.mark:
                note(error, part.mark)
    return error


def named(error: E, part: Located) -> E:
    """``error``, with a note that names ``part``, unless it names an operator already."""
    if not any(map(_names_an_operator, _notes(error))):
        note(error, f"{OPENING}{part.name}{PLACE}{part.site or 'an unknown place'}")
    return error


def note(error: Exception, text: str) -> None:
    """Add a note to ``error``, unless it has it already from an earlier run."""
    if text not in _notes(error):
        try:
            error.add_note(text)
        except Exception:
            pass  # one that refuses attributes, as a frozen dataclass does, is passed on as it is


def _notes(error: Exception) -> Sequence[str]:
    notes = getattr(error, "__notes__", None)
    return notes if isinstance(notes, list) else ()


def _names_an_operator(text: str) -> bool:
    return text.startswith(OPENING) and PLACE in text


def _passed(traceback: TracebackType | None) -> Iterator[Sequence[Located]]:
    """For each stage or segment, outermost first: where the error was raised, then downstream."""
    while traceback is not None:
        parts = parts_at(traceback.tb_frame, traceback.tb_lineno)
        if parts:
            yield parts
        traceback = traceback.tb_next


def parts_at(frame: FrameType, line: int) -> Sequence[Located]:
    """The parts of a flow to which a frame belongs: fused code knows by the line."""
    if not is_own(frame):
        return ()
    parts_from = variable(frame, "parts_from")
    if parts_from is not None:
        parts: Sequence[Located] = parts_from(line)
        return parts
    party = variable(frame, "self")
    site = getattr(party, "site", OWN)
    return (party,) if party is not None and isinstance(site, CallSite | None) else ()


def variable(frame: FrameType, name: str) -> Any:
    """A variable of a function that runs, or ``None``.

    Before Python 3.13 a look at one copies all of them to a dictionary that stays with the frame.
    An error among them would keep the frame, and that the error: so the copy is emptied. Not while
    somebody traces: then it may be copied back any moment, by another thread that runs the frame.
    """
    variables = frame.f_locals
    value = variables.get(name)
    traced = sys.gettrace() is not None or threading.gettrace() is not None
    if sys.version_info < (3, 13) and not traced and variables is not frame.f_globals:
        variables.clear()
    return value
