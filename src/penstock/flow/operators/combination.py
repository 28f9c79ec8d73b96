"""What stages that make one stream of several publishers have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from operator import length_hint
from typing import Any

from penstock.api import Publisher
from penstock.flow.engine.run_context import Elements, RunContext, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.inputs import InputElements, close_all, may_wait, open_input

__all__ = ["Combination"]


class Combination(Origin):
    """One stream, made of several publishers that are all open at the same time."""

    checked = True

    def __init__(self, name: str, publishers: Sequence[Publisher[Any]]) -> None:
        super().__init__(name)
        self.waits = any(map(may_wait, publishers))
        self.upstreams = self.inputs = tuple(publishers)

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to all of them at once."""
        return started(self._opened(run, per_output))

    def _opened(self, run: RunContext, per_output: int) -> Elements:
        inputs: list[InputElements] = []
        try:
            for publisher in self.upstreams:
                inputs.append(open_input(publisher, run, self.name, per_output))
            run.sized = CombinationSize(self, inputs)
            yield None
            yield from self.combined(inputs, run)
        finally:
            close_all(inputs)

    @abstractmethod
    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """The elements of the combination, made of those of the inputs."""

    def ready(self, each: InputElements) -> bool:
        """Whether an input has an element; only a combination that waits can leave it at that."""
        return each.ready() if self.waits else each.peek()

    def left(self, hints: Sequence[int]) -> int:
        """About how many elements are left, given ``hints`` for each of the inputs."""
        return sum(hints)


class CombinationSize:
    """What a combination knows of the number of its elements."""

    __slots__ = ("_combination", "_inputs")

    def __init__(self, combination: Combination, inputs: list[InputElements]) -> None:
        self._combination = combination
        self._inputs = inputs

    def __length_hint__(self) -> int:
        return self._combination.left([length_hint(each) for each in self._inputs])
