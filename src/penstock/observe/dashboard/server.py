"""The server of the page, with an event loop of its own, and the connections that it lets in.

A connection takes a descriptor, of which this process has a number that the sinks need as well. So
there is a bound, and who has shown no key is shut out after a while: whether nothing comes, a
request comes letter by letter, or the handshake of TLS does. When the bound is reached, those who
wait the longest make room, so that strangers do not keep the user of the page out.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import uvicorn

from penstock.observe.dashboard.access import AccessControl
from penstock.observe.dashboard.keys import Keys
from penstock.observe.dashboard.routes import EventStream, application
from penstock.observe.observer import Observer

__all__ = [
    "BACKLOG",
    "MOST",
    "PageConnections",
    "PageListener",
    "PageServer",
]

IDLE: Final = 5
"""The seconds after which a connection without requests is closed."""
LONGEST_HEADERS: Final = 1 << 14
MOST: Final = 64
"""From here on somebody has to make room."""
PATIENCE: Final = 10.0
"""The seconds within which a key has to be shown."""
BACKLOG: Final = 16
"""How many connections an event loop accepts at once, before it closes any."""
IN_LINE: Final = 1024
"""Who is not in line any more waits for seconds until his system tries again."""
Peer = tuple[str, int]


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


class PageConnections:
    """Those that are open. Everything happens on the thread of the event loop."""

    def __init__(self, *, most: int = MOST, patience: float = PATIENCE) -> None:
        self._most = most
        self._patience = patience
        self._open: set[PageConnection] = set()
        self._waiting: dict[Peer, tuple[PageConnection, asyncio.TimerHandle]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, accepted: socket.socket, peer: Peer) -> PageConnection | None:
        """A connection that was accepted; ``None`` if there are too many."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._waiting), None)
            if oldest is None or len(self._open) >= 2 * self._most:
                accepted.close()
                return None
            self.shut_out(oldest)  # it counts until it is gone
        connection = PageConnection(accepted, lambda: self._left(connection, peer))
        self._open.add(connection)
        timer = asyncio.get_running_loop().call_later(self._patience, self.shut_out, peer)
        self._waiting[peer] = connection, timer
        return connection

    def admit(self, peer: Peer | None) -> None:
        """Somebody has shown a key."""
        if peer is not None and (waiting := self._waiting.pop((peer[0], peer[1]), None)):
            waiting[1].cancel()

    def shut_out(self, peer: Peer) -> None:
        """End a connection that has shown no key."""
        if waiting := self._waiting.pop(peer, None):
            connection, timer = waiting
            timer.cancel()
            connection.hang_up()

    def _left(self, connection: PageConnection, peer: Peer) -> None:
        self._open.discard(connection)
        waiting = self._waiting.get(peer)
        if waiting is not None and waiting[0] is connection:
            waiting[1].cancel()
            del self._waiting[peer]


class PageConnection(socket.socket):
    """An accepted socket that tells when it is closed."""

    def __init__(self, accepted: socket.socket, closed: Callable[[], object]) -> None:
        self._closed_hook: Callable[[], object] | None = None
        super().__init__(fileno=accepted.detach())
        self._closed_hook = closed

    def hang_up(self) -> None:
        """Let the event loop find that it is over, and close it."""
        try:
            self.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster

    def close(self) -> None:
        """Close it, and say so once."""
        super().close()
        hook, self._closed_hook = self._closed_hook, None
        if hook is not None:
            hook()


class PageListener(socket.socket):
    """A socket that listens, and lets in no more than ``connections`` allows."""

    def __init__(self, listening: socket.socket, connections: PageConnections) -> None:
        super().__init__(fileno=listening.detach())
        self._connections = connections

    def listen(self, backlog: int = 0, /) -> None:
        """Let many stand in line, which takes no descriptor, however few are accepted at once."""
        super().listen(IN_LINE)

    def accept(self) -> tuple[socket.socket, Any]:
        """As that of any socket; who is not let in was never there."""
        accepted, address = super().accept()
        connection = self._connections.enter(accepted, (address[0], address[1]))
        if connection is None:
            raise BlockingIOError
        return connection, address
