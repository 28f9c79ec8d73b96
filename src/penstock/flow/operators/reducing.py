"""One element of all: ``reduce``, ``any``, ``all``, ``collect``, ``last``, ``for_each`` ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import UNBOUNDED
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.stage import FROM_START, FusedStage
from penstock.flow.operators.transforming import FunctionStage, Scan

__all__ = [
    "AllMatch",
    "AnyMatch",
    "Collect",
    "Fold",
    "ForEach",
    "Last",
]


class Fold(Scan):
    """Everything combined into one value."""

    one_to_one = False
    closes = True
    inputs_per_output = UNBOUNDED

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One variable, given at the end."""
        total, seed = self._accumulated(loop, *values), values[0]
        loop.drop()
        if self._seedless:
            loop.at_end(
                f"if {total} is not {seed}:", f"    x, {total} = {total}, {seed}", "    emit x"
            )
            loop.at_close(f"if {total} is not {seed}: discard(run, ({total},))")
        else:
            loop.at_end(f"x = {total}", "emit x")


class Collect(FusedStage):
    """Everything in one list, or in what ``container`` makes of that list.

    Calls ``container`` on the thread that pulls the run.
    """

    rerun = FROM_START
    closes = True
    inputs_per_output = UNBOUNDED

    def __init__(self, name: str, container: Callable[[list[Any]], object] | None = None) -> None:
        values = () if container is None else (container,)
        super().__init__(name, f"{len(values)}", values)

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A list, given at the end."""
        loop.check()
        collected = loop.local("collected", "[]")
        loop.line(f"{collected}.append(x)")
        loop.drop()
        container = "".join(values)
        loop.at_end(f"x = {container}({collected})", f"{collected} = ()", "emit x")
        loop.at_close(f"discard(run, {collected})")


class Last(FusedStage):
    """The last element."""

    rerun = FROM_START
    closes = True
    inputs_per_output = UNBOUNDED

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A variable that holds the latest element, given at the end."""
        loop.check()
        latest = loop.local("latest", "None")
        loop.line(f"{latest} = x")
        loop.drop()
        loop.at_end(f"if {latest} is not None:", f"    x, {latest} = {latest}, None", "    emit x")
        loop.at_close(f"if {latest} is not None: discard(run, ({latest},))")


class ForEach(FunctionStage):
    """The function is called, and nothing goes on."""

    inputs_per_output = UNBOUNDED

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One call."""
        loop.line(self.result(*values))
        loop.drop()


class AnyMatch(FunctionStage):
    """Whether the function holds for any element: known at the first one, or at the end."""

    rerun = FROM_START
    closes = True
    stops = True
    inputs_per_output = UNBOUNDED

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One check, which leaves the loop."""
        self._stop_if(loop, self.result(*values))
        loop.at_end(f"x = {self._found(loop)}", "emit x")

    def _stop_if(self, loop: LoopCode, condition: str) -> None:
        found = self._found(loop)
        loop.check()
        loop.line(f"if {condition}:")
        loop.line(f"{found} = True", deeper=1)
        loop.stop_if(found)
        loop.drop()

    def _found(self, loop: LoopCode) -> str:
        return loop.local("found", "False")


class AllMatch(AnyMatch):
    """Whether the function holds for all elements: it does not hold for none."""

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One check, which leaves the loop."""
        self._stop_if(loop, f"not {self.result(*values)}")
        loop.at_end(f"x = not {self._found(loop)}", "emit x")
