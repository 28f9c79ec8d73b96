"""What servers share: the socket, the thread, and one bounded subscriber for each connection."""

from __future__ import annotations

import errno
import logging
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from penstock.api import Publisher
from penstock.connectors.shared.admission import Authenticate, Request
from penstock.connectors.shared.connection_subscriber import ConnectionSubscriber
from penstock.connectors.shared.loop_thread import LoopThread
from penstock.connectors.shared.sockets import (
    BOUNDED_SENDING,
    WATCHED,
    ListeningSocket,
    most_connections,
    quiet_about_descriptors,
)
from penstock.connectors.shared.tls import ServerTls, require_server_tls
from penstock.delivery import Level
from penstock.flow import Flow
from penstock.flow.checks import require_callable, require_publisher
from penstock.runtime import shorten
from penstock.runtime.arguments import require_choice, require_int, require_port, require_text

__all__ = [
    "FlowFactory",
    "Policy",
    "ServedConnections",
    "Server",
    "ServerAddress",
    "served",
]

logger = logging.getLogger(__name__)

Policy: TypeAlias = Literal["wait", "drop", "latest", "disconnect"]
"""What becomes of elements that a connection is too slow for."""


FlowFactory: TypeAlias = Callable[[Request], Publisher[Any]]

PRESSURE: Final[dict[str, Callable[[Flow[Any], int], Flow[Any]]]] = {
    "wait": lambda flow, capacity: flow,
    "drop": lambda flow, capacity: flow.on_backpressure_buffer(capacity, "drop_newest"),
    "latest": lambda flow, capacity: flow.on_backpressure_latest(),
    "disconnect": lambda flow, capacity: flow.on_backpressure_buffer(capacity, "error"),
}

Stop: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

Start: TypeAlias = Callable[[ListeningSocket], Coroutine[Any, Any, Stop]]
"""Serves clients on the loop where it runs; returns the function that ends that."""


class ServedConnections:
    """The flows of all connections: what makes them, how much each may hold, and which are open.

    ``factory`` and ``encode`` are called on the event loop of the server.
    """

    def __init__(
        self,
        connector: str,
        factory: FlowFactory,
        capacity: int,
        policy: Policy,
        encode: Callable[[Any], str],
    ) -> None:
        self._connector = connector
        self._factory = require_callable(connector, factory)
        self._policy = require_choice(connector, "policy", policy, PRESSURE)
        self._capacity = require_int(connector, "capacity", capacity)
        self._open: set[ConnectionSubscriber] = set()
        self._stopped = False
        self.encode = require_callable(connector, encode)

    def flow_for(self, request: Request) -> Flow[Any]:
        """What a connection is to get."""
        made = require_publisher(self._connector, self._factory(request))
        return PRESSURE[self._policy](Flow.from_publisher(made), self._capacity)

    @contextmanager
    def subscribed(self, flow: Flow[Any]) -> Iterator[ConnectionSubscriber]:
        """The elements of ``flow`` on their way to a connection, for as long as there is one."""
        subscriber = ConnectionSubscriber(self._capacity)
        self._open.add(subscriber)
        try:
            if self._stopped:  # the connection was made while the server closes
                subscriber.stop()
            else:
                flow.subscribe(subscriber)
            yield subscriber
        finally:
            self._open.discard(subscriber)
            subscriber.cancel()

    def stop(self) -> None:
        """No connection gets any more elements."""
        self._stopped = True
        for subscriber in tuple(self._open):
            subscriber.stop()


class Server:
    """A running server, on its own thread with an asyncio loop.

    Use it in a ``with`` block, or an ``async with`` block, or call ``close``.

    ``level``  a client that comes back may get again what it had
    """

    level: Level = "at least once"

    def __init__(self, address: str, loop: LoopThread, stop: Stop) -> None:
        self._address = address
        self._loop = loop
        self._stop = stop
        self._closed = False

    @property
    def address(self) -> str:
        """The url to connect to."""
        return self._address

    def close(self) -> None:
        """Cancel what the connections are subscribed to, close them, and free the port."""
        if not self._closed:
            self._closed = True
            try:
                self._loop.run(self._stop())
            finally:
                self._loop.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from asyncio import to_thread

        await to_thread(self.close)


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is, and which clients may connect."""

    connector: str
    host: str
    port: int
    authenticate: Authenticate | None
    tls: ssl.SSLContext | None
    max_connections: int

    @classmethod
    def of(
        cls,
        connector: str,
        host: str,
        port: int,
        authenticate: Any,
        tls: ServerTls | None,
        max_connections: int | None,
    ) -> ServerAddress:
        """From what the user gives."""
        if authenticate is not None and not callable(authenticate):
            given = shorten(authenticate)
            raise TypeError(f"{connector}: authenticate needs a function, not {given}")
        most = most_connections() if max_connections is None else max_connections
        return cls(
            connector,
            require_text(connector, "host", host),
            require_port(connector, port),
            authenticate,
            require_server_tls(connector, tls),
            require_int(connector, "max_connections", most),
        )

    @property
    def is_private(self) -> bool:
        """Whether only programs of this machine reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def warn_if_open(self) -> None:
        """Warn in the log of what anyone can do there."""
        if not self.is_private and self.authenticate is None:
            logger.warning(
                "%s: anyone who reaches %s gets what is served there; authenticate= says who may",
                self.connector,
                self.host,
            )
        elif not self.is_private and self.tls is None:
            logger.warning(
                "%s: what goes to %s can be read on its way, credentials as well; ssl= encrypts it",
                self.connector,
                self.host,
            )


def served(site: ServerAddress, scheme: str, start: Start) -> Server:
    """A server that runs on its own thread; ``scheme`` is the one without encryption."""
    listening = ListeningSocket(site.connector, listening_socket(site), site.max_connections)
    site.warn_if_open()
    loop = LoopThread(f"penstock-{scheme}-server")
    quiet_about_descriptors(site.connector, loop.loop)
    address = address_of(scheme if site.tls is None else f"{scheme}s", site.host, listening)
    return Server(address, loop, loop.run(start(listening)))


def listening_socket(site: ServerAddress) -> socket.socket:
    """A socket that listens; an error that names the port if it cannot."""
    host, port = site.host, site.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=100)
    except OSError as error:
        reason = {
            errno.EADDRINUSE: "is in use by another program; give another one, or 0 for any",
            errno.EACCES: "is not ours to use; give one above 1023, or 0 for any",
        }.get(error.errno or 0, f"cannot be used: {os.strerror(error.errno or 0)}")
        message = f"{site.connector}: port {port} of {host} {reason}"
        raise type(error)(error.errno, message) from None
    # Handed on to each connection: else small messages wait for one another, 40 ms at a time, and
    # a connection whose other end is gone without a word would stay.
    for option in ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), *WATCHED, *BOUNDED_SENDING):
        listening.setsockopt(*option)
    return listening


def address_of(scheme: str, host: str, listening: socket.socket) -> str:
    """The url of a server."""
    port = listening.getsockname()[1]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
