"""Connections to NATS: how they are made, what messages call them, what their errors mean."""

from __future__ import annotations

import asyncio
import inspect
import ssl
from asyncio import run_coroutine_threadsafe
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import nats.errors
import nats.js.errors
from nats.aio.client import Client

from penstock.connectors.shared.loop_thread import shared_loop_thread
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.runtime import printable, shorten, shown_address
from penstock.runtime.arguments import require_text, require_texts, require_url

__all__ = ["ANSWER", "JetStreamAccess", "NatsConnection", "words_of"]

T = TypeVar("T")

SCHEMES: Final = ("nats", "tls")
ANSWER: Final = 10.0
"""The seconds in which a server that lives answers."""
PORT: Final = 4222
CONNECT: Final = 5
"""The seconds in which a connection is made."""
HALF_MADE: Final = 0.1
"""The seconds in which one is closed that was not; after a handshake that fails, it never is."""
REFUSED: Final = {
    "servers": "the servers are an argument of their own",
    **dict.fromkeys(
        ("allow_reconnect", "max_reconnect_attempts", "reconnect_time_wait",
         "reconnect_to_server_handler"),
        "reconnect= says that",
    ),
    **dict.fromkeys(
        ("error_cb", "disconnected_cb", "closed_cb", "discovered_server_cb", "reconnected_cb",
         "lame_duck_mode_cb"),
        "errors of the connection are told by penstock",
    ),
}  # fmt: skip
"""Options that no connector takes, and why."""
BROKEN: Final = 500
FORBIDDEN_NAME: Final = set(" \t\r\n.*>/\\")


class JetStreamAccess:
    """A stream on some servers; ``address`` and ``name`` are what messages call it."""

    def __init__(
        self,
        connector: str,
        servers: str | Iterable[str],
        stream: str,
        options: Mapping[str, Any] | None,
    ) -> None:
        self.connector = connector
        self._servers = require_servers(connector, servers)
        self._options = checked_options(connector, options)
        self.stream = require_stream(connector, stream)
        self.address = ", ".join(map(shown_address, self._servers))
        self.name = f"the stream {stream} at {self.address}"

    def connect(
        self, on_connecting: Callable[[Future[Any]], object] | None = None
    ) -> NatsConnection:
        """A connection. ``ConnectionLost`` if another attempt may help."""
        return run(self._connected(), on_connecting)

    async def _connected(self) -> NatsConnection:
        """To the first server that answers."""
        for left, server in reversed([*enumerate(reversed(self._servers))]):
            try:
                return await self._connected_to(server)
            except ConnectionLost:
                if not left:
                    raise
        raise AssertionError("there is at least one server")

    async def _connected_to(self, server: str) -> NatsConnection:
        connection = NatsConnection(self)
        try:
            with self.explained(connection):
                await self._connect(connection, server)
        except BaseException:
            await connection.end(HALF_MADE)
            raise
        return connection

    async def _connect(self, connection: NatsConnection, server: str) -> None:
        is_secret = self._wants_encryption(server)
        if is_secret and not await offers_encryption(server):
            raise self._in_the_clear(server)
        await connection.client.connect(
            server,
            **{"connect_timeout": CONNECT, **self._options},
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            error_cb=connection.note,
            closed_cb=connection.note_end,
        )
        if is_secret and not connection.client._server_info.get("tls_required"):
            raise self._in_the_clear(server)

    def _wants_encryption(self, server: str) -> bool:
        """Whether to see to it; the client itself does so only where TLS comes first."""
        options = self._options
        is_asked_for = urlsplit(server).scheme == "tls" or options.get("tls") is not None
        return is_asked_for and not options.get("tls_handshake_first")

    def _in_the_clear(self, server: str) -> ValueError:
        return ValueError(
            f"{self.connector}: {shown_address(server)} offers no encryption, which is asked for; "
            "nothing was sent there"
        )

    @contextmanager
    def explained(self, connection: NatsConnection) -> Iterator[None]:
        """``ConnectionLost`` where another attempt may help, else an error in one line."""
        try:
            yield
        except (nats.js.errors.APIError, nats.errors.Error, OSError, ImportError) as error:
            raise self._told(error, connection) from None

    def _told(self, error: Exception, connection: NatsConnection) -> Exception:
        cause = connection.refusal or error
        words = words_of(cause)
        if isinstance(cause, ssl.SSLError):
            return ConnectionError(
                f"{self.connector}: {self.address}: the connection cannot be encrypted: {words}; "
                "there is no other attempt"
            )
        if is_refusal(words) or isinstance(cause, nats.errors.AuthorizationError):
            return ConnectionError(f"{self.connector}: {self.address} does not let us in: {words}")
        if isinstance(cause, ImportError | nats.errors.BadSubjectError):
            return ValueError(f"{self.connector}: {self.address}: {words}")
        if isinstance(cause, nats.js.errors.APIError) and (cause.code or BROKEN) < BROKEN:
            return ValueError(f"{self.connector}: {self.name}: {words}")
        return ConnectionLost(words_of(connection.last_error or cause))


