"""What servers share: the socket, the thread, and one bounded subscriber for each connection."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from penstock.api import Publisher
from penstock.connectors.arguments import require_choice, require_port
from penstock.connectors.outflow import Outflow
from penstock.connectors.own_loop import OwnLoop
from penstock.flow import Flow
from penstock.flow.arguments import require_callable, require_publisher, require_size, require_text

__all__ = [
    "Connections",
    "FlowFactory",
    "Policy",
    "Request",
    "Server",
    "served",
]

Policy: TypeAlias = Literal["wait", "drop", "latest", "disconnect"]
"""What becomes of elements that a connection is too slow for."""


@dataclass(frozen=True)
class Request:
    """What somebody who connects asks for.

    ``path``   the path of the url
    ``query``  the parameters of the url
    ``after``  the position behind which to go on; ``None`` to begin with the first element
    """

    path: str
    query: Mapping[str, str]
    after: Any = None

    @classmethod
    def of(cls, target: str, after: str | None = None) -> Request:
        """From path and query of a url; ``ValueError`` if ``after`` is no JSON."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        position = query.get("after") if after is None else after
        try:
            return cls(parts.path, query, None if position is None else json.loads(position))
        except ValueError as error:
            raise ValueError(f"after must be JSON, not {position!r:.80}: {error}") from None


FlowFactory: TypeAlias = Callable[[Request], Publisher[Any]]

PRESSURE: Final[dict[str, Callable[[Flow[Any], int], Flow[Any]]]] = {
    "wait": lambda flow, capacity: flow,
    "drop": lambda flow, capacity: flow.on_backpressure_buffer(capacity, "drop_newest"),
    "latest": lambda flow, capacity: flow.on_backpressure_latest(),
    "disconnect": lambda flow, capacity: flow.on_backpressure_buffer(capacity, "error"),
}

Stop: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

Start: TypeAlias = Callable[[socket.socket], Coroutine[Any, Any, Stop]]
"""Serves whoever connects, on the loop where it runs; what it returns ends that."""


class Connections:
    """The flows of all connections: who makes them, how much each may hold, and who is here."""

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
        self._capacity = require_size(connector, "capacity", capacity)
        self._open: set[Outflow] = set()
        self._stopped = False
        self.encode = require_callable(connector, encode)

    def flow_for(self, request: Request) -> Flow[Any]:
        """What a connection is to get."""
        made = require_publisher(self._connector, self._factory(request))
        return PRESSURE[self._policy](Flow.from_publisher(made), self._capacity)

    @contextmanager
    def subscribed(self, flow: Flow[Any]) -> Iterator[Outflow]:
        """The elements of ``flow`` on their way to a connection, for as long as there is one."""
        outflow = Outflow(self._capacity)
        self._open.add(outflow)
        try:
            if self._stopped:  # it has come while the server closes
                outflow.stop()
            else:
                flow.subscribe(outflow)
            yield outflow
        finally:
            self._open.discard(outflow)
            outflow.cancel()

    def stop(self) -> None:
        """No connection gets any more elements."""
        self._stopped = True
        for outflow in tuple(self._open):
            outflow.stop()


class Server:
    """A running server, on a thread with an asyncio loop of its own.

    Use it in a ``with`` block, or an ``async with`` block, or call ``close``.
    """

    def __init__(self, address: str, loop: OwnLoop, stop: Stop) -> None:
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


def served(connector: str, scheme: str, host: str, port: int, start: Start) -> Server:
    """A server that runs, on a thread of its own."""
    listening = listening_socket(connector, host, port)
    loop = OwnLoop(f"penstock-{scheme}-server")
    return Server(address_of(scheme, host, listening), loop, loop.run(start(listening)))


def listening_socket(connector: str, host: str, port: int) -> socket.socket:
    """A socket that listens; an error that names the port if it cannot."""
    require_text(connector, "host", host)
    require_port(connector, port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=100)
    except OSError as error:
        reason = {
            errno.EADDRINUSE: "is in use by another program; give another one, or 0 for any",
            errno.EACCES: "is not ours to use; give one above 1023, or 0 for any",
        }.get(error.errno or 0, f"cannot be used: {os.strerror(error.errno or 0)}")
        message = f"{connector}: port {port} of {host} {reason}"
        raise type(error)(error.errno, message) from None
    # Handed on to each connection: else small messages wait for one another, 40 ms at a time.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(scheme: str, host: str, listening: socket.socket) -> str:
    """The url of a server."""
    port = listening.getsockname()[1]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
