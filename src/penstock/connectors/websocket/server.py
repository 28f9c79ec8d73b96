"""A websocket server as a sink: each connection is a separate subscriber."""

from __future__ import annotations

from asyncio import CancelledError, create_task, gather
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request as Handshake
from websockets.http11 import Response
from websockets.typing import Origin, Subprotocol

from penstock.api import UNBOUNDED
from penstock.connectors.shared.admission import Admission, Authenticate, Refusal, Request
from penstock.connectors.shared.connection_errors import ClientMistake, quiet, told
from penstock.connectors.shared.connection_subscriber import ConnectionSubscriber
from penstock.connectors.shared.formats import json_text
from penstock.connectors.shared.server import (
    FlowFactory,
    Policy,
    ServedConnections,
    Server,
    ServerAddress,
    Stop,
    served,
)
from penstock.connectors.shared.sockets import HANDSHAKE, ListeningSocket
from penstock.connectors.shared.tls import ServerTls
from penstock.connectors.websocket.credit import (
    COMPLETE,
    PROTOCOL,
    FrameError,
    error_frame,
    next_frame,
    read_frame,
)
from penstock.core import illegal_request
from penstock.flow.operators.backpressure import Overflow
from penstock.runtime.arguments import require_texts

__all__ = ["serve_websocket"]

NAME: Final = "serve_websocket"
CLOSING: Final = 2.0
"""Seconds that the other end has to say goodbye."""

SILENCE: Final = 60.0
"""Seconds without an answer to a ping after which the other end is taken for gone."""

MESSAGE_BYTES: Final = 64 * 1024
"""More bytes than any request needs."""

REASON_BYTES: Final = 123
"""The most bytes that the reason for closing a connection may have."""


def serve_websocket(
    flow_factory: FlowFactory,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    capacity: int = 256,
    policy: Policy = "wait",
    encode: Callable[[Any], str] = json_text,
    origins: Iterable[str] = (),
    authenticate: Authenticate | None = None,
    ssl: ServerTls | None = None,
    max_connections: int | None = None,
) -> Server:
    """Serve flows to all clients, until the server is closed.

    Each connection gets its own subscription to ``flow_factory(request)``, where ``request`` has
    ``path``, ``query``, ``headers``, ``peer``, and ``after``, the position after which to go on, if
    the other end names one. ``encode`` makes JSON of an element.

    Programs may connect, and the web pages whose ``origins`` are given, such as
    "https://example.org". ``authenticate(request)`` says which of them: on ``False`` they get the
    status 401, or 403 if they have sent an ``Authorization``, and nothing else; it may be a
    coroutine function. ``ssl`` is a file with certificate and key, a pair of files, or an
    ``SSLContext``; with it, the server speaks ``wss://`` only. Beyond ``max_connections``, by
    default half of the files that the program may open and at most 1,000, the status is 503.
    A client that says nothing is cut off after 10 seconds.

    ``policy`` says what happens if a connection is slower than its flow: "wait" holds the flow
    back; the others let it run, and once ``capacity`` elements wait, "drop" leaves out those that
    come, and "disconnect" cancels the flow and closes the connection after what waits; "latest"
    keeps only the last one. A flow that all connections share, such as ``flow.share()``, goes at
    the pace of the slowest that waits.

    Flows run on the thread of the server unless they have an executor; one that blocks needs
    ``subscribe_on``. All functions are called on that thread.

    Demand: exact if the other end speaks the subprotocol, as ``from_websocket`` does: what it
    requests is requested, at most ``capacity`` at a time. Else window: ``capacity`` elements are on
    their way, and more are requested as the socket takes them.

    Delivery: at least once. A client that comes back may get again what it had.

    Errors: those of a flow, and what ``flow_factory`` and ``encode`` raise, end the connection
    concerned, and are logged; the other end gets a number under which the log has them, and words
    only about what it did itself. At once: ``OSError`` for a port that cannot be used,
    ``ValueError`` and ``TypeError`` for arguments, such as a certificate without its key.

    Example:
        >>> from penstock.connectors import from_websocket, serve_websocket
        >>> def numbers(request):
        ...     return Flow.range(request.after + 1 if request.after else 0, 5)
        >>> with serve_websocket(numbers) as server:
        ...     from_websocket(server.address, after=2).to_list().run_sync()
        [3, 4]
    """
    connections = ServedConnections(NAME, flow_factory, capacity, policy, encode)
    pages = [Origin(text) for text in require_texts(NAME, "origins", origins)]
    site = ServerAddress.of(NAME, host, port, authenticate, ssl, max_connections)
    return served(site, "ws", partial(start, connections, pages, site))


