"""Who may see the page, and what a browser may do with it. Each request passes here first.

The page shows data of the pipeline, so it is not for every program that reaches the port: not for
other users of the machine, who do not know the token, nor for the pages of others in the same
browser, which can send requests here, also under names of their own that lead to 127.0.0.1.
"""

from __future__ import annotations

import secrets
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate"]

HEADERS: Final = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self' data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    # Cookies do not tell one port of this machine from another; these two do.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    """Lets those through who know the token and ask from here; the others get status 403."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts(port)
        self._origins = {f"http://{host}" for host in self._hosts}
        # Cookies are shared by all ports of a host: each dashboard has a name of its own.
        self._cookie = f"penstock_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        refusal = self._refusal(connection)
        app = PlainTextResponse(refusal + "\n", 403) if refusal else self._app
        remember = not refusal and "token" in connection.query_params

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if remember:
                    headers.append("Set-Cookie", self._reminder)
            await send(message)

        await app(scope, receive, send_guarded)

    @property
    def _reminder(self) -> str:
        """So that what the page loads needs no token in its address."""
        return f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"

    def _refusal(self, connection: HTTPConnection) -> str:
        """Why it is not let through, in a sentence; empty if it is."""
        if connection.headers.get("host", "").lower() not in self._hosts:
            return "This page answers to its own address on this machine only."
        if connection.headers.get("origin") not in {None, *self._origins}:
            return "Pages of others have no access."
        if not self._knows_token(connection):
            return "The token is wrong or missing: open the address that the pipeline has printed."
        return ""

    def _knows_token(self, connection: HTTPConnection) -> bool:
        given = connection.query_params.get("token", connection.cookies.get(self._cookie, ""))
        return secrets.compare_digest(given.encode(), self._token.encode())


def hosts(port: int) -> set[str]:
    """What a browser on this machine calls the host: without the port only if it is that of HTTP.

    Any other name that leads here is that of a foreign page, which had it point to 127.0.0.1.
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    return {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
