"""Flows that can go on behind a position."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from penstock.api import Publisher
from penstock.flow.arguments import require_publisher
from penstock.flow.elements import Elements, Host
from penstock.flow.fluent import opened
from penstock.flow.stage import Origin

__all__ = ["Resumable"]


class Resumable(Origin):
    """The elements behind a position, of a publisher that a function makes for it.

    ``position_of``  tells the position of an element, if it can
    """

    checked = True
    replay = "position"

    def __init__(
        self,
        name: str,
        factory: Callable[[Any], Publisher[Any]],
        position_of: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(name)
        self.position_of = position_of
        self._factory = factory
        self._position: object = None

    def at(self, position: object) -> Resumable:
        """The same behind another position."""
        other = copy(self)
        other._position = position
        return other

    def open(self, host: Host, each: int) -> Elements:
        """Make the publisher, and subscribe to it."""
        publisher = self._factory(self._position)
        return opened(require_publisher(self.name, publisher), host, each)
