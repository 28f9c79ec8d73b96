"""Stages that end the stream early, or let it begin late."""

from __future__ import annotations

from penstock.flow.operators.each import Applied
from penstock.flow.stage import EACH_ALONE, FROM_START, Woven
from penstock.flow.weaving import Loop

__all__ = ["Skip", "SkipWhile", "Take", "TakeWhile"]


class Take(Woven):
    """The first elements, of which there is at least one."""

    rerun = FROM_START
    stops = True
    level = True

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, values=(count,))
        self.most = count

    def weave(self, loop: Loop, *values: str) -> None:
        """Count, and say which one is the last."""
        (count,) = values
        taken = loop.local("taken", "0")
        loop.line(f"{taken} += 1")
        loop.last_if(f"{taken} >= {count}")


class TakeWhile(Applied):
    """The elements in front of the first one for which the function does not hold."""

    rerun = EACH_ALONE
    stops = True

    def weave(self, loop: Loop, *values: str) -> None:
        """One question."""
        loop.stop_if(f"not {self.result(*values)}")


class Skip(Woven):
    """All but the first elements."""

    rerun = FROM_START

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, values=(count,))

    def weave(self, loop: Loop, *values: str) -> None:
        """Count down to where it begins."""
        (count,) = values
        left = loop.local("left", count)
        loop.line(f"if {left}:")
        loop.line(f"{left} -= 1", deeper=1)
        loop.drop(deeper=1)


class SkipWhile(Applied):
    """The first element for which the function does not hold, and all behind it."""

    rerun = FROM_START

    def weave(self, loop: Loop, *values: str) -> None:
        """One question, until the answer is no."""
        skipping = loop.local("skipping", "True")
        loop.drop_if(f"{skipping} and {self.result(*values)}")
        loop.line(f"{skipping} = False")
