"""Sources that go on behind a position, under the name of their connector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.flow import Flow
from penstock.flow.sources.resumable import Resumable

__all__ = ["behind_positions"]


def behind_positions(
    name: str, factory: Callable[[Any], Flow[Any]], position_of: Callable[[Any], Any]
) -> Flow[Any]:
    """The elements of ``factory(position)``, where the position is ``None`` at the beginning."""
    return Flow(Resumable(name, factory, position_of))
