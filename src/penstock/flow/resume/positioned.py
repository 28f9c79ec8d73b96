"""An element and its position, which is where a new run goes on downstream of it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.stage import EACH_ALONE, FusedStage

__all__ = ["AttachPosition", "PositionedElement", "plain"]


class PositionedElement(NamedTuple):
    """An element with its position, which is something that JSON has."""

    position: Any
    element: Any


def plain(element: Any) -> Any:
    """The element itself, for those who know nothing of positions."""
    while type(element) is PositionedElement:
        element = element.element
    return element


PAIR: Final = partial(tuple.__new__, PositionedElement)
"""Makes a ``PositionedElement`` of a pair, in a third of the time."""


class AttachPosition(FusedStage):
    """A line that gives the element ``x`` a position, or takes it off.

    In the line, ``{0}``, ``{1}`` are the values; ``{pair}`` makes a ``PositionedElement``.
    """

    rerun = EACH_ALONE
    one_to_one = True
    checked = True

    def __init__(self, line: str, *values: object) -> None:
        super().__init__("resume", line, (PAIR, *values))
        self._line = line

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One line; a call for each element would be felt here."""
        pair, *others = values
        loop.line(self._line.format(*others, pair=pair))
        loop.known()
