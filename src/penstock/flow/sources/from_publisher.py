"""Flows from publishers of others: ``from_publisher`` and ``resumable``."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from penstock.api import Publisher
from penstock.flow.base_flow import opened
from penstock.flow.checks import require_publisher
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin

__all__ = [
    "FromPublisher",
    "Resumable",
]


class FromPublisher(Origin):
    """The elements of a publisher."""

    checked = True  # by the subscriber that `opened` makes

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("from_publisher")
        self.publisher = publisher
        self.inputs = (publisher,)

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to the publisher."""
        return opened(self.publisher, run, per_output)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """Subscribe to the publisher, and request no more than ``most`` elements."""
        return opened(self.publisher, run, per_output, most=most)


class Resumable(Origin):
    """The elements after a position, of a publisher that a function makes for it.

    Calls the function on the thread that opens the run.

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
        """The same source, after another position."""
        other = copy(self)
        other._position = position
        return other

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Make the publisher, and subscribe to it."""
        publisher = self._factory(self._position)
        return opened(require_publisher(self.name, publisher), run, per_output)
