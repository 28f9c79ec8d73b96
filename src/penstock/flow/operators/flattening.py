"""Each element becomes a publisher: ``flat_map``, ``concat_map``, ``switch_map``."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.checks import require_inner_publisher
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, started
from penstock.flow.engine.stage import BY_TIME, UNKNOWN, Stage
from penstock.flow.operators.inputs import InputElements, RoundRobin, open_input

__all__ = [
    "FlatMap",
    "SwitchMap",
]


class FlatMap(Stage):
    """Portions of the publishers that a function makes, some of them at a time or one.

    Calls the function on the thread that pulls the run.
    """

    waits = True
    checked = True

    def __init__(
        self,
        name: str,
        function: Callable[[Any], Publisher[Any]],
        concurrency: int,
        prefetch: int,
    ) -> None:
        super().__init__(name)
        self._function = function
        self._concurrency = concurrency
        self._prefetch = prefetch
        # One after the other, they give the same again if each of the publishers does.
        self.rerun = UNKNOWN if self.one_at_a_time else BY_TIME

    @property
    def one_at_a_time(self) -> bool:
        """Whether a publisher is made when the one before has completed."""
        return self._concurrency == 1

    @property
    def function(self) -> Callable[[Any], Publisher[Any]]:
        """What makes a publisher of an element."""
        return self._function

    def calling(self, function: Callable[[Any], Publisher[Any]]) -> FlatMap:
        """The same with another function."""
        moved = copy(self)
        moved._function = function
        return moved

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Begin at once, so that what is known of its size is known at once."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Merge what the function makes of the elements."""
        merging = RoundRobin(
            InputElements(elements, run, sized=run.sized),
            lambda element: self._opened(element, run),
            run,
            concurrency=self._concurrency,
        )
        run.sized = merging
        try:
            yield None
            yield from merging.portions()
        finally:
            merging.close()

    def _opened(self, element: Any, run: RunContext) -> InputElements:
        publisher = require_inner_publisher(self.name, self._function(element))
        return open_input(publisher, run, self.name, prefetch=self._prefetch)


class SwitchMap(Stage):
    """The elements of the latest publisher that a function made.

    Calls the function on the thread that pulls the run.
    """

    rerun = BY_TIME
    waits = True
    checked = True
    takes_all = True
    inputs_per_output = UNBOUNDED

    def __init__(self, function: Callable[[Any], Publisher[Any]]) -> None:
        super().__init__("switch_map")
        self._function = function

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """How many elements the outer stream has says nothing of the inner ones."""
        run.sized = None
        return super().apply(elements, run)

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Check the outer stream before each element of the inner one."""
        outer = InputElements(elements, run)
        inner: InputElements | None = None
        run.ended.add(outer)  # the outer stream counts also while nothing is wanted
        try:
            while not run.over:
                if outer.peek():
                    if inner is not None:
                        inner.close()
                    inner = self._opened(outer.take(), run)
                elif inner is not None and inner.ready():
                    yield inner.take()
                elif outer.ended and (inner is None or inner.exhausted):
                    return
                else:
                    yield PENDING
        finally:
            run.ended.discard(outer)
            if inner is not None:
                inner.close()

    def _opened(self, element: Any, run: RunContext) -> InputElements:
        publisher = require_inner_publisher(self.name, self._function(element))
        return open_input(publisher, run, self.name)
