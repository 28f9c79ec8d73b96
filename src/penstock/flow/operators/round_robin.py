"""Several inputs, one element after the other from whichever has some.

``RoundRobin`` gives no elements but *portions*, which are iterators over what one input has. The
loop downstream, ``FlattenPortions``, iterates over them, so an input that never waits costs as
little as if it were alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Any, Final

from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import EACH_ALONE, FusedStage
from penstock.flow.operators.error_handling import caught
from penstock.flow.operators.inputs import InputElements, close_all

__all__ = ["CONCURRENCY", "FlattenPortions", "RoundRobin"]

CONCURRENCY: Final = 256
"""How many inputs are open at a time, unless the user says otherwise."""

TURN: Final = 256
"""The most elements that one input gives before it is another one's turn."""


class RoundRobin:
    """Takes turns with inputs, which are made of the elements of ``outer`` as there is room.

    A new input has its turn at once. The others follow in a ring, so that neither an endless input
    nor endlessly many of them starve the others. An input is made, by a function of the user where
    the operator takes one, on the thread that pulls the run.
    """

    def __init__(
        self,
        outer: InputElements,
        open_next: Callable[[Any], InputElements],
        run: RunContext,
        *,
        concurrency: int,
        waits: bool = True,
        errors: list[Exception] | None = None,
    ) -> None:
        self._outer = outer
        self._open_next = open_next
        self._run = run
        self._concurrency = concurrency
        self._waits = waits
        self._errors = errors
        self._ring: deque[InputElements] = deque()
        self._moved = False

    def open_first(self) -> None:
        """Open as many inputs as there is room for, before anything is wanted."""
        while self._has_room and self._outer.peek():
            self._ring.append(self._open_next(self._outer.take()))

    def portions(self) -> Elements:
        """Portions of elements, and ``PENDING`` when none of the inputs could give any."""
        idle = 0
        while not self._run.over:
            self._moved = False
            yield from self._rest()
            if self._admit():
                yield from self._turn()
            if self._ring:
                yield from self._turn()
            elif self._outer.exhausted:
                return
            idle = 0 if self._moved else idle + 1
            if idle >= max(len(self._ring), 1):
                yield PENDING
                idle = 0

    def close(self) -> None:
        """Cancel all inputs."""
        close_all([self._outer, *self._ring])

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        return sum(map(length_hint, (self._outer, *self._ring)))

    @property
    def _has_room(self) -> bool:
        return len(self._ring) < self._concurrency

    def _rest(self) -> Elements:
        """While nothing is wanted, check for ends and errors only."""
        while self._waits and not self._run.wanted:
            inputs = (self._outer, *self._ring)
            for each in inputs:
                self._peek(each)
            if all(each.exhausted for each in inputs):
                return
            yield PENDING

    def _admit(self) -> bool:
        """Open one more input, if there is room and one is there."""
        # The error of an outer stream that has failed does not wait until there is room.
        if not self._has_room and not self._run.ended:
            return False
        if not self._peek(self._outer) or not self._has_room:
            return False
        self._ring.appendleft(self._open_next(self._outer.take()))
        self._moved = True
        return True

    def _turn(self) -> Elements:
        """What the first input of the ring has; it goes to the end of the ring."""
        current = self._ring[0]
        left = TURN
        while left and self._peek(current):
            self._moved = True
            size = min(left, max(self._run.wanted, 1)) if self._waits else left
            left -= size
            yield self._portion(current, size)
            yield from self._rest()
        if current.exhausted:
            self._moved = True
            self._ring.popleft()
        else:
            self._ring.rotate(-1)

    def _peek(self, each: InputElements) -> bool:
        try:
            return each.ready() if self._waits else each.peek()
        except Exception as error:
            self._fail(each, error)
            return False

    def _portion(self, each: InputElements, size: int) -> Iterator[Any]:
        portion = each.portion(size)
        return portion if self._errors is None else self._guarded(each, portion)

    def _guarded(self, each: InputElements, portion: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from portion
        except Exception as error:
            self._fail(each, error)

    def _fail(self, each: InputElements, error: Exception) -> None:
        """An input failed: keep its error for the end, or let it be the end."""
        if self._errors is None:
            raise error
        self._errors.append(caught(error))
        each.close()


class FlattenPortions(FusedStage):
    """The elements of the portions that ``RoundRobin`` gives."""

    rerun = EACH_ALONE
    expands = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A loop in the loop."""
        loop.expand("x")