async def start(
    connections: ServedConnections,
    pages: list[Origin],
    site: ServerAddress,
    listening: ListeningSocket,
) -> Stop:
    """Serve on this loop; web pages only from the origins ``pages``."""
    encrypted: dict[str, Any] = (
        {} if site.tls is None else {"ssl": site.tls, "ssl_handshake_timeout": HANDSHAKE}
    )
    server = await serve(
        partial(answer, connections),
        sock=listening,
        process_request=partial(refused, Admission(NAME, site.authenticate, listening)),
        select_subprotocol=selected,
        origins=[None, *pages],
        compression=None,  # it would need a window for each connection
        open_timeout=HANDSHAKE,
        server_header=None,
        logger=quiet("websockets.server"),
        ping_timeout=SILENCE,
        close_timeout=CLOSING,
        max_size=MESSAGE_BYTES,
        **encrypted,
    )

    async def stop() -> None:
        listening.close_unserved()
        server.close()
        await server.wait_closed()

    return stop


def selected(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Ours, if the other end knows it; any other client is welcome as well."""
    return PROTOCOL if PROTOCOL in offered else None


def request_of(connection: ServerConnection) -> Request:
    """What the other end asks for."""
    handshake = connection.request
    assert handshake is not None
    path, _, query = handshake.path.partition("?")
    return Request.of(path, query, handshake.headers.raw_items(), peer_of(connection)[0])


def peer_of(connection: ServerConnection) -> tuple[str, int]:
    """The address of the other end, and its port."""
    host, port = connection.remote_address[:2]
    return host, port


async def refused(
    admission: Admission, connection: ServerConnection, handshake: Handshake
) -> Response | None:
    """What a client that is not served is told."""
    try:
        request = request_of(connection)
    except ClientMistake as error:
        refusal: Refusal | None = Refusal(400, f"{error}\n", {})
    else:
        refusal = await admission.refusal(request, peer_of(connection))
    if refusal is None:
        return None
    response = connection.respond(refusal.status, refusal.words)
    for name, value in refusal.headers.items():
        response.headers[name] = value
    return response


async def answer(connections: ServedConnections, connection: ServerConnection) -> None:
    """Send what is wanted until either end has enough."""
    dialogue = WebsocketConnection(connection, connections.encode)
    try:
        flow = connections.flow_for(request_of(connection))
        with connections.subscribed(flow) as subscriber:
            await dialogue.hold(subscriber)
    except Exception as error:
        await dialogue.fail(error)


class WebsocketConnection:
    """One connection: what is sent on it, and what is received.

    ``encode`` is called on the event loop of the server.
    """

    def __init__(self, connection: ServerConnection, encode: Callable[[Any], str]) -> None:
        self._connection = connection
        self._encode = encode
        self._asks = connection.subprotocol == PROTOCOL

    async def hold(self, subscriber: ConnectionSubscriber) -> None:
        """Send and listen, until the connection is closed."""
        if not self._asks:
            subscriber.request(UNBOUNDED)
        sending = create_task(self._send(subscriber))
        try:
            # Read in any case: else we would not see that the other end is gone.
            async for message in self._connection:
                if not self._asks:
                    continue
                wanted = requested(message)
                if wanted is None:
                    await self._connection.close()
                else:
                    subscriber.request(wanted)
        except ConnectionClosed:
            pass
        except Exception as error:  # what was received makes no sense
            await self.fail(error)
        finally:
            sending.cancel()
            await gather(sending, return_exceptions=True)

    async def _send(self, subscriber: ConnectionSubscriber) -> None:
        try:
            async for element in subscriber:
                text = self._encode(element)
                await self._connection.send(next_frame(text) if self._asks else text)
            if self._asks:
                await self._connection.send(COMPLETE)
            await self._connection.close()
        except (ConnectionClosed, CancelledError):
            raise
        except Exception as error:
            await self.fail(error)

    async def fail(self, error: Exception) -> None:
        """Tell the other end why this is the end."""
        words = told(NAME, peer_of(self._connection)[0], error)
        try:
            if self._asks:
                await self._connection.send(error_frame(words))
            slow = isinstance(error, Overflow)
            code = CloseCode.TRY_AGAIN_LATER if slow else CloseCode.INTERNAL_ERROR
            reason = words.encode()[:REASON_BYTES]
            await self._connection.close(code, reason.decode(errors="ignore"))
        except ConnectionClosed:
            pass


def requested(message: str | bytes) -> int | None:
    """How many more elements a frame asks for; none if it cancels."""
    kind, content = read_frame(message, ("request", "cancel"))
    if kind == "cancel":
        return None
    illegal = illegal_request(content)
    if illegal is not None:
        raise FrameError(str(illegal))  # 3.9
    wanted: int = content
    return wanted
