"""The server of the page, with an event loop of its own."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

import uvicorn

from penstock.observe.dashboard.access import AccessControl
from penstock.observe.dashboard.connections import BACKLOG, MOST, PageConnections, PageListener
from penstock.observe.dashboard.keys import Keys
from penstock.observe.dashboard.routes import EventStream, application
from penstock.observe.observer import Observer

__all__ = ["PageServer"]

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
