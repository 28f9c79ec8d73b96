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
from penstock.flow.engine.prefetch_subscriber import PrefetchSubscriber
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.sources.from_async import CoroutineSubscription, Feeding
from penstock.runtime import shorten

__all__ = [
    "CANCEL",
    "COMPLETE",
    "PROTOCOL",
    "CreditSubscription",
    "FrameError",
    "error_frame",
    "from_coroutine_with_credit",
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


class CreditSubscription(CoroutineSubscription):
    """A feed whose coroutine passes demand on, instead of waiting for it.

    ``requested``  how many elements were requested since the start
    ``given``      how many were given since then
    """

    @property
    def requested(self) -> int:
        return self._requested

    @property
    def given(self) -> int:
        return self._given

    async def requested_beyond(self, count: int) -> int:
        """How many elements were requested since the start, once these are more than ``count``."""
        while self._requested <= count:
            self._waiter = self._loop.create_future()
            try:
                if self._requested <= count:  # checked again, now that others see that we wait
                    await self._waiter
            finally:
                self._waiter = None
        return self._requested


def from_coroutine_with_credit(
    coroutine: Feeding, connector: str, run: RunContext, per_output: int
) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the loop of the run."""
    subscriber = PrefetchSubscriber(run, per_output)
    subscriber.on_subscribe(CreditSubscription(connector, coroutine, subscriber, run))
    return subscriber.elements()
