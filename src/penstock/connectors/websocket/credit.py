"""Demand over a connection: the frames by which one end asks the other for elements.

The subscriber sends ``{"request": 3}`` and ``{"cancel": true}``; the publisher answers
``{"next": element}``, never more often than was requested, and ends by ``{"complete": true}`` or
``{"error": "text"}``. Each frame is a text message. The connection is the subscription: when it
is lost, so is what was requested on it.
"""

from __future__ import annotations

import json
from typing import Any, Final

from websockets.typing import Subprotocol

from penstock.connectors.shared.connection_errors import ClientMistake
from penstock.runtime import shorten

__all__ = [
    "CANCEL",
    "COMPLETE",
    "PROTOCOL",
    "FrameError",
    "error_frame",
    "next_frame",
    "read_frame",
    "request_frame",
]

PROTOCOL: Final = Subprotocol("penstock.demand.1")
CANCEL: Final = '{"cancel": true}'
COMPLETE: Final = '{"complete": true}'


class FrameError(ClientMistake):
    """The other end does not keep to the protocol."""


def request_frame(n: int) -> str:
    """Ask for ``n`` elements."""
    return f'{{"request": {n}}}'


def next_frame(text: str) -> str:
    """An element, which is JSON already."""
    return f'{{"next": {text}}}'


def error_frame(words: str) -> str:
    """The end by an error."""
    return json.dumps({"error": words})


def read_frame(message: str | bytes, kinds: tuple[str, ...]) -> tuple[str, Any]:
    """The kind of a frame, one of ``kinds``, and what it says."""
    try:
        frame = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{PROTOCOL}: {shorten(message)} is no JSON: {error}") from None
    if isinstance(frame, dict) and len(frame) == 1:
        ((kind, content),) = frame.items()
        if kind in kinds:
            return kind, content
    allowed = ", ".join(kinds)
    raise FrameError(f"{PROTOCOL}: a frame is an object with one of {allowed}, not {message!r:.80}")
