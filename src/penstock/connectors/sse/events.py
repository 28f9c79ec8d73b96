"""How a stream ends in server-sent events, which have no word for that."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

__all__ = ["COMPLETE", "FAILURE", "Event", "event_text"]

COMPLETE: Final = "penstock.complete"
"""The event after the last one of a stream that is complete."""

FAILURE: Final = "penstock.failure"
"""The event that says, as JSON, why there are no more."""


class Event(NamedTuple):
    """A server-sent event.

    ``id``     the position of the event, if the server names any, else ""
    ``event``  its kind, "message" unless the server says otherwise
    ``data``   what it says
    """

    id: str
    event: str
    data: Any


def event_text(data: str, *, event: str = "", position: str = "") -> str:
    """An event as it is sent; all is JSON, so that none has a line break."""
    lines = [f"data: {data}"]
    if event:
        lines.insert(0, f"event: {event}")
    if position:
        lines.insert(0, f"id: {position}")
    return "\n".join(lines) + "\n\n"
