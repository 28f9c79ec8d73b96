"""A server of events as a sink: each connection is a subscriber of its own."""

from __future__ import annotations

import json
import logging
import socket
from asyncio import create_task, wait
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from ipaddress import ip_address
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.api import UNBOUNDED
from penstock.connectors.arguments import require_texts
from penstock.connectors.json_text import json_text
from penstock.connectors.remote_error import told
from penstock.connectors.serving import (
    Connections,
    FlowFactory,
    Policy,
    Request,
    Server,
    Stop,
    served,
)
from penstock.connectors.sse_events import COMPLETE, FAILURE, event_text
from penstock.flow import Flow
from penstock.flow.arguments import require_callable

__all__ = ["serve_server_sent_events"]

NAME: Final = "serve_server_sent_events"
CLOSING: Final = 2.0
"""Seconds that the other end has to take what is still on its way when the server is closed."""

HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
OURSELVES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")

logger = logging.getLogger(__name__)


def serve_server_sent_events(
    flow_factory: FlowFactory,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    capacity: int = 256,
    policy: Policy = "wait",
    encode: Callable[[Any], str] = json_text,
    position_of: Callable[[Any], object] | None = None,
    origins: Iterable[str] = (),
) -> Server:
    """Serve flows as server-sent events to whoever connects, until the server is closed.

    Each connection gets one subscription of its own, to ``flow_factory(request)``, where
    ``request`` has ``path``, ``query``, and ``after``, the position to go on behind. ``encode``
    makes JSON of an element; ``position_of`` tells its position, which is the id of the event, and
    comes back as ``after`` when the other end connects anew. Web pages may read it whose
    ``origins`` are given, such as "https://example.org". A server of this machine's own address
    answers to that address only.

    ``policy`` says what happens if a connection is slower than its flow: "wait" holds the flow
    back; the others let it run, and once ``capacity`` elements wait, "drop" leaves out those that
    come, and "disconnect" cancels the flow and ends the connection behind what waits; "latest"
    keeps only the last one.

    Flows run on the thread of the server unless they have an executor; one that blocks belongs
    behind ``subscribe_on``.

    Demand: window: ``capacity`` elements are on their way, and more are requested as the socket
    takes them.

    Errors: those of a flow, and what ``encode`` and ``position_of`` raise, end the connection
    concerned, which is told so, and are logged. What ``flow_factory`` raises is answered with the
    status 500. At once: ``OSError`` for a port that cannot be used, ``ValueError`` and
    ``TypeError`` for arguments.

    Example:
        >>> from penstock.connectors import from_server_sent_events, serve_server_sent_events
        >>> def numbers(request):
        ...     return Flow.range(request.after + 1 if request.after else 0, 5)
        >>> with serve_server_sent_events(numbers, position_of=lambda number: number) as server:
        ...     flow = from_server_sent_events(server.address, after="2")
        ...     flow.to_list().run_sync()
        [Event(id='3', event='message', data=3), Event(id='4', event='message', data=4)]
    """
    handler = Handler(
        Connections(NAME, flow_factory, capacity, policy, encode),
        None if position_of is None else require_callable(NAME, position_of),
    )
    pages = require_texts(NAME, "origins", origins)
    return served(NAME, "http", host, port, partial(start, handler, host, pages))


async def start(handler: Handler, host: str, pages: list[str], listening: socket.socket) -> Stop:
    """Serve on this loop."""
    app = application(handler, host, pages)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
    serving = create_task(server.serve(sockets=[listening]))

    async def stop() -> None:
        handler.connections.stop()
        server.should_exit = True
        while not serving.done():
            await wait({serving}, timeout=CLOSING)
            cut_off_who_does_not_read(server)
        await serving

    return stop


def cut_off_who_does_not_read(server: uvicorn.Server) -> None:
    """Else the server would wait for as long as they keep the connection."""
    for connection in tuple(server.server_state.connections):
        if connection.transport.get_write_buffer_size():
            connection.transport.abort()


def application(handler: Handler, host: str, pages: list[str]) -> Starlette:
    """All paths lead to ``handler``."""
    middleware = [Middleware(CORSMiddleware, allow_origins=pages)] if pages else []
    if is_own_address(host):
        # Else any page could have its own name lead here, and read along.
        middleware.append(Middleware(TrustedHostMiddleware, allowed_hosts=[*OURSELVES, host]))
    return Starlette(routes=[Route("/{path:path}", handler.answer)], middleware=middleware)


def is_own_address(host: str) -> bool:
    """Whether only programs of this machine reach a server there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Handler:
    """What happens on each connection."""

    def __init__(
        self, connections: Connections, position_of: Callable[[Any], object] | None
    ) -> None:
        self.connections = connections
        self._position_of = position_of

    async def answer(self, request: HttpRequest) -> Response:
        """Send what there is until either end has enough."""
        try:
            url = request.url
            asked = Request.of(f"{url.path}?{url.query}", request.headers.get("last-event-id"))
        except ValueError as error:
            return PlainTextResponse(str(error), status_code=400)
        try:
            flow = self.connections.flow_for(asked)
        except Exception as error:
            logger.warning("%s: there is no flow for %s", NAME, asked, exc_info=error)
            return PlainTextResponse(told(error), status_code=500)
        return StreamingResponse(
            self._events(flow), media_type="text/event-stream", headers=HEADERS
        )

    async def _events(self, flow: Flow[Any]) -> AsyncIterator[str]:
        try:
            with self.connections.subscribed(flow) as outflow:
                outflow.request(UNBOUNDED)
                async for element in outflow:
                    text = self.connections.encode(element)
                    yield event_text(text, position=self._id_of(element))
                if not outflow.stopped:
                    yield event_text("null", event=COMPLETE)
        except Exception as error:
            logger.warning("%s: a connection ends with an error", NAME, exc_info=error)
            yield event_text(json.dumps(told(error)), event=FAILURE)

    def _id_of(self, element: Any) -> str:
        if self._position_of is None:
            return ""
        return json.dumps(self._position_of(element), allow_nan=False)