class NatsConnection:
    """A connection, which lives on the loop that connectors share until it is lost or closed.

    All coroutines of it run there; ``run`` waits for one of them, on any other thread.
    """

    def __init__(self, access: JetStreamAccess) -> None:
        self._access = access
        self.client = Client()
        self.jetstream = self.client.jetstream(timeout=ANSWER)
        self.refusal: Exception | None = None
        self.last_error: Exception | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def note(self, error: Exception) -> None:
        """Keep what the client tells."""
        self.last_error = error
        if is_refusal(words_of(error)):
            self.refusal = error
            await self.note_end()

    async def note_end(self) -> None:
        """Nobody waits for an answer any more."""
        if not self._ended.done():
            self._ended.set_result(None)

    def run(
        self,
        coroutine: Coroutine[Any, Any, T],
        on_begin: Callable[[Future[Any]], object] | None = None,
    ) -> T:
        """What a coroutine of this connection returns. ``ConnectionLost`` if it was lost."""
        return run(self._until_the_end(coroutine), on_begin)

    async def _until_the_end(self, coroutine: Awaitable[T]) -> T:
        task = asyncio.ensure_future(coroutine)
        either: set[asyncio.Future[Any]] = {task, self._ended}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                with self._access.explained(self):
                    raise nats.errors.ConnectionClosedError
            with self._access.explained(self):
                return task.result()
        finally:
            if not task.done():
                task.cancel()
                with suppress(BaseException):
                    await task

    def close(self) -> None:
        """Close it, on its loop; what was sent before goes out."""
        run(self.end())

    async def end(self, patience: float = CONNECT) -> None:
        """Close it, be it half made."""
        with suppress(nats.errors.Error, OSError, AssertionError, AttributeError):
            await asyncio.wait_for(self.client.close(), patience)


async def offers_encryption(server: str) -> bool:
    """What a server says before anybody has said anything.

    The client would go on in the clear, with its password, if a server offers nothing else.
    """
    parts = urlsplit(server)
    async with asyncio.timeout(CONNECT):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or PORT)
        try:
            line = await reader.readline()
        finally:
            writer.close()
    return b'"tls_required":true' in line.replace(b" ", b"")


def run(
    coroutine: Coroutine[Any, Any, T], on_begin: Callable[[Future[Any]], object] | None = None
) -> T:
    """The result of a coroutine on the loop of all connectors."""
    future = run_coroutine_threadsafe(coroutine, shared_loop_thread())
    if on_begin is not None:
        on_begin(future)
    return future.result()


def require_servers(connector: str, servers: str | Iterable[str]) -> list[str]:
    """The urls of the servers, at least one."""
    given = [servers] if isinstance(servers, str) else servers
    if not isinstance(given, Iterable):
        raise TypeError(f"{connector}: servers must be a url or several, not {shorten(servers)}")
    urls = [require_url(connector, url, SCHEMES) for url in given]
    if not urls:
        raise ValueError(f"{connector}: servers must name at least one")
    return urls


def require_stream(connector: str, stream: str) -> str:
    """``stream``, when JetStream can have one of that name."""
    text = require_text(connector, "stream", stream)
    if not text or FORBIDDEN_NAME & {*text} or not text.isprintable():
        raise ValueError(
            f"{connector}: the name of a stream has no spaces, full stops, *, > and slashes; "
            f"not so {shorten(text)}"
        )
    return text


def checked_options(connector: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of the user, when the client knows them and none is against the connector."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"{connector}: options must be a mapping, not a {type(options).__name__}")
    known = {*inspect.signature(Client.connect).parameters} - {"self"}
    for name in require_texts(connector, "the names of options", options):
        if name in REFUSED:
            raise ValueError(f"{connector}: options: {name} cannot be set, {REFUSED[name]}")
        if name not in known:
            raise ValueError(
                f"{connector}: options: the client has no {shorten(name)}; it has "
                f"{', '.join(sorted(known - {*REFUSED}))}"
            )
    return dict(options)


def is_refusal(words: str) -> bool:
    """Whether a server says that it is a matter of who we are."""
    small = words.lower()
    return any(each in small for each in ("authorization", "authentication", "permissions viol"))


def words_of(error: BaseException) -> str:
    """What the server says, or the client library, in one line."""
    if isinstance(error, nats.js.errors.APIError) and error.description:
        text = error.description
    else:
        text = str(error).removeprefix("nats: ").strip("'") or type(error).__name__
    return printable(" ".join(text.split()))[:400]
