"""An element and its place, which is where a new run goes on downstream of it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from penstock.flow.stage import EACH_ALONE, Woven
from penstock.flow.weaving import Loop

__all__ = ["Placed", "Placing", "plain"]


class Placed(NamedTuple):
    """An element on its way to whoever keeps its place; a place is something that JSON has."""

    place: Any
    element: Any


def plain(element: Any) -> Any:
    """The element itself, for those who know nothing of places."""
    while type(element) is Placed:
        element = element.element
    return element


PAIR: Final = partial(tuple.__new__, Placed)
"""Makes a ``Placed`` of a pair, in a third of the time."""


class Placing(Woven):
    """A line that gives the element ``x`` a place, or takes it off.

    In the line, ``{0}``, ``{1}`` are the values, and ``{pair}`` makes a ``Placed`` of a tuple.
    """

    rerun = EACH_ALONE
    level = True
    checked = True

    def __init__(self, line: str, *values: object) -> None:
        super().__init__("resume", line, (PAIR, *values))
        self._line = line

    def weave(self, loop: Loop, *values: str) -> None:
        """One line; a call for each element would be felt here."""
        pair, *others = values
        loop.line(self._line.format(*others, pair=pair))
        loop.known()
