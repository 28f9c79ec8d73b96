"""What a thread does within a run."""

from __future__ import annotations

import sys
from types import FrameType

from penstock.flow.site import Site, is_own, parts_at

__all__ = ["work_of"]


def work_of(thread: int) -> str:
    """What the thread does, for a sentence about the run that it works for."""
    frame = sys._current_frames().get(thread)
    called: FrameType | None = None
    while frame is not None:
        if is_own(frame):
            parts = parts_at(frame, frame.f_lineno)
            if parts:
                return work_in(parts[0].name, called)
        else:
            called = frame
        frame = frame.f_back
    return "is at work"


def work_in(operator: str, called: FrameType | None) -> str:
    """The words for a stage that called the user's code, or did not."""
    if called is None:
        return f"is at work in `{operator}`"
    place = Site(called.f_code, called.f_lineno)
    if called.f_code.co_name == "on_next":
        return f"waits for on_next of your subscriber to return, which is at {place}"
    return f"waits for the function of `{operator}` to return, which is at {place}"
