"""What a client asks of a server, which clients are let in, and what the others are told."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from penstock.connectors.shared.connection_errors import ClientMistake, RateLimitedLog, told
from penstock.connectors.shared.sockets import ListeningSocket
from penstock.runtime import shorten, shown_address

__all__ = [
    "Admission",
    "Authenticate",
    "Refusal",
    "Request",
]

MOST_FIELDS: Final = 100
"""No url has more parameters."""


@dataclass(frozen=True, repr=False)
class Request:
    """What a client that connects asks for.

    ``path``     the path of the url
    ``query``    the parameters of the url
    ``after``    the position after which to go on; ``None`` to begin with the first element
    ``headers``  what else was sent, by names in small letters
    ``peer``     the address of the client, as the network has it

    Shown, it has no parameters and no headers, since there may be credentials among them.
    """

    path: str
    query: Mapping[str, str]
    after: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""

    @classmethod
    def of(
        cls,
        path: str,
        query: str,
        headers: Iterable[tuple[str, str]] = (),
        peer: str = "",
        after: str | None = None,
    ) -> Request:
        """From path and query of a url; ``ClientMistake`` if ``after`` is no JSON."""
        try:
            parameters = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError:
            raise ClientMistake(f"there are more than {MOST_FIELDS} parameters") from None
        position = parameters.get("after") if after is None else after
        try:
            parsed = None if position is None else json.loads(position)
        except (ValueError, RecursionError):
            raise ClientMistake(f"after must be JSON, not {shorten(position)}") from None
        return cls(path, parameters, parsed, lower_case(headers), peer)

    def __repr__(self) -> str:
        names = "&".join(f"{name}=" for name in self.query)
        return f"<request of {self.peer or 'somebody'} for {shown_address(f'{self.path}?{names}')}>"


def lower_case(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by names in small letters; of those that come twice, all, with commas between."""
    joined: dict[str, str] = {}
    for given, value in headers:
        name = given.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


Authenticate: TypeAlias = Callable[[Request], bool | Awaitable[bool]]
"""Whether a client may connect; a coroutine function may take its time."""

logger = logging.getLogger(__name__)


class Refusal(NamedTuple):
    """What a client that is not let in is told: as little as possible."""

    status: int
    words: str
    headers: dict[str, str]


UNKNOWN: Final = Refusal(401, "not authenticated\n", {"WWW-Authenticate": "Bearer"})
FORBIDDEN: Final = Refusal(403, "not allowed\n", {})
FULL: Final = Refusal(503, "too many connections\n", {"Retry-After": "10"})


class Admission:
    """Decides about each request, before a flow is made for it.

    ``authenticate`` is called on the event loop of the server.
    """

    def __init__(
        self, connector: str, authenticate: Authenticate | None, listening: ListeningSocket
    ) -> None:
        self._connector = connector
        self._authenticate = authenticate
        self._listening = listening
        self._rate_limit = RateLimitedLog()

    async def refusal(self, request: Request, peer: tuple[str, int] | None) -> Refusal | None:
        """Why the request is not served, if it is not."""
        refusal = await self._distrust(request)
        if refusal is None and not self._listening.serve(peer):
            refusal = FULL
        if refusal is not None and self._rate_limit.passes():
            logger.warning(
                "%s: %s is refused with the status %d%s",
                self._connector,
                request,
                refusal.status,
                self._rate_limit.left_out(),
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
