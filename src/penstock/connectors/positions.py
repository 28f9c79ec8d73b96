"""Sources that go on behind a position, under the name of their connector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import Publisher
from penstock.flow import Flow
from penstock.flow.sources.resumable import Resumable

__all__ = ["behind_positions"]


class BehindPosition(Resumable):
    """``Flow.resumable`` with another name in errors and explanations."""

    def __init__(
        self, name: str, factory: Callable[[Any], Publisher[Any]], position: object = None
    ) -> None:
        super().__init__(factory, position)
        self.name = name

    def at(self, position: object) -> BehindPosition:
        """The same behind another position."""
        other = BehindPosition(self.name, self._factory, position)
        other.site = self.site
        return other


def behind_positions(name: str, factory: Callable[[Any], Flow[Any]]) -> Flow[Any]:
    """The elements of ``factory(position)``, where the position is ``None`` at the beginning."""
    return Flow(BehindPosition(name, factory))
