"""Other elements: ``map``, ``flat_map_iterable``, ``scan``, ``enumerate``, ``pairwise`` ..."""

from __future__ import annotations

from typing import Final

from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.run_context import PENDING
from penstock.flow.engine.stage import EACH_ALONE, FROM_START, FusedStage
from penstock.flow.expression import Expression, calculates, constants_of, text_of

__all__ = [
    "NO_SEED",
    "Enumerate",
    "FlatMapIterable",
    "FunctionStage",
    "Map",
    "MapNotNone",
    "Pairwise",
    "Scan",
]

NO_SEED: Final = PENDING
"""In place of a seed: the first element is the seed. It can neither be one nor be made of any."""


class FunctionStage(FusedStage):
    """A stage with a function of the element, called on the thread that pulls the run."""

    def __init__(self, name: str, function: Expression) -> None:
        super().__init__(name, text_of(function), constants_of(function))
        self._function = function

    def result(self, *values: str) -> str:
        """The text of what the function makes of ``x``."""
        return text_of(self._function).format(*values, x="x")


class Map(FunctionStage):
    """``x`` becomes what the function returns."""

    rerun = EACH_ALONE
    one_to_one = True
    forgets = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One line, and a check of the result."""
        loop.become(self.result(*values), check=not calculates(self._function))


class MapNotNone(FunctionStage):
    """``x`` becomes what the function returns, and is left out if that is ``None``."""

    rerun = EACH_ALONE
    forgets = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One line and one check."""
        loop.become(self.result(*values), check=False)
        loop.drop_if("x is None")
        loop.known()


class FlatMapIterable(FunctionStage):
    """All that the function returns takes the place of ``x``."""

    rerun = FROM_START._replace(keeps=False)
    expands = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A loop within the loop."""
        loop.expand(self.result(*values))


class Scan(FusedStage):
    """``x`` becomes the combination of all elements so far.

    Calls the function on the thread that pulls the run.
    """

    rerun = FROM_START
    one_to_one = True

    def __init__(self, name: str, seed: object, function: Expression) -> None:
        self._seedless = seed is NO_SEED
        shape = f"{self._seedless} {text_of(function)}"
        super().__init__(name, shape, (seed, *constants_of(function)))
        self._text = text_of(function)

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One variable, given each time."""
        loop.become(self._accumulated(loop, *values))

    def _accumulated(self, loop: LoopCode, seed: str, *constants: str) -> str:
        """Combine; the name of the variable that holds the result."""
        total = loop.local("total", seed)
        combined = self._text.format(*constants, a=total, x="x")
        if self._seedless:
            loop.check()
            combined = f"x if {total} is {seed} else {combined}"
        loop.line(f"{total} = {combined}")
        return total


class Enumerate(FusedStage):
    """``x`` becomes a pair of its number and itself."""

    rerun = FROM_START
    one_to_one = True

    def __init__(self, name: str, start: int) -> None:
        super().__init__(name, values=(start,))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """Count."""
        (start,) = values
        number = loop.local("number", start)
        loop.check()
        loop.line(f"x = ({number}, x)")
        loop.line(f"{number} += 1")


class Pairwise(FusedStage):
    """``x`` becomes a pair of the element before and itself; the first one has none."""

    rerun = FROM_START

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A variable for the element before."""
        previous, current = loop.local("previous", "None"), loop.local("current", "None")
        loop.check()
        loop.line(f"{previous}, {current} = {current}, x")
        loop.drop_if(f"{previous} is None")
        loop.line(f"x = ({previous}, x)")
