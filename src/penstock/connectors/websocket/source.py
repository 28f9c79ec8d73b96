"""A websocket as a source."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    ConnectionClosedOK,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
)
from websockets.frames import Close, CloseCode

from penstock.connectors.shared.access import Auth, require_access
from penstock.connectors.shared.connection_errors import RemoteError, quiet
from penstock.connectors.shared.granted_source import (
    CreditSubscription,
    Overrun,
    from_coroutine_with_credit,
    take_granted,
)
from penstock.connectors.shared.reconnecting import FOREVER, ConnectionLost, Tell
from penstock.connectors.shared.remote import (
    MESSAGE_BYTES,
    ConnectionAttempts,
    FromRemote,
    RemoteStream,
)
from penstock.connectors.shared.sockets import SMALL_WINDOW, WATCHED
from penstock.connectors.shared.tls import SourceTls, certificate_problem
from penstock.connectors.websocket.credit import (
    CANCEL,
    PROTOCOL,
    FrameError,
    read_frame,
    request_frame,
)
from penstock.flow import Flow, Retry
from penstock.flow.checks import require_callable
from penstock.flow.sources.creating import Resumable
from penstock.runtime import printable, shorten
from penstock.runtime.arguments import require_int, require_url

__all__ = ["from_websocket"]

NAME: Final = "from_websocket"
CLOSING: Final = 2.0
"""Seconds that the other end has to say goodbye."""


def from_websocket(
    url: str,
    *,
    after: object = None,
    position_of: Callable[[Any], object] | None = None,
    decode: Callable[[str | bytes], Any] = json.loads,
    max_queue: int = 16,
    max_bytes: int = MESSAGE_BYTES,
    headers: Mapping[str, str] | None = None,
    auth: Auth | None = None,
    ssl: SourceTls | None = None,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[Any]:
    """The messages that come from a websocket server, JSON unless ``decode`` says otherwise.

    A connection that cannot be made, or is lost, is made again as ``reconnect`` says, by default
    for ever; ``on_state`` gets a sentence each time. With ``position_of``, which tells the position
    of an element, the server is asked for what follows the last element that came, by ``?after=``
    and that position as JSON, and so for what follows ``after`` at the beginning. Without it, a new
    connection gets what the server sends to a new client, so elements may be missing, or come
    twice.

    ``serve_websocket`` of Penstock, and any other server that speaks its subprotocol, sends
    elements only as they are requested. ``decode`` is for the messages of other servers.

    ``auth`` is (user, password), a bearer token, or a function that gives either, called for each
    connection; ``headers`` are sent as well. Neither is ever shown, nor is what the url has
    besides host and path. They are for this server: with them, a redirect is refused. ``ssl`` is
    the file of the authorities that are trusted, or an ``SSLContext``; without it, those of this
    machine are.

    Emits when: a message has come.
    Backpressures when: nothing is wanted; no message is read, and none is requested.
    Completes when: the server says so, or closes the connection as normal.
    Cancels when: the subscriber does; the connection is closed.

    Demand: exact with a server that speaks the subprotocol; else window: up to ``max_queue``
    messages are held, and then those that fit into 64 KB, before TCP holds the server back.

    Replay: position with ``position_of`` and a server that knows ``after``; else none.

    Errors: ``RemoteError`` if the stream at the server fails; ``ConnectionError`` when
    ``reconnect`` gives up, the server refuses, or its certificate is not trusted, which is not
    tried again; ``ValueError`` for a message that cannot be decoded, or has more than
    ``max_bytes``. At once: ``ValueError`` for a url that is not ``ws://`` or ``wss://``, and for
    ``headers``, ``auth`` and ``ssl`` that cannot be used.

    Example:
        >>> from penstock.connectors import from_websocket, serve_websocket
        >>> with serve_websocket(lambda request: Flow.range(3)) as server:
        ...     from_websocket(server.address).to_list().run_sync()
        [0, 1, 2]
    """
    address, access = require_access(
        NAME, require_url(NAME, url, ("ws", "wss")), headers, auth, ssl
    )
    source = WebsocketSource(
        None if position_of is None else require_callable(NAME, position_of),
        require_int(NAME, "max_queue", max_queue),
        require_int(NAME, "max_bytes", max_bytes),
        RemoteStream(NAME, address, decode, reconnect, on_state, access),
    )
    if position_of is None:
        return source.after(after)
    return Flow(
        Resumable(
            NAME,
            lambda position: source.after(after if position is None else position),
            position_of,
        )
    )


@dataclass(frozen=True)
class WebsocketSource:
    """A websocket that is read, and how."""

    position_of: Callable[[Any], object] | None
    max_queue: int
    max_bytes: int
    remote: RemoteStream

    def after(self, position: object) -> Flow[Any]:
        """The elements after ``position``."""
        url_after(self.remote.url, position)  # now: one that is no JSON is the user's mistake
        attempts = partial(WebsocketAttempts, self, position)
        return Flow(FromRemote(NAME, from_coroutine_with_credit, attempts))


class WebsocketAttempts(ConnectionAttempts):
    """Each names the position of the last element that came, if elements have any.

    ``position_of`` is called on the event loop that reads the connection.
    """

    def __init__(self, source: WebsocketSource, after: object, credit: CreditSubscription) -> None:
        super().__init__(source.remote)
        self._source = source
        self._position = after
        self._credit = credit

    async def attempt(self) -> None:
        """Take elements until the server has no more, as it can: as requested, or as they come."""
        access = self.remote.access
        trust: dict[str, Any] = {} if access.context is None else {"ssl": access.context}
        is_answered = False
        try:
            connecting = (DirectConnect if access.is_secret else connect)(
                url_after(self.remote.url, self._position),
                subprotocols=[PROTOCOL],
                additional_headers=access.headers(),
                logger=quiet("websockets.client"),
                **trust,
                max_queue=self._source.max_queue,
                max_size=self._source.max_bytes,
                compression=None,  # which would need a window for each connection
                ping_interval=None,  # no answer is read while nothing is wanted
                close_timeout=CLOSING,
            )
            async with connected(connecting) as connection:
                set_options(connection, WATCHED)
                is_answered = True
                self.reconnecting.connected()
                if connection.subprotocol == PROTOCOL:
                    await self._take_what_is_requested(connection)
                else:
                    await self._take_what_comes(connection)
        except (ConnectionClosed, InvalidHandshake, OSError) as error:
            verdict = self._verdict_on(error)
            if isinstance(verdict, ConnectionLost) and not (
                is_answered or isinstance(error, InvalidStatus | TimeoutError)
            ):
                await self.require_no_certificate_wanted(error)
            raise verdict from error

    def _verdict_on(self, error: Exception) -> Exception:
        """What the failure of a connection means: it is lost, or another attempt is no use."""
        distrust = certificate_problem(error)
        if distrust:
            return ConnectionError(f"{self.remote}: {distrust}; there is no other attempt")
        match error:
            case ConnectionClosed(sent=Close(code=CloseCode.MESSAGE_TOO_BIG)):
                size = self._source.max_bytes
                return ValueError(
                    f"{self.remote} sent more than {size} bytes at once; raise max_bytes"
                )
            case ConnectionClosed():
                return ConnectionLost(f"the connection was lost: {printable(str(error))}")
            case InvalidStatus(response=response) if response.status_code >= 500:
                return ConnectionLost(f"the server answered with the status {response.status_code}")
            case InvalidStatus(response=response):
                return ConnectionError(
                    f"{self.remote}: the server answered with the status {response.status_code}"
                )
            case InvalidMessage(__cause__=EOFError()):
                return ConnectionLost("the server went away while it answered")
            case InvalidHandshake():
                return ConnectionError(f"{self.remote}: {printable(str(error))}")
            case _:
                return ConnectionLost(
                    f"no connection: {printable(str(error)) or type(error).__name__}"
                )

    async def _take_what_comes(self, connection: ClientConnection) -> None:
        """Read no message before one is wanted, and let the system take in little."""
        set_options(connection, SMALL_WINDOW)
        async with aclosing(self._decoded(connection)) as elements:
            await self._credit.give_all(elements)

    async def _decoded(self, connection: ClientConnection) -> AsyncGenerator[Any, None]:
        while True:
            try:
                message = await connection.recv()
            except ConnectionClosedOK as closed:
                if closed.rcvd is not None and closed.rcvd.code == CloseCode.NORMAL_CLOSURE:
                    return
                raise
            yield self._came(self.remote.decoded(message))

    async def _take_what_is_requested(self, connection: ClientConnection) -> None:
        try:
            await take_granted(
                self._credit,
                self._granted(connection),
                partial(send_request, connection),
                partial(send, connection, CANCEL),
            )
        except FrameError as error:
            raise ValueError(f"{self.remote}: {error}") from None
        except Overrun as error:
            raise ValueError(f"{self.remote}: {PROTOCOL}: {error}") from None

    async def _granted(self, connection: ClientConnection) -> AsyncGenerator[Any, None]:
        async for message in connection:
            kind, content = read_frame(message, ("next", "complete", "error"))
            if kind == "next":
                yield self._came(content)
            elif kind == "complete":
                return
            else:
                raise RemoteError(printable(str(content)))
        raise ConnectionLost("the server went away")

    def _came(self, element: Any) -> Any:
        if element is None:
            raise ValueError(f"{self.remote} sent null, which is not an element")
        if self._source.position_of is not None:
            self._position = self._source.position_of(element)
        self.reconnecting.progressed()
        return element


async def send_request(connection: ClientConnection, n: int) -> None:
    """Ask for so many elements."""
    await send(connection, request_frame(n))


async def send(connection: ClientConnection, frame: str) -> None:
    """Send a frame; that the connection is closed is seen where it is read to its end."""
    with suppress(ConnectionClosed):
        await connection.send(frame)


@asynccontextmanager
async def connected(connecting: connect) -> AsyncGenerator[ClientConnection, None]:
    """A connection that is closed at the end, with a goodbye if the other end takes it in time.

    That its time is up is no ``TimeoutError`` but another ``CancelledError`` in a task that was
    cancelled, before Python 3.11.3, so that the client would leave its socket to the garbage
    collector.
    """
    connection = await connecting
    try:
        async with connection:
            yield connection
    finally:
        connection.transport.abort()  # which does nothing to one that is closed


class DirectConnect(connect):
    """A connection that goes to the server that is named, and to no other that it names."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Refuse to take credentials elsewhere."""
        return exc


def url_after(url: str, position: object) -> str:
    """``url``, with a position that the server is to go on after."""
    if position is None:
        return url
    try:
        text = json.dumps(position, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{NAME}: a position is JSON, not {shorten(position)}: {error}") from None
    parts = urlsplit(url)
    query = f"{parts.query}&" if parts.query else ""
    return urlunsplit(parts._replace(query=f"{query}after={quote(text, safe='')}"))


def set_options(connection: ClientConnection, options: Iterable[tuple[int, int, int]]) -> None:
    """Tell the system how to treat a connection."""
    plug = connection.transport.get_extra_info("socket")
    for option in options:
        plug.setsockopt(*option)
