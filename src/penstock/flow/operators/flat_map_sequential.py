"""Publishers that run at the same time, and give their elements one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from operator import length_hint
from typing import Any

from penstock.api import Publisher
from penstock.flow.engine.input_context import InputContext
from penstock.flow.engine.prefetch_subscriber import PrefetchSubscriber, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.operators.flattening import FlattenStage, Merging
from penstock.flow.operators.inputs import (
    TURN,
    InputElements,
    close_all,
    look_for_outer_error,
    may_wait,
    open_input,
)

__all__ = ["FlatMapSequential"]


class FlatMapSequential(FlattenStage):
    """Portions of publishers in the order in which these were made.

    One that may wait is subscribed to, and runs on threads of its own choice; what it gives ahead
    of its turn is kept, up to ``prefetch`` elements. One that never waits is pulled at its turn.
    """

    def __init__(
        self, function: Callable[[Any], Publisher[Any]], concurrency: int, prefetch: int
    ) -> None:
        super().__init__("flat_map_sequential", function)
        self._concurrency = concurrency
        self._prefetch = prefetch

    def _merging(self, outer: InputElements, run: RunContext) -> Merging:
        return InOrder(
            outer,
            lambda element: self._running(self._publisher(element), run),
            run,
            concurrency=self._concurrency,
        )

    def _running(self, publisher: Publisher[Any], run: RunContext) -> InputElements:
        if not may_wait(publisher):
            return open_input(publisher, run, self.name)
        context = InputContext(run)
        context.opening = self.name
        subscriber = PrefetchSubscriber(context, prefetch=self._prefetch, eager=True)
        subscribe(subscriber, publisher)
        return RunningInput(subscriber, context)


class RunningInput(InputElements):
    """An input that runs ahead of its turn."""

    __slots__ = ("_subscriber",)

    def __init__(self, subscriber: PrefetchSubscriber, context: InputContext) -> None:
        super().__init__(subscriber.elements(), context.whole, context=context)
        self._subscriber = subscriber

    def raise_error(self) -> None:
        """Raise the error with which it has ended, if it has, in place of what it holds."""
        if self.context.failed:
            raise self._subscriber.hand_over_error()


class InOrder:
    """Takes from one input after the other, while those to come run ahead of their turn.

    They are made of the elements of ``outer`` as there is room, once something is wanted, on the
    thread that pulls the run. While it is the turn of one that never waits no others are made: it
    needs no time, only demand.
    """

    def __init__(
        self,
        outer: InputElements,
        open_next: Callable[[Any], InputElements],
        run: RunContext,
        *,
        concurrency: int,
    ) -> None:
        self._outer = outer
        self._open_next = open_next
        self._run = run
        self._concurrency = concurrency
        self._line: deque[InputElements] = deque()

    def portions(self) -> Elements:
        """Portions of elements, and ``PENDING`` when the one whose turn it is has none."""
        line, left = self._line, TURN
        while not self._run.over:
            self._open_ahead()
            if line and line[0].ready():
                if not left:
                    self._look_for_errors()  # it may be endless
                    left = TURN
                size = min(left, self._run.wanted)
                left -= size
                yield line[0].portion(size)
            elif line and line[0].exhausted:
                line.popleft()
                left = TURN
            elif not line and self._outer.exhausted:
                return
            else:
                self._look_for_errors()
                yield PENDING

    def close(self) -> None:
        """Cancel all inputs."""
        close_all([self._outer, *self._line])

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        return sum(map(length_hint, (self._outer, *self._line)))

    def _open_ahead(self) -> None:
        while self._has_room and self._outer.ready():
            self._line.append(self._open_next(self._outer.take()))

    @property
    def _has_room(self) -> bool:
        line = self._line
        return len(line) < self._concurrency and (not line or line[0].waits)

    def _look_for_errors(self) -> None:
        """An error waits neither for its turn nor for room nor for demand; raises it.

        It follows the elements of the same input if it is the turn of that.
        """
        if self._run.failed:
            for each in islice(self._line, 1, None):
                if isinstance(each, RunningInput):
                    each.raise_error()
            look_for_outer_error(self._outer, self._line, self._run)
