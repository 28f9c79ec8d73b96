"""Who is let in by a server, and what the others are told."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Final, NamedTuple, TypeAlias

from penstock.connectors.door import Door
from penstock.connectors.remote_error import told
from penstock.connectors.requests import Request
from penstock.connectors.strangers import Seldom
from penstock.demand import shorten

__all__ = ["Admission", "Authenticate", "Refusal"]

Authenticate: TypeAlias = Callable[[Request], bool | Awaitable[bool]]
"""Whether whoever connects may; a coroutine function may take its time."""

logger = logging.getLogger(__name__)


class Refusal(NamedTuple):
    """What somebody is told who is not let in: as little as possible."""

    status: int
    words: str
    headers: dict[str, str]


UNKNOWN: Final = Refusal(401, "not authenticated\n", {"WWW-Authenticate": "Bearer"})
FORBIDDEN: Final = Refusal(403, "not allowed\n", {})
FULL: Final = Refusal(503, "too many connections\n", {"Retry-After": "10"})


class Admission:
    """Decides about each request, before a flow is made for it."""

    def __init__(self, connector: str, authenticate: Authenticate | None, door: Door) -> None:
        self._connector = connector
        self._authenticate = authenticate
        self._door = door
        self._seldom = Seldom()

    async def refusal(self, request: Request, peer: tuple[str, int] | None) -> Refusal | None:
        """Why the request is not served, if it is not."""
        refusal = await self._distrust(request)
        if refusal is None and not self._door.serve(peer):
            refusal = FULL
        if refusal is not None and self._seldom.passes():
            logger.warning(
                "%s: %s is refused with the status %d%s",
                self._connector,
                request,
                refusal.status,
                self._seldom.left_out(),
            )
        return refusal

    async def _distrust(self, request: Request) -> Refusal | None:
        if self._authenticate is None:
            return None
        try:
            answer = self._authenticate(request)
            if isawaitable(answer):
                answer = await answer
            if not isinstance(answer, bool):
                raise TypeError(f"authenticate must give True or False, not {shorten(answer)}")
        except Exception as error:
            return Refusal(500, f"{told(self._connector, request.peer, error)}\n", {})
        if answer:
            return None
        return FORBIDDEN if "authorization" in request.headers else UNKNOWN
