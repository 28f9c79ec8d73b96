"""What a run waits at, which run brings elements there, and what a thread does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FrameType

from penstock.flow.engine.call_site import CallSite, is_own, parts_at
from penstock.flow.engine.run_context import RunContext
from penstock.flow.engine.wait_point import WaitState
from penstock.flow.multicast.broadcast_subscription import BroadcastSubscription

__all__ = ["run_upstream", "wait_states", "work_of"]


def wait_states(run: RunContext) -> Iterator[WaitState]:
    """What a run waits at, in the order in which that was opened."""
    for point, operator in run.waiting_at.copy().items():  # the run may go on meanwhile
        yield point.wait_state(operator)


def run_upstream(state: WaitState) -> RunContext | None:
    """The run that brings elements, if it is one of a flow."""
    giver = state.brought_by
    if isinstance(giver, BroadcastSubscription):
        giver = giver.broadcast
    return giver if isinstance(giver, RunContext) else None


def work_of(thread: int) -> str:
    """What the thread does, for a sentence about the run that it works for."""
    frame = frame_of(thread)
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


def frame_of(thread: int) -> FrameType | None:
    """What the thread executes now.

    Before Python 3.11.9 a garbage collection that begins within this call may never return: it
    frees what takes a lock of the interpreter that the call holds.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collects:
            gc.enable()


def work_in(operator: str, called: FrameType | None) -> str:
    """The words for a stage that called the user's code, or did not."""
    if called is None:
        return f"is at work in `{operator}`"
    place = CallSite(called.f_code, called.f_lineno)
    if called.f_code.co_name == "on_next":
        return f"waits for on_next of your subscriber to return, which is at {place}"
    return f"waits for the function of `{operator}` to return, which is at {place}"
