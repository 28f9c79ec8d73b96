"""Stages that remember what came before, and those that make one element of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import UNBOUNDED
from penstock.flow.expression import Expression, constants_of, text_of
from penstock.flow.stage import FROM_START, Woven
from penstock.flow.weaving import Loop

__all__ = ["Collect", "Fold", "Last", "Scan"]


class Scan(Woven):
    """``x`` becomes what it was combined into with all that came before."""

    rerun = FROM_START
    level = True

    def __init__(self, name: str, seed: object, function: Expression) -> None:
        super().__init__(name, text_of(function), (seed, *constants_of(function)))
        self._text = text_of(function)

    def weave(self, loop: Loop, *values: str) -> None:
        """One variable, given each time."""
        loop.become(self._accumulated(loop, *values))

    def _accumulated(self, loop: Loop, seed: str, *constants: str) -> str:
        """Combine; the name of the variable that holds the result."""
        total = loop.local("total", seed)
        loop.line(f"{total} = {self._text.format(*constants, a=total, x='x')}")
        return total


class Fold(Scan):
    """Everything combined into one value."""

    level = False
    closes = True
    each = UNBOUNDED

    def weave(self, loop: Loop, *values: str) -> None:
        """One variable, given at the end."""
        total = self._accumulated(loop, *values)
        loop.drop()
        loop.at_end(f"x = {total}", "emit x")


class Collect(Woven):
    """Everything in one list, or in what ``container`` makes of that list."""

    rerun = FROM_START
    closes = True
    each = UNBOUNDED

    def __init__(self, name: str, container: Callable[[list[Any]], object] | None = None) -> None:
        values = () if container is None else (container,)
        super().__init__(name, f"{len(values)}", values)

    def weave(self, loop: Loop, *values: str) -> None:
        """A list, given at the end."""
        loop.check()
        collected = loop.local("collected", "[]")
        loop.line(f"{collected}.append(x)")
        loop.drop()
        container = "".join(values)
        loop.at_end(f"x = {container}({collected})", f"{collected} = ()", "emit x")
        loop.at_close(f"discard(host, {collected})")


class Last(Woven):
    """The last element."""

    rerun = FROM_START
    closes = True
    each = UNBOUNDED

    def weave(self, loop: Loop, *values: str) -> None:
        """A variable that holds the latest element, given at the end."""
        loop.check()
        latest = loop.local("latest", "None")
        loop.line(f"{latest} = x")
        loop.drop()
        loop.at_end(f"if {latest} is not None:", f"    x, {latest} = {latest}, None", "    emit x")
        loop.at_close(f"if {latest} is not None: discard(host, ({latest},))")
