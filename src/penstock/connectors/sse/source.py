"""Server-sent events as a source."""

from __future__ import annotations

import json
from asyncio import timeout
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from ssl import SSLError
from typing import Any, Final

from httpx import AsyncHTTPTransport, Request, Response, Timeout, TransportError
from httpx_sse import EventSource, ServerSentEvent, SSEError

from penstock.connectors.shared.access import Auth, require_access
from penstock.connectors.shared.connection_errors import RemoteError
from penstock.connectors.shared.reconnecting import FOREVER, ConnectionLost, Tell
from penstock.connectors.shared.remote import (
    MESSAGE_BYTES,
    ConnectionAttempts,
    FromRemote,
    RemoteStream,
)
from penstock.connectors.shared.sockets import SMALL_WINDOW, WATCHED
from penstock.connectors.shared.tls import SourceTls, certificate_problem
from penstock.connectors.sse.bounded_stream import (
    ENCODING,
    BoundedStream,
    EventTooLarge,
    NotDecoded,
)
from penstock.connectors.sse.events import COMPLETE, FAILURE, Event
from penstock.flow import Flow, Retry
from penstock.flow.sources.creating import Resumable
from penstock.flow.sources.from_async import CoroutineSubscription, from_coroutine
from penstock.runtime import printable, shorten
from penstock.runtime.arguments import require_int, require_url

__all__ = ["from_server_sent_events"]

NAME: Final = "from_server_sent_events"
CONNECTING: Final = 10.0
"""Seconds that a server has to answer. It may then be silent for as long as it likes."""

LONGEST_WAIT: Final = 3600.0
"""Seconds for which a server may have us wait before the next attempt, whatever it names."""


