"""Stages that handle one element after the other, without memory."""

from __future__ import annotations

from penstock.api import UNBOUNDED
from penstock.flow.expression import Expression, calculates, constants_of, text_of
from penstock.flow.stage import EACH_ALONE, FROM_START, Woven
from penstock.flow.weaving import Loop

__all__ = ["Applied", "Filter", "FlatMapIterable", "ForEach", "Map", "MapNotNone"]


class Applied(Woven):
    """A stage with a function of the element."""

    def __init__(self, name: str, function: Expression) -> None:
        super().__init__(name, text_of(function), constants_of(function))
        self._function = function

    def result(self, *values: str) -> str:
        """The text of what the function makes of ``x``."""
        return text_of(self._function).format(*values, x="x")


class Map(Applied):
    """``x`` becomes what the function returns."""

    rerun = EACH_ALONE
    level = True

    def weave(self, loop: Loop, *values: str) -> None:
        """One line, and a look at what came of it."""
        loop.become(self.result(*values), check=not calculates(self._function))


class MapNotNone(Applied):
    """``x`` becomes what the function returns, and is left out if that is ``None``."""

    rerun = EACH_ALONE

    def weave(self, loop: Loop, *values: str) -> None:
        """One line and one question."""
        loop.become(self.result(*values), check=False)
        loop.drop_if("x is None")
        loop.known()


class Filter(Applied):
    """``x`` goes on if the function says so."""

    rerun = EACH_ALONE

    def weave(self, loop: Loop, *values: str) -> None:
        """One question."""
        loop.drop_if(f"not {self.result(*values)}")


class FlatMapIterable(Applied):
    """All that the function returns takes the place of ``x``."""

    rerun = FROM_START._replace(keeps=False)
    expands = True

    def weave(self, loop: Loop, *values: str) -> None:
        """A loop within the loop."""
        loop.expand(self.result(*values))


class ForEach(Applied):
    """The function is called, and nothing goes on."""

    each = UNBOUNDED

    def weave(self, loop: Loop, *values: str) -> None:
        """One call."""
        loop.line(self.result(*values))
        loop.drop()
