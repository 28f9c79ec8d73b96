"""A server of events as a sink: each connection is a separate subscriber."""

from __future__ import annotations

import json
from asyncio import create_task, wait
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.api import UNBOUNDED
from penstock.connectors.shared.admission import Admission, Authenticate, Refusal, Request
from penstock.connectors.shared.connection_errors import ClientMistake, quiet, told
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
from penstock.connectors.shared.sockets import ListeningSocket
from penstock.connectors.shared.tls import ServerTls
from penstock.connectors.sse.events import COMPLETE, FAILURE, event_text
from penstock.flow import Flow
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import require_texts

__all__ = ["serve_server_sent_events"]

NAME: Final = "serve_server_sent_events"
CLOSING: Final = 2.0
"""Seconds that the other end has to take what is still on its way when the server is closed."""

HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
OURSELVES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")


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
    authenticate: Authenticate | None = None,
    ssl: ServerTls | None = None,
    max_connections: int | None = None,
) -> Server:
    """Serve flows as server-sent events to all clients, until the server is closed.

    Each connection gets its own subscription to ``flow_factory(request)``, where ``request`` has
    ``path``, ``query``, ``headers``, ``peer``, and ``after``, the position after which to go on.
    ``encode`` makes JSON of an element; ``position_of`` tells its position, which is the id of the
    event, and comes back as ``after`` when the other end connects again.

    Web pages may read it whose ``origins`` are given, such as "https://example.org". A server of
    this machine's own address answers to that address only. ``authenticate(request)`` says who
    may: on ``False`` they get the status 401, or 403 if they have sent an ``Authorization``, and
    nothing else; it may be a coroutine function. ``ssl`` is a file with certificate and key, a pair
    of files, or an ``SSLContext``; with it, the server speaks ``https://`` only. Beyond
    ``max_connections``, by default half of the files that the program may open and at most 1,000,
    the status is 503. A client that says nothing is cut off after 10 seconds.

    ``policy`` says what happens if a connection is slower than its flow: "wait" holds the flow
    back; the others let it run, and once ``capacity`` elements wait, "drop" leaves out those that
    come, and "disconnect" cancels the flow and ends the connection after what waits; "latest"
    keeps only the last one.

    Flows run on the thread of the server unless they have an executor; one that blocks needs
    ``subscribe_on``. All functions are called on that thread.

    Demand: window: ``capacity`` elements are on their way, and more are requested as the socket
    takes them.

    Delivery: at least once. A client that comes back may get again what it had.

    Errors: those of a flow, and what ``encode`` and ``position_of`` raise, end the connection
    concerned, and are logged; what ``flow_factory`` raises is answered with the status 500. The
    other end gets a number under which the log has them, and words only about what it did itself.
    At once: ``OSError`` for a port that cannot be used, ``ValueError`` and ``TypeError`` for
    arguments, such as a certificate without its key.

    Example:
        >>> from penstock.connectors import from_server_sent_events, serve_server_sent_events
        >>> def numbers(request):
        ...     return Flow.range(request.after + 1 if request.after else 0, 5)
        >>> with serve_server_sent_events(numbers, position_of=lambda number: number) as server:
        ...     flow = from_server_sent_events(server.address, after="2")
        ...     flow.to_list().run_sync()
        [Event(id='3', event='message', data=3), Event(id='4', event='message', data=4)]
    """
    handler = EventStreamHandler(
        ServedConnections(NAME, flow_factory, capacity, policy, encode),
        None if position_of is None else require_callable(NAME, position_of),
    )
    pages = require_texts(NAME, "origins", origins)
    site = ServerAddress.of(NAME, host, port, authenticate, ssl, max_connections)
    return served(site, "http", partial(start, handler, site, pages))


