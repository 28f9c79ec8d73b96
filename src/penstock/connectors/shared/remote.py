"""Sources at the other end of a connection, which is made again when it is lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from penstock.connectors.shared.access import Access
from penstock.connectors.shared.loop_thread import where_a_loop_is
from penstock.connectors.shared.reconnecting import (
    Reconnecting,
    Tell,
    announced,
    require_reconnect,
    require_tell,
)
from penstock.connectors.shared.tls import WANTED, wants_certificate
from penstock.flow import Retry
from penstock.flow.checks import require_callable
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.flow.sources.from_async import Feeding
from penstock.runtime import printable, shown_address, shown_element

__all__ = [
    "MESSAGE_BYTES",
    "ConnectionAttempts",
    "FromRemote",
    "RemoteStream",
]


MESSAGE_BYTES: Final = 1024 * 1024
"""No message of a server has more, unless the user says so."""

Feeder: TypeAlias = Callable[[Feeding, str, RunContext, int], Elements]
"""Makes elements of a coroutine; takes the connector's name, the run and its demand as well."""


class RemoteStream:
    """A stream on another machine: where it is, how it is read, and how to come back to it.

    ``url``     where to connect to
    ``access``  what is sent so that the other end lets us in
    ``shown``   the url as others may see it

    ``decode`` is called on the event loop that reads the connection.
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
        """What a message says; ``ValueError`` shows one that cannot be decoded."""
        try:
            return self._decode(message)
        except Exception as error:
            raise ValueError(
                f"{self} sent {shown_element(message)}, which cannot be decoded: "
                f"{printable(str(error))}"
            ) from error

    def reconnecting(self) -> Reconnecting:
        """The attempts of one subscriber to stay connected."""
        return Reconnecting(self.connector, self.shown, self._reconnect, self._tell, self._listener)


class ConnectionAttempts(ABC):
    """The connections that one subscriber makes, one after another, on the event loop."""

    def __init__(self, remote: RemoteStream) -> None:
        self.remote = remote
        self.reconnecting = remote.reconnecting()

    async def make(self) -> None:
        """Give all elements until the other end has no more."""
        await self.reconnecting.keep(self.attempt)

    async def require_no_certificate_wanted(self, error: Exception) -> None:
        """Raise ``ConnectionError`` if that is why it did not answer: retrying is no use."""
        if await wants_certificate(self.remote.url, self.remote.access.context, error):
            words = f"{self.remote}: {WANTED}; there is no other attempt"
            raise ConnectionError(words) from error

    @abstractmethod
    async def attempt(self) -> None:
        """Connect, and give elements to the end; ``ConnectionLost`` if another attempt may help."""


class FromRemote(Origin):
    """The elements of a remote stream; each run makes its own connections, on an event loop."""

    checked = True

    def __init__(
        self, connector: str, feeder: Feeder, attempts: Callable[[Any], ConnectionAttempts]
    ) -> None:
        super().__init__(connector)
        self._feeder = feeder
        self._attempts = attempts

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Connect in a task, once something is wanted."""
        return where_a_loop_is(
            self.name, partial(self._feeder, self._feed, self.name, run, per_output)
        )

    async def _feed(self, feed: Any) -> None:
        await self._attempts(feed).make()
