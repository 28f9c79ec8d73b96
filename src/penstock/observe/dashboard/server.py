"""The server of the page, with an event loop of its own, and its certificate."""

from __future__ import annotations

import asyncio
import socket
import ssl
import stat
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import uvicorn

from penstock.observe.dashboard.access import AccessControl, Keys
from penstock.observe.dashboard.connections import BACKLOG, MOST, PageConnections, PageListener
from penstock.observe.dashboard.routes import EventStream, application
from penstock.observe.observer import Observer
from penstock.observe.unavailable import DashboardUnavailable

__all__ = [
    "PageServer",
    "tls",
]


def tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """What serves with a certificate; ``None`` if there is none."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        given, missing = ("key", "certificate") if certificate is None else ("certificate", "key")
        raise ValueError(
            f"TLS needs a certificate and its key; there is a {given} without {missing}"
        )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        certificate.open("rb").close()
        if stat.S_IMODE(key.stat().st_mode) & 0o007:
            raise DashboardUnavailable(
                f"every user of this machine can read the key {key}, so it is no secret any more; "
                f"make a new one, for its owner alone: chmod 600 {key}"
            )
        context.load_cert_chain(certificate, key, password=refuse_password)
    except ssl.SSLError as error:
        raise DashboardUnavailable(
            f"{certificate} and {key} are no certificate and the key that belongs to it, in PEM: "
            f"{error.reason or error}"
        ) from error
    except OSError as error:
        raise DashboardUnavailable(f"{error.filename} cannot be read: {error.strerror}") from error
    return context


def refuse_password() -> str:
    """Nobody is asked for a password while a pipeline starts."""
    raise DashboardUnavailable("the key of the page has a password; give one without")


IDLE: Final = 5
"""The seconds after which a connection without requests is closed."""
LONGEST_HEADERS: Final = 1 << 14


class PageServer:
    """Serves on a socket. ``started`` is done once it can be stopped; its result does that."""

    def __init__(
        self,
        observer: Observer,
        listener: socket.socket,
        keys: Keys,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._observer = observer
        self._connections = PageConnections()
        self._listener = PageListener(listener, self._connections)
        self._keys = keys
        self._context = context
        self.started: Future[Callable[[], object]] = Future()

    def run(self) -> None:
        """Serve; returns when it was stopped."""
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self.started.done():
                raise
            self.started.set_exception(error)
        finally:
            self._listener.close()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        news = EventStream(self._observer)
        app = AccessControl(
            application(self._observer, news),
            port=self._listener.getsockname()[1],
            keys=self._keys,
            scheme="https" if self._context else "http",
            admit=self._connections.admit,
        )
        server = uvicorn.Server(settings(app, self._context))

        def stop() -> None:
            # The windows first: the server waits until all responses have ended.
            news.close()
            server.should_exit = True

        self.started.set_result(lambda: loop.call_soon_threadsafe(stop))
        try:
            await server.serve(sockets=[self._listener])
        finally:
            news.close()


def settings(app: AccessControl, context: ssl.SSLContext | None) -> uvicorn.Config:
    """HTTP and nothing else, and nothing in the log but trouble: an address holds the token."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=IDLE,
        limit_concurrency=2 * MOST,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        backlog=BACKLOG,
    )
    config.load()
    config.ssl = context
    return config
