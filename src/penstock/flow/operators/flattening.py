"""Each element becomes a publisher: ``flat_map``, ``concat_map``, ``switch_map`` ..."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.checks import require_inner_publisher
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.flow.engine.stage import BY_TIME, UNKNOWN, Stage
from penstock.flow.operators.inputs import TURN, InputElements, RoundRobin, open_input

__all__ = [
    "ExhaustMap",
    "FlatMap",
    "FlattenStage",
    "Merging",
    "SwitchMap",
]


class Merging(Protocol):
    """Takes turns with publishers, and knows how many elements are left."""

    def portions(self) -> Elements:
        """Portions of elements, and ``PENDING`` where none is there."""

    def close(self) -> None:
        """Cancel all publishers."""

    def __length_hint__(self) -> int: ...


class FlattenStage(Stage):
    """Portions of the publishers that a function makes.

    Calls the function on the thread that pulls the run.
    """

    waits = True
    checked = True

    def __init__(self, name: str, function: Callable[[Any], Publisher[Any]]) -> None:
        super().__init__(name)
        self._function = function

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Begin at once, so that what is known of its size is known at once."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Merge what the function makes of the elements."""
        run.sized = merging = self._merging(InputElements(elements, run, sized=run.sized), run)
        try:
            yield None
            yield from merging.portions()
        finally:
            merging.close()

    @abstractmethod
    def _merging(self, outer: InputElements, run: RunContext) -> Merging:
        """What takes turns with the publishers, for one run."""

    def _publisher(self, element: Any) -> Publisher[Any]:
        return require_inner_publisher(self.name, self._function(element))


class FlatMap(FlattenStage):
    """Portions of some publishers at a time, or of one.

    Calls the function on the thread that pulls the run.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Any], Publisher[Any]],
        concurrency: int,
        prefetch: int,
    ) -> None:
        super().__init__(name, function)
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

    def _merging(self, outer: InputElements, run: RunContext) -> Merging:
        return RoundRobin(
            outer,
            lambda element: open_input(
                self._publisher(element), run, self.name, prefetch=self._prefetch
            ),
            run,
            concurrency=self._concurrency,
        )


class OnePublisher(Stage):
    """The elements of one of the publishers that a function makes, at any moment.

    The outer stream counts also while nothing is wanted: it is in ``run.ended`` all the time. Calls
    the function on the thread that pulls the run.
    """

    rerun = BY_TIME
    waits = True
    checked = True
    takes_all = True
    inputs_per_output = UNBOUNDED

    def __init__(self, name: str, function: Callable[[Any], Publisher[Any]]) -> None:
        super().__init__(name)
        self._function = function

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """How many elements the outer stream has says nothing of the inner ones."""
        run.sized = None
        return super().apply(elements, run)

    def _opened(self, element: Any, run: RunContext) -> InputElements:
        publisher = require_inner_publisher(self.name, self._function(element))
        return open_input(publisher, run, self.name)


class SwitchMap(OnePublisher):
    """The elements of the latest publisher."""

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Check the outer stream before each element of the inner one."""
        outer = InputElements(elements, run)
        inner: InputElements | None = None
        run.ended.add(outer)
        try:
            while not run.over:
                if outer.peek():
                    if inner is not None:
                        inner.close()
                    inner = self._opened(outer.take(), run)
                elif inner is not None and inner.ready():
                    if outer.ended:
                        yield from inner.portion(min(run.wanted, TURN))
                    else:
                        yield inner.take()
                elif outer.ended and (inner is None or inner.exhausted):
                    return
                else:
                    yield PENDING
        finally:
            run.ended.discard(outer)
            if inner is not None:
                inner.close()


class ExhaustMap(OnePublisher):
    """The elements of a publisher until it ends, and then of the one that is made next."""

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Discard what comes while a publisher is open; its end is looked for first."""
        outer = InputElements(elements, run)
        inner: InputElements | None = None
        run.ended.add(outer)
        try:
            while not run.over:
                if inner is None:
                    if outer.peek():
                        inner = self._opened(outer.take(), run)
                    elif outer.ended:
                        return
                    else:
                        yield PENDING
                    continue
                ready = inner.ready()
                if inner.exhausted:
                    inner = None
                elif outer.peek():
                    discard(run, outer.portion(TURN))
                elif ready:
                    yield from inner.portion(min(run.wanted, TURN))
                    if outer.peek():
                        discard(run, outer.portion(TURN))  # they came before its end is seen
                else:
                    yield PENDING
        finally:
            run.ended.discard(outer)
            if inner is not None:
                inner.close()
