"""What all readings of one flow have in common, be they asked for elements or granted some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from penstock.connectors.shared.reconnecting import Reconnecting, Tell, announced
from penstock.flow import Flow, Retry
from penstock.flow.checks import require_callable
from penstock.flow.engine.stage import Origin
from penstock.flow.sources.creating import Resumable
from penstock.runtime import shorten
from penstock.runtime.arguments import require_text

__all__ = ["Readings"]

Source = TypeVar("Source")


class Readings(Generic[Source]):
    """Makes the readings of one flow, which are of the class ``kind``, one for each run.

    ``source_factory`` is called on the thread that opens the run, or on the event loop.

    ``ahead``  how many elements are asked for, or granted, at a time
    """

    def __init__(
        self,
        kind: type[Any],
        connector: str,
        address: str,
        source_factory: Callable[[Any], Source],
        ahead: int,
        policy: Retry,
        tell: Tell | None,
    ) -> None:
        self.connector = connector
        self.address = require_text(connector, "address", address)
        self.ahead = ahead
        self._kind = kind
        self._source_factory = require_callable(connector, source_factory)
        self._policy = policy
        self._tell = tell
        self._listener = announced(address)

    def flow(
        self,
        origin: Callable[[Self, Any], Origin],
        after: object,
        position_of: Callable[[Any], object] | None,
    ) -> Flow[Any]:
        """A flow of what ``origin`` gives; with ``position_of``, one that goes on after any."""
        if position_of is None:
            return Flow(origin(self, after))
        return Flow(
            Resumable(
                self.connector,
                lambda position: Flow(origin(self, after if position is None else position)),
                require_callable(self.connector, position_of),
            )
        )

    def after(self, position: object) -> Source:
        """A reading that begins after ``position``."""
        source = self._source_factory(position)
        if not isinstance(source, self._kind):
            raise TypeError(
                f"{self.connector} needs a {self._kind.__name__}, not {shorten(source)}"
            )
        return source

    def reconnecting(self) -> Reconnecting:
        """The attempts of one reading to stay connected."""
        return Reconnecting(self.connector, self.address, self._policy, self._tell, self._listener)
