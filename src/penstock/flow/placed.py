"""An element and its place, which is where a new run goes on downstream of it."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Placed", "plain"]


class Placed(NamedTuple):
    """An element on its way to whoever keeps its place; a place is something that JSON has."""

    place: Any
    element: Any


def plain(element: Any) -> Any:
    """The element itself, for those who know nothing of places."""
    while type(element) is Placed:
        element = element.element
    return element