async def start(
    handler: EventStreamHandler, site: ServerAddress, pages: list[str], listening: ListeningSocket
) -> Stop:
    """Serve on this loop."""
    handler.admission = Admission(NAME, site.authenticate, listening)
    server = uvicorn.Server(configuration(application(handler, site, pages), site))
    serving = create_task(server.serve(sockets=[listening]))

    async def stop() -> None:
        handler.connections.stop()
        listening.close_unserved()
        server.should_exit = True
        while not serving.done():
            await wait({serving}, timeout=CLOSING)
            abort_unread(server)
        await serving

    return stop


def abort_unread(server: uvicorn.Server) -> None:
    """End connections whose clients do not read; the server would wait for them."""
    for connection in tuple(server.server_state.connections):
        if connection.transport.get_write_buffer_size():
            connection.transport.abort()


class QuietH11Protocol(H11Protocol):
    """A connection about which no more is logged than about those of other connectors."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = quiet("uvicorn")


def configuration(app: Starlette, site: ServerAddress) -> uvicorn.Config:
    """One request for each connection, and only the network says who the client is."""
    config = uvicorn.Config(
        app,
        http=QuietH11Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        headers=[("Connection", "close")],
    )
    config.load()
    config.ssl = site.tls
    return config


def application(handler: EventStreamHandler, site: ServerAddress, pages: list[str]) -> Starlette:
    """All paths lead to ``handler``."""
    named = ("Authorization", "Last-Event-ID")
    middleware = (
        [Middleware(CORSMiddleware, allow_origins=pages, allow_headers=named)] if pages else []
    )
    if site.is_private:
        # Else any web page could make its own host name resolve to this server, and read along.
        middleware.append(Middleware(TrustedHostMiddleware, allowed_hosts=[*OURSELVES, site.host]))
    return Starlette(routes=[Route("/{path:path}", handler.answer)], middleware=middleware)


class EventStreamResponse(StreamingResponse):
    """Events, until either end has enough."""

    def __init__(self, events: AsyncGenerator[str, None]) -> None:
        super().__init__(events, media_type="text/event-stream", headers=HEADERS)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them; their generator is closed with the connection."""
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


class EventStreamHandler:
    """What happens on each connection.

    ``encode`` and ``position_of`` are called on the event loop of the server.
    """

    def __init__(
        self, connections: ServedConnections, position_of: Callable[[Any], object] | None
    ) -> None:
        self.connections = connections
        self.admission: Admission | None = None
        self._position_of = position_of

    async def answer(self, request: HttpRequest) -> Response:
        """Send what there is until either end has enough."""
        assert self.admission is not None
        client = request.client
        peer = None if client is None else (client.host, client.port)
        host = "" if client is None else client.host
        try:
            asked = request_of(request, host)
        except ClientMistake as error:
            return refused(Refusal(400, str(error), {}))
        refusal = await self.admission.refusal(asked, peer)
        if refusal is not None:
            return refused(refusal)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=HEADERS)
        try:
            flow = self.connections.flow_for(asked)
        except Exception as error:
            return refused(Refusal(500, told(NAME, host, error), {}))
        return EventStreamResponse(self._events(flow, host))

    async def _events(self, flow: Flow[Any], peer: str) -> AsyncGenerator[str, None]:
        try:
            with self.connections.subscribed(flow) as subscriber:
                subscriber.request(UNBOUNDED)
                async for element in subscriber:
                    text = self.connections.encode(element)
                    yield event_text(text, position=self._id_of(element))
                if not subscriber.stopped:
                    yield event_text("null", event=COMPLETE)
        except Exception as error:
            yield event_text(json.dumps(told(NAME, peer, error)), event=FAILURE)

    def _id_of(self, element: Any) -> str:
        if self._position_of is None:
            return ""
        return json.dumps(self._position_of(element), allow_nan=False)


def request_of(request: HttpRequest, peer: str) -> Request:
    """What the other end asks for."""
    query = request.scope["query_string"].decode("latin-1")
    headers = request.headers
    return Request.of(
        request.scope["path"], query, headers.items(), peer, headers.get("last-event-id")
    )


def refused(refusal: Refusal) -> Response:
    """What a client that is not served is told."""
    return PlainTextResponse(refusal.words, refusal.status, refusal.headers)
