"""Stack traces that begin with the user's code."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["without_own_frames"]

E = TypeVar("E", bound=Exception)

OWN = __name__.partition(".")[0] + "."


def without_own_frames(error: E) -> E:
    """``error``, its traceback cut down to where the user's code begins.

    That is easier to read, and an error that somebody keeps does not keep alive what our frames
    refer to (rule 3.13), unless the user's frames lead there.
    """
    traceback = error.__traceback__
    while traceback is not None and _is_own(traceback.tb_frame.f_globals.get("__name__", "")):
        traceback = traceback.tb_next
    return error.with_traceback(traceback)


def _is_own(module: object) -> bool:
    return str(module).startswith(OWN)
