"""Flows that can go on behind a position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import Publisher
from penstock.flow.arguments import require_publisher
from penstock.flow.elements import Elements, Host
from penstock.flow.fluent import opened
from penstock.flow.stage import Origin

__all__ = ["Resumable"]


class Resumable(Origin):
    """The elements behind a position, of a publisher that a function makes for it."""

    checked = True
    replay = "position"

    def __init__(self, factory: Callable[[Any], Publisher[Any]], position: object = None) -> None:
        super().__init__("resumable")
        self._factory = factory
        self._position = position

    def at(self, position: object) -> Resumable:
        """The same behind another position."""
        other = Resumable(self._factory, position)
        other.site = self.site
        return other

    def open(self, host: Host, each: int) -> Elements:
        """Make the publisher, and subscribe to it."""
        publisher = self._factory(self._position)
        return opened(require_publisher(self.name, publisher), host, each)
