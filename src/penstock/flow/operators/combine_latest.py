"""The latest elements of several publishers."""

from __future__ import annotations

from typing import Any

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard
from penstock.flow.engine.stage import BY_TIME
from penstock.flow.operators.combination import Combination
from penstock.flow.operators.inputs import InputElements

__all__ = ["CombineLatest"]


class CombineLatest(Combination):
    """Tuples of the latest element of each input, one for each element that comes."""

    rerun = BY_TIME

    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """The inputs take turns, one element each."""
        latest = LatestElements(len(inputs))
        try:
            while not run.over:
                moved = False
                for number, each in enumerate(inputs):
                    if latest.would_waste(number, each):
                        continue
                    if self.ready(each):
                        moved = True
                        discard(run, latest.replace(number, each.take()))
                        if latest.complete:
                            yield latest.together()
                    elif each.exhausted and latest.lacks(number):
                        return
                if all(each.exhausted for each in inputs):
                    return
                if not moved:
                    yield PENDING
        finally:
            discard(run, latest.unseen())


class LatestElements:
    """One element of each input, and which of them nobody has seen."""

    __slots__ = ("_elements", "_missing", "_unseen")

    def __init__(self, size: int) -> None:
        self._elements: list[Any] = [PENDING] * size
        self._missing = size
        self._unseen: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether each input has given an element."""
        return not self._missing

    def lacks(self, number: int) -> bool:
        """Whether this input has not given any."""
        return self._elements[number] is PENDING

    def would_waste(self, number: int, each: InputElements) -> bool:
        """Whether an input that always has one more would spend them while others wait."""
        return not (self.complete or each.waits or self.lacks(number))

    def replace(self, number: int, element: Any) -> list[Any]:
        """Take the next element of an input; returns the one before, if nobody has seen it."""
        previous = self._elements[number]
        self._missing -= previous is PENDING
        unseen = [previous] if number in self._unseen else []
        self._elements[number] = element
        self._unseen.add(number)
        return unseen

    def together(self) -> tuple[Any, ...]:
        """A tuple of all latest elements, which have been seen then."""
        self._unseen.clear()
        return tuple(self._elements)

    def unseen(self) -> list[Any]:
        """The elements that were in no tuple."""
        return [self._elements[number] for number in self._unseen]
