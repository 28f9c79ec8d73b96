"""Each element becomes a publisher, and so do the elements of that, and theirs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from operator import length_hint
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard
from penstock.flow.engine.stage import BY_TIME, EACH_ALONE, UNKNOWN, FusedStage
from penstock.flow.operators.flattening import FlattenStage, Merging
from penstock.flow.operators.inputs import InputElements, RoundRobin, open_input

__all__ = ["Expand", "RememberPortions"]

UPSTREAM: Final = object()


class Expand(FlattenStage):
    """Portions of upstream and of the publishers that are made of all elements, in their order.

    Calls the function on the thread that pulls the run.
    """

    def __init__(
        self, function: Callable[[Any], Publisher[Any]], concurrency: int, capacity: int
    ) -> None:
        super().__init__("expand", function)
        self._concurrency = concurrency
        self._capacity = capacity
        self.rerun = UNKNOWN if concurrency == 1 else BY_TIME

    def _merging(self, outer: InputElements, run: RunContext) -> Merging:
        def opened(element: Any) -> InputElements:
            if element is UPSTREAM:
                return outer
            return open_input(self._publisher(element), run, self.name)

        return Expansion(opened, run, self._concurrency, self._capacity)


class Expansion:
    """Takes turns with upstream and the publishers that are made of what all of them gave.

    Elements are remembered when they go on, since the turn of their publishers comes later. Those
    are made, by the function of the user, on the thread that pulls the run.
    """

    def __init__(
        self,
        open_next: Callable[[Any], InputElements],
        run: RunContext,
        concurrency: int,
        capacity: int,
    ) -> None:
        self._run = run
        self._capacity = capacity
        self._unexpanded: deque[Any] = deque((UPSTREAM,))
        self._merging = RoundRobin(
            DeliveredElements(self._to_expand(), run, sized=self._unexpanded),
            open_next,
            run,
            concurrency=concurrency,
        )
        self._merging.open_first()

    def portions(self) -> Elements:
        """Portions, each with what remembers its elements, and ``PENDING`` when there is none."""
        remember = self._unexpanded.append
        for portion in self._merging.portions():
            yield portion if portion is PENDING else (self._within_capacity(portion), remember)

    def close(self) -> None:
        """Cancel all publishers, and forget what is still to be expanded."""
        self._unexpanded.clear()
        self._merging.close()

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        return length_hint(self._merging)

    def _to_expand(self) -> Iterator[Any]:
        unexpanded = self._unexpanded
        while unexpanded or not self._merging.exhausted:
            yield unexpanded.popleft() if unexpanded else PENDING

    def _within_capacity(self, portion: Iterator[Any]) -> Iterator[Any]:
        """As much of a portion as can be remembered; another one brings the rest of it."""
        room = self._capacity - len(self._unexpanded)
        if not room:
            discard(self._run, islice(portion, 1))
            raise too_many_elements(self._capacity)
        return islice(portion, room)


class RememberPortions(FusedStage):
    """The elements of the portions that an ``Expansion`` gives, which remembers them."""

    rerun = EACH_ALONE
    expands = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A loop in the loop."""
        portion, remember = loop.local("portion", "None"), loop.local("remember", "None")
        loop.line(f"{portion}, {remember} = x")
        loop.expand(portion)
        loop.line(f"{remember}(x)")


class DeliveredElements(InputElements):
    """Elements that went on before, and are nobody's loss."""

    __slots__ = ()

    def close(self) -> None:
        """Let go of the one that was peeked at, without a word to those who count losses."""
        self.take()
        super().close()


def too_many_elements(capacity: int) -> OverflowError:
    """What is raised where memory would grow beyond the capacity."""
    return OverflowError(
        f"expand has given {capacity} elements that are still to be expanded, which is its "
        "capacity, and now another one; give it a larger capacity, or let fewer elements through "
        "upstream, or let the function make fewer"
    )
