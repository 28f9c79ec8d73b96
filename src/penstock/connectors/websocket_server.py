"""A websocket server as a sink: each connection is a subscriber of its own."""

from __future__ import annotations

import logging
import socket
from asyncio import CancelledError, create_task, gather
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.typing import Origin, Subprotocol

from penstock.api import UNBOUNDED
from penstock.connectors.arguments import require_texts
from penstock.connectors.frames import COMPLETE, PROTOCOL, error_frame, next_frame, read_frame
from penstock.connectors.json_text import json_text
from penstock.connectors.outflow import Outflow
from penstock.connectors.own_loop import OwnLoop
from penstock.connectors.serving import (
    Connections,
    FlowFactory,
    Policy,
    Request,
    Server,
    address_of,
    listening_socket,
)
from penstock.demand import illegal_request
from penstock.flow.arguments import require_callable
from penstock.flow.operators.overflow import Overflow

__all__ = ["serve_websocket"]

NAME: Final = "serve_websocket"
CLOSING: Final = 2.0
"""Seconds that the other end has to say goodbye."""

SILENCE: Final = 60.0
"""Seconds without an answer to a ping after which the other end is taken for gone."""

MESSAGE_BYTES: Final = 64 * 1024
"""More than any request needs."""

REASON_BYTES: Final = 123
"""No longer may the reason be for which a connection is closed."""

logger = logging.getLogger(__name__)


def serve_websocket(
    flow_factory: FlowFactory,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    capacity: int = 256,
    policy: Policy = "wait",
    encode: Callable[[Any], str] = json_text,
    origins: Iterable[str] = (),
) -> Server:
    """Serve flows to whoever connects, until the server is closed.

    Each connection gets one subscription of its own, to ``flow_factory(request)``, where
    ``request`` has ``path``, ``query``, and ``after``, the position to go on behind, if the other
    end names one. ``encode`` makes JSON of an element. Programs may connect, and the web pages
    whose ``origins`` are given, such as "https://example.org".

    ``policy`` says what happens if a connection is slower than its flow: "wait" holds the flow
    back; the others let it run, and once ``capacity`` elements wait, "drop" leaves out those that
    come, and "disconnect" cancels the flow and closes the connection behind what waits; "latest"
    keeps only the last one. A flow that all connections share, such as ``flow.share()``, goes at
    the pace of the slowest that waits.

    Flows run on the thread of the server unless they have an executor; one that blocks belongs
    behind ``subscribe_on``.

    Demand: exact if the other end speaks the subprotocol, as ``from_websocket`` does: what it
    requests is requested, at most ``capacity`` at a time. Else window: ``capacity`` elements are on
    their way, and more are requested as the socket takes them.

    Errors: those of a flow, and what ``flow_factory`` and ``encode`` raise, end the connection
    concerned, which is told so, and are logged. At once: ``OSError`` for a port that cannot be
    used, ``ValueError`` and ``TypeError`` for arguments.

    Example:
        >>> from penstock.connectors import from_websocket, serve_websocket
        >>> def numbers(request):
        ...     return Flow.range(request.after + 1 if request.after else 0, 5)
        >>> with serve_websocket(numbers) as server:
        ...     from_websocket(server.address, after=2).to_list().run_sync()
        [3, 4]
    """
    connections = Connections(NAME, flow_factory, capacity, policy)
    handler = Handler(connections, require_callable(NAME, encode))
    pages = [Origin(text) for text in require_texts(NAME, "origins", origins)]
    listening = listening_socket(NAME, host, port)
    loop = OwnLoop("penstock-websocket-server")
    server = loop.run(started(handler, listening, pages))

    async def stop() -> None:
        server.close()
        await server.wait_closed()

    return Server(address_of("ws", host, listening), loop, stop)


async def started(handler: Handler, listening: socket.socket, pages: list[Origin]) -> Any:
    """A server on this loop; without ``pages`` it takes nobody who names a page at all."""
    return await serve(
        handler.serve,
        sock=listening,
        select_subprotocol=selected,
        origins=[None, *pages],
        compression=None,  # it would need a window of its own for each connection
        ping_timeout=SILENCE,
        close_timeout=CLOSING,
        max_size=MESSAGE_BYTES,
    )


def selected(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Ours, if the other end knows it; any other client is welcome as well."""
    return PROTOCOL if PROTOCOL in offered else None


class Handler:
    """What happens on each connection."""

    def __init__(self, connections: Connections, encode: Callable[[Any], str]) -> None:
        self._connections = connections
        self._encode = encode

    async def serve(self, connection: ServerConnection) -> None:
        """Send what is wanted until either end has enough."""
        dialogue = Dialogue(connection, self._connections.capacity, self._encode)
        try:
            assert connection.request is not None
            request = Request.of(connection.request.path)
            self._connections.flow_for(request).subscribe(dialogue.outflow)
        except Exception as error:
            await dialogue.fail(error)
            return
        try:
            await dialogue.hold()
        finally:
            dialogue.outflow.cancel()


class Dialogue:
    """One connection and its subscription."""

    def __init__(
        self, connection: ServerConnection, capacity: int, encode: Callable[[Any], str]
    ) -> None:
        self._connection = connection
        self._encode = encode
        self._asks = connection.subprotocol == PROTOCOL
        self.outflow = Outflow(capacity)

    async def hold(self) -> None:
        """Send and listen, until the connection is closed."""
        if not self._asks:
            self.outflow.request(UNBOUNDED)
        sending = create_task(self._send())
        try:
            # Read in any case: else we would not see that the other end is gone.
            async for message in self._connection:
                if self._asks and not self._goes_on_after(message):
                    await self._connection.close()
        except ConnectionClosed:
            pass
        except Exception as error:  # what was heard makes no sense
            await self.fail(error)
        finally:
            sending.cancel()
            await gather(sending, return_exceptions=True)

    def _goes_on_after(self, message: str | bytes) -> bool:
        kind, content = read_frame(message, ("request", "cancel"))
        if kind == "cancel":
            return False
        illegal = illegal_request(content)
        if illegal is not None:
            raise illegal  # 3.9
        self.outflow.request(content)
        return True

    async def _send(self) -> None:
        try:
            async for element in self.outflow:
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
        logger.warning(
            "%s: %s ends with an error", NAME, self._connection.remote_address, exc_info=error
        )
        try:
            if self._asks:
                await self._connection.send(error_frame(error))
            slow = isinstance(error, Overflow)
            code = CloseCode.TRY_AGAIN_LATER if slow else CloseCode.INTERNAL_ERROR
            reason = f"{type(error).__name__}: {error}".encode()[:REASON_BYTES]
            await self._connection.close(code, reason.decode(errors="ignore"))
        except ConnectionClosed:
            pass
