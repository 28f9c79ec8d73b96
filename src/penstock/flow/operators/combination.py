"""What stages that make one stream of several publishers have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from operator import length_hint
from typing import Any, Self

from penstock.api import Publisher
from penstock.flow.elements import Elements, Host, started
from penstock.flow.operators.inputs import Input, close_all, may_wait, open_input
from penstock.flow.stage import Origin

__all__ = ["Combination"]


class Combination(Origin):
    """One stream, made of several publishers that are all open at the same time."""

    checked = True

    def __init__(self, name: str, publishers: Sequence[Publisher[Any]]) -> None:
        super().__init__(name)
        self.waits = any(map(may_wait, publishers))
        self._publishers = publishers

    @property
    def upstreams(self) -> tuple[Publisher[Any], ...]:
        """All of them."""
        return tuple(self._publishers)

    def over(self, *upstreams: Publisher[Any]) -> Self:
        """The same of other publishers."""
        moved = copy(self)
        moved._publishers = upstreams
        return moved

    def open(self, host: Host, each: int) -> Elements:
        """Subscribe to all of them at once."""
        return started(self._opened(host, each))

    def _opened(self, host: Host, each: int) -> Elements:
        inputs: list[Input] = []
        try:
            for publisher in self._publishers:
                inputs.append(open_input(publisher, host, each))
            host.sized = Size(self, inputs)
            yield None
            yield from self.combined(inputs, host)
        finally:
            close_all(inputs)

    @abstractmethod
    def combined(self, inputs: list[Input], host: Host) -> Elements:
        """The one stream."""

    def ready(self, each: Input) -> bool:
        """Whether an input has an element; only a combination that waits can leave it at that."""
        return each.ready() if self.waits else each.look()

    def left(self, hints: Sequence[int]) -> int:
        """About how many elements are left if the inputs have about so many."""
        return sum(hints)


class Size:
    """What a combination knows of the number of its elements."""

    __slots__ = ("_combination", "_inputs")

    def __init__(self, combination: Combination, inputs: list[Input]) -> None:
        self._combination = combination
        self._inputs = inputs

    def __length_hint__(self) -> int:
        return self._combination.left([length_hint(each) for each in self._inputs])
