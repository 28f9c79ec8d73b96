"""Server-sent events as a source."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from httpx import AsyncClient, AsyncHTTPTransport, Response, Timeout, TransportError
from httpx_sse import EventSource, ServerSentEvent, SSEError, aconnect_sse

from penstock.connectors.arguments import require_url
from penstock.connectors.positions import behind_positions
from penstock.connectors.reconnecting import FOREVER, Lost, Tell
from penstock.connectors.remote import FromRemote, Remote, Visits
from penstock.connectors.remote_error import RemoteError
from penstock.connectors.socket_options import SMALL_WINDOW, WATCHED
from penstock.connectors.sse_events import COMPLETE, FAILURE, Event
from penstock.demand import shorten
from penstock.flow import Flow, Retry
from penstock.flow.sources.feed import Feed, fed_by

__all__ = ["from_server_sent_events"]

NAME: Final = "from_server_sent_events"
CONNECTING: Final = 10.0
"""Seconds that a server has to answer. It may then be silent for as long as it likes."""


def from_server_sent_events(
    url: str,
    *,
    after: str | None = None,
    decode: Callable[[str], Any] = json.loads,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[Event]:
    """The events of an HTTP server that sends them as they happen.

    Elements are ``Event(id, event, data)``, and ``data`` is JSON unless ``decode`` says otherwise.
    A connection that cannot be made, or ends, is made anew as ``reconnect`` says, by default for
    ever, but not before the time that the server has named has passed; ``on_state`` gets a
    sentence each time. The server learns the id of the last event that came, or ``after``, and is
    expected to go on behind that.

    Emits when: an event has come.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the server answers 204, or is one of Penstock and says so.
    Cancels when: the subscriber does; the connection is closed.

    Demand: window: nothing is read before an event is wanted; up to 64 KB are received ahead of
    that, before TCP holds the server back.

    Replay: position, by the ids of events: ``on_spark(position=lambda event: event.id)``. None if
    the server names no ids.

    Errors: ``RemoteError`` if the stream at a server of Penstock fails; ``ConnectionError`` when
    ``reconnect`` gives up, or the server refuses, or sends something else; ``ValueError`` for data
    that cannot be decoded. At once: ``ValueError`` for a url that is not ``http://`` or
    ``https://``.

    Example:
        >>> from penstock.connectors import from_server_sent_events, serve_server_sent_events
        >>> with serve_server_sent_events(lambda request: Flow.of("JFK", "EWR")) as server:
        ...     from_server_sent_events(server.address).map(X.data).to_list().run_sync()
        ['JFK', 'EWR']
    """
    first = require_id(after)
    remote = Remote(NAME, require_url(NAME, url, ("http", "https")), decode, reconnect, on_state)

    def behind(position: object) -> Flow[Event]:
        last = first if position is None else require_id(position)
        return Flow(FromRemote(NAME, fed_by, partial(EventVisits, remote, last)))

    return behind_positions(NAME, behind)


def require_id(given: object) -> str:
    """``given``, when it can be the id of an event; none is the empty one."""
    if given is None:
        return ""
    if not isinstance(given, str):
        raise TypeError(f"{NAME}: the id of an event is a text, not {shorten(given)}")
    if not given.isprintable():
        raise ValueError(f"{NAME}: the id of an event is on one line, not so {shorten(given)}")
    return given


class EventVisits(Visits):
    """Each names the id of the last event that came."""

    def __init__(self, remote: Remote, after: str, feed: Feed) -> None:
        super().__init__(remote)
        self._last_id = after
        self._feed = feed

    async def visit(self) -> None:
        """Take events until the server has no more."""
        transport = AsyncHTTPTransport(socket_options=[*SMALL_WINDOW, *WATCHED])
        headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
        try:
            async with (
                AsyncClient(transport=transport, timeout=Timeout(CONNECTING, read=None)) as client,
                aconnect_sse(client, "GET", self.remote.url, headers=headers) as events,
            ):
                if self._goes_on_after(events.response):
                    await self._take(events)
        except SSEError as error:  # which is a TransportError as well
            raise ConnectionError(f"{self.remote}: {error}") from error
        except TransportError as error:
            raise Lost(f"no connection: {str(error) or type(error).__name__}") from error

    def _goes_on_after(self, response: Response) -> bool:
        status = response.status_code
        if status == 204:
            return False
        if status == 200:
            self.reconnecting.connected()
            return True
        refusal = f"the server answered with the status {status}"
        if status >= 500 or status == 429:
            raise Lost(refusal)
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
                    raise RemoteError(each.json())
                if each.retry is not None:
                    self.reconnecting.retry_after = each.retry / 1000
                if each.data:  # else it only names a time to wait, say
                    yield self._came(each)
        raise Lost("the server ended the connection")

    def _came(self, given: ServerSentEvent) -> Event:
        event = Event(given.id, given.event, self.remote.decoded(given.data))
        self._last_id = given.id
        self.reconnecting.progressed()
        return event
