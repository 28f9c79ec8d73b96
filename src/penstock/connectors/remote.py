"""Sources at the other end of a connection, which is made anew when it is lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from penstock.connectors.access import Access
from penstock.connectors.client_certificate import WANTED, wants_certificate
from penstock.connectors.listening import announced
from penstock.connectors.own_loop import where_a_loop_is
from penstock.connectors.reconnecting import (
    Reconnecting,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.demand import shorten
from penstock.flow import Retry
from penstock.flow.arguments import require_callable
from penstock.flow.elements import Elements, Host
from penstock.flow.sources.feed import Feeding
from penstock.flow.stage import Origin
from penstock.runtime import printable, shown_address

__all__ = ["MESSAGE_BYTES", "FromRemote", "Remote", "Visits"]

MESSAGE_BYTES: Final = 1024 * 1024
"""No message of a server has more, unless the user says so."""

Feeder: TypeAlias = Callable[[Feeding, str, Host, int], Elements]
"""Makes elements of a coroutine, the name of the connector, and those who want them."""


class Remote:
    """A stream at another place: where it is, how it is read, and how to come back to it.

    ``url``     where to connect to
    ``access``  what is sent so that the other end lets us in
    ``shown``   the url as others may see it
    """

    def __init__(
        self,
        connector: str,
        url: str,
        decode: Callable[[Any], Any],
        reconnect: Retry,
        tell: Tell | None,
        access: Access,
    ) -> None:
        self.connector = connector
        self.url = url
        self.access = access
        self.shown = shown_address(url)
        self._decode = require_callable(connector, decode)
        self._reconnect = require_reconnect(connector, reconnect)
        self._tell = require_tell(connector, tell)
        self._listener = announced(self.shown)

    def __str__(self) -> str:
        return f"{self.connector}: {self.shown}"

    def decoded(self, message: Any) -> Any:
        """What a message says; ``ValueError`` shows one that says nothing."""
        try:
            return self._decode(message)
        except Exception as error:
            raise ValueError(
                f"{self} sent {shorten(message)}, which cannot be decoded: {printable(str(error))}"
            ) from error

    def reconnecting(self) -> Reconnecting:
        """The attempts of one subscriber to stay connected."""
        return Reconnecting(self.connector, self.shown, self._reconnect, self._tell, self._listener)


class Visits(ABC):
    """One subscriber's way through all connections that it takes."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.reconnecting = remote.reconnecting()

    async def make(self) -> None:
        """Give all elements until the other end has no more."""
        await self.reconnecting.keep(self.visit)

    async def require_no_certificate_wanted(self, error: Exception) -> None:
        """Raise ``ConnectionError`` if that is why the server did not answer: it would not help."""
        if await wants_certificate(self.remote.url, self.remote.access.context, error):
            words = f"{self.remote}: {WANTED}; there is no other attempt"
            raise ConnectionError(words) from error

    @abstractmethod
    async def visit(self) -> None:
        """Connect, and give elements to the end; ``Lost`` if another visit may go on."""


class FromRemote(Origin):
    """The elements of a remote stream, through visits of its own for each host."""

    checked = True

    def __init__(self, connector: str, feeder: Feeder, visits: Callable[[Any], Visits]) -> None:
        super().__init__(connector)
        self._feeder = feeder
        self._visits = visits

    def open(self, host: Host, each: int) -> Elements:
        """Connect in a task, once something is wanted."""
        return where_a_loop_is(self.name, partial(self._feeder, self._feed, self.name, host, each))

    async def _feed(self, feed: Any) -> None:
        await self._visits(feed).make()