def from_server_sent_events(
    url: str,
    *,
    after: str | None = None,
    decode: Callable[[str], Any] = json.loads,
    max_bytes: int = MESSAGE_BYTES,
    headers: Mapping[str, str] | None = None,
    auth: Auth | None = None,
    ssl: SourceTls | None = None,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[Event]:
    """The events of an HTTP server that sends them as they happen.

    Elements are ``Event(id, event, data)``, and ``data`` is JSON unless ``decode`` says otherwise.
    A connection that cannot be made, or ends, is made again as ``reconnect`` says, by default for
    ever, but not before the time that the server has named has passed; ``on_state`` gets a
    sentence each time. The server learns the id of the last event that came, or ``after``, and is
    expected to go on after that.

    ``auth`` is (user, password), a bearer token, or a function that gives either, called for each
    connection; ``headers`` are sent as well. Neither is ever shown, nor is what the url has
    besides host and path. ``ssl`` is the file of the authorities that are trusted, or an
    ``SSLContext``; without it, those that are well known are. Redirects are not followed.

    Emits when: an event has come.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the server answers 204, or is one of Penstock and says so.
    Cancels when: the subscriber does; the connection is closed.

    Demand: window: nothing is read before an event is wanted; up to 64 KB are received ahead of
    that, before TCP holds the server back.

    Replay: position, by the ids of events; an event without one ends a stream that is recorded.
    With a server that names no ids, write ``on_spark(resume="none")``.

    Errors: ``RemoteError`` if the stream at a server of Penstock fails; ``ConnectionError`` when
    ``reconnect`` gives up, the server refuses, sends something else, or its certificate is not
    trusted, which is not tried again; ``ValueError`` for data that cannot be decoded, and for an
    event whose lines have more than ``max_bytes``, decompressed. At once: ``ValueError`` for a url
    that is not ``http://`` or ``https://``, and for ``headers``, ``auth`` and ``ssl`` that cannot
    be used.

    Example:
        >>> from penstock.connectors import from_server_sent_events, serve_server_sent_events
        >>> with serve_server_sent_events(lambda request: Flow.of("JFK", "EWR")) as server:
        ...     from_server_sent_events(server.address).map(X.data).to_list().run_sync()
        ['JFK', 'EWR']
    """
    first = require_id(after)
    most = require_int(NAME, "max_bytes", max_bytes)
    address, access = require_access(
        NAME, require_url(NAME, url, ("http", "https")), headers, auth, ssl
    )
    remote = RemoteStream(NAME, address, decode, reconnect, on_state, access)

    def events_after(position: object) -> Flow[Event]:
        last = first if position is None else require_id(position)
        return Flow(
            FromRemote(NAME, from_coroutine, partial(EventStreamAttempts, remote, most, last))
        )

    return Flow(Resumable(NAME, events_after, id_of))


def id_of(event: Event) -> str | None:
    """Its position, if the server names any."""
    return event.id or None


def require_id(given: object) -> str:
    """``given``, when it can be the id of an event; empty for ``None``."""
    if given is None:
        return ""
    if not isinstance(given, str):
        raise TypeError(f"{NAME}: the id of an event is a text, not {shorten(given)}")
    if not given.isprintable():
        raise ValueError(f"{NAME}: the id of an event is on one line, not so {shorten(given)}")
    return given


class EventStreamAttempts(ConnectionAttempts):
    """Each names the id of the last event that came."""

    def __init__(
        self, remote: RemoteStream, max_bytes: int, after: str, feed: CoroutineSubscription
    ) -> None:
        super().__init__(remote)
        self._max_bytes = max_bytes
        self._last_id = after
        self._feed = feed

    async def attempt(self) -> None:
        """Take events until the server has no more."""
        access = self.remote.access
        transport = AsyncHTTPTransport(
            verify=True if access.context is None else access.context,
            socket_options=[*SMALL_WINDOW, *WATCHED],
        )
        is_answered = False
        try:
            async with transport, aclosing(await self._answer(transport)) as response:
                is_answered = True
                if self._goes_on_after(response):
                    await self._take(EventSource(self._bounded(response)))
        except (NotDecoded, SSEError) as error:  # which is a TransportError as well
            raise ConnectionError(f"{self.remote}: {error}") from error
        except EventTooLarge:
            words = f"{self.remote} sent more than {self._max_bytes} bytes in one event"
            raise ValueError(f"{words}; raise max_bytes") from None
        except (TransportError, SSLError) as error:  # httpx lets the latter through at times
            distrust = certificate_problem(error)
            if distrust:
                words = f"{self.remote}: {distrust}; there is no other attempt"
                raise ConnectionError(words) from error
            if not is_answered:
                await self.require_no_certificate_wanted(error)
            reason = printable(str(error)) or type(error).__name__
            raise ConnectionLost(f"no connection: {reason}") from error

    async def _answer(self, transport: AsyncHTTPTransport) -> Response:
        """What the server says to our request; not by a client, which would log the whole url."""
        headers = {
            **self.remote.access.headers(),
            "Accept": "text/event-stream",
            "Accept-Encoding": ENCODING,
            "Cache-Control": "no-store",
        }
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        if self._last_id:
            sent.append((b"Last-Event-ID", self._last_id.encode()))
        limits = {"timeout": Timeout(CONNECTING, read=None).as_dict()}
        request = Request("GET", self.remote.url, headers=sent, extensions=limits)
        try:
            async with timeout(CONNECTING):
                return await transport.handle_async_request(request)
        except TimeoutError as error:
            raise ConnectionLost(f"no answer within {CONNECTING:g} s") from error

    def _bounded(self, response: Response) -> Response:
        """The same answer, decompressed here, where it is known when to stop."""
        assert isinstance(response.stream, AsyncIterable)
        encoding = response.headers.get("content-encoding", "").strip().lower()
        return Response(
            response.status_code,
            headers={"Content-Type": response.headers.get("content-type", "")},
            stream=BoundedStream(response.stream, encoding, self._max_bytes),
        )

    def _goes_on_after(self, response: Response) -> bool:
        status = response.status_code
        if status == 204:
            return False
        if status == 200:
            self.reconnecting.connected()
            return True
        refusal = f"the server answered with the status {status}"
        if status >= 500 or status == 429:
            raise ConnectionLost(refusal)
        raise ConnectionError(f"{self.remote}: {refusal}")

    async def _take(self, events: EventSource) -> None:
        async with aclosing(self._elements(events)) as elements:
            await self._feed.give_all(elements)

    async def _elements(self, events: EventSource) -> AsyncGenerator[Event, None]:
        async with aclosing(events.aiter_sse()) as given:
            async for each in given:
                if each.event == COMPLETE:
                    return
                if each.event == FAILURE:
                    raise RemoteError(printable(str(each.json())))
                if each.retry is not None:
                    self.reconnecting.retry_after = min(each.retry, LONGEST_WAIT * 1000) / 1000
                if each.data:  # else it only names a time to wait, say
                    yield self._came(each)
        raise ConnectionLost("the server ended the connection")

    def _came(self, given: ServerSentEvent) -> Event:
        if not given.id.isprintable():
            raise ValueError(f"{self.remote} sent the id {shorten(given.id)}, which is none")
        event = Event(given.id, given.event, self.remote.decoded(given.data))
        self._last_id = given.id
        self.reconnecting.progressed()
        return event
