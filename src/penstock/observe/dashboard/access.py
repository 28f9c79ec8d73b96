"""Who may see the page, and what a browser may do with it. Each request passes here first.

The page shows data of the pipeline, so it is not for every program that reaches the port: not for
other users of the machine, who do not know the token, nor for the pages of others in the same
browser, which can send requests here, also under names of their own that lead to 127.0.0.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.observe.dashboard.keys import Keys
from penstock.observe.dashboard.probes import PROBES

__all__ = ["AccessControl"]

BEARER: Final = "bearer "
ADDRESS: Final = "/address"
"""Where a program that knows the token gets an address for a browser."""

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
    # Sites do not tell one port of this machine from another; these two do.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


ENTERING: Final = """<!doctype html>
<meta charset="utf-8">
<title>Penstock</title>
<link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url={folder}/">
<a href="{folder}/">The page</a>
"""
"""Leads on without the token in the address. By a page of ours, and not by a redirect: on that, a
browser would keep the cookie to itself if the link was clicked on the page of somebody else."""


class AccessControl:
    """Lets those through who have a key and ask from here; the others get status 403.

    Probes need no key, for they tell nothing but the state.

    ``admit`` is told who was let through, by the address of the other end, on the server's thread.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        keys: Keys,
        scheme: str = "http",
        admit: Callable[[tuple[str, int] | None], object] = lambda _: None,
    ) -> None:
        self._app = app
        self._keys = keys
        self._admit = admit
        self._hosts = hosts(port, scheme)
        self._origins = {f"{scheme}://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        refusal = self._refusal(connection)
        app = self._refused(refusal) if refusal else self._entrance(connection)
        entering = isinstance(app, HTMLResponse)
        refused = isinstance(app, PlainTextResponse) and app.status_code == REFUSED
        if not refused and scope["path"] not in PROBES:
            self._admit(scope.get("client"))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if entering:
                    headers.append("Set-Cookie", self._keys.cookie)
            await send(message)

        await app(scope, receive, send_guarded)

    def _refusal(self, connection: HTTPConnection) -> str:
        """Why it is not let through whatever its keys, in a sentence; empty if it may be."""
        if connection.headers.get("host", "").lower() not in self._hosts:
            return "This page answers to its own address on this machine only."
        if connection.headers.get("origin") not in {None, *self._origins}:
            return "Pages of others have no access."
        return ""

    def _entrance(self, connection: HTTPConnection) -> ASGIApp:
        """Where its key leads."""
        keys, path = self._keys, connection.scope["path"]
        if path in PROBES:
            return self._app
        authorization = connection.headers.get("authorization")
        token = connection.query_params.get("token")
        if authorization is not None:
            kind, given = authorization[: len(BEARER)], authorization[len(BEARER) :]
            known = kind.lower() == BEARER and keys.is_token(given.strip())
            return self._for_program(path) if known else self._refused(WRONG_TOKEN)
        if token is not None and path == "/":
            return self._for_newcomer(connection, token)
        if token is not None:
            return self._for_program(path) if keys.is_token(token) else self._refused(WRONG_TOKEN)
        if path.startswith(f"{keys.folder}/") and keys.is_session(connection.cookies):
            return self._within_folder
        return self._refused(NO_TOKEN)

    def _for_newcomer(self, connection: HTTPConnection, token: str) -> ASGIApp:
        """A browser that has opened an address; one that only looks ahead does not use it up."""
        looks_ahead = "prefetch" in connection.headers.get("sec-purpose", "")
        if connection.scope["method"] != "GET" or looks_ahead:
            return self._refused(WRONG_TOKEN)
        if self._keys.is_token(token) or self._keys.redeem(token):
            return HTMLResponse(ENTERING.format(folder=self._keys.folder))
        return self._refused(WRONG_TOKEN)

    def _for_program(self, path: str) -> ASGIApp:
        return PlainTextResponse(f"{self._keys.address}\n") if path == ADDRESS else self._app

    async def _within_folder(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(self._keys.folder)
        await self._app({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _refused(self, reason: str) -> Response:
        return PlainTextResponse(f"{reason}\n", REFUSED)


REFUSED: Final = 403
NO_TOKEN: Final = (
    "The token is missing: open the address that the pipeline has printed, or show the token of "
    "PENSTOCK_DASHBOARD_TOKEN as Authorization: Bearer."
)
WRONG_TOKEN: Final = (
    "The token is wrong, or was used before: an address opens the page once, and the pipeline has "
    "printed a new one then."
)


def hosts(port: int, scheme: str = "http") -> set[str]:
    """What a browser on this machine calls the host: without the port only if it is the usual one.

    Any other name that leads here is that of a foreign page, which had it point to 127.0.0.1.
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    usual = 443 if scheme == "https" else 80
    return {f"{name}:{port}" for name in names} | (set(names) if port == usual else set())
