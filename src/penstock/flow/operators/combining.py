"""Elements of several publishers together: ``zip``, ``combine_latest``, ``with_latest_from``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import cycle
from operator import length_hint
from typing import Any

from penstock.api import Publisher
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.flow.engine.stage import BY_TIME, FROM_START, Origin, Stage
from penstock.flow.operators.inputs import InputElements, close_all, may_wait, open_input

__all__ = [
    "Combination",
    "CombineLatest",
    "WithLatestFrom",
    "Zip",
]


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


class Zip(Combination):
    """Tuples of one element of each input."""

    rerun = FROM_START

    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """The builtin ``zip``, if no input waits and no listener is told of discarded elements."""
        if self.waits or run.discards:
            return self._paired(inputs, run)
        return zip(*[each.rest() for each in inputs], strict=False)

    def _paired(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """Check all inputs first, so that those that wait do so at the same time."""
        while inputs and not run.over:
            ready = [self.ready(each) for each in inputs]
            if any(each.exhausted for each in inputs):
                return
            if all(ready):
                yield tuple([each.take() for each in inputs])
            else:
                read_failed(inputs, run)
                yield PENDING

    def left(self, hints: Sequence[int]) -> int:
        """As many as the shortest input has left."""
        return min(hints, default=0)


def read_failed(inputs: Iterable[InputElements], run: RunContext) -> None:
    """Look for an error that has come behind elements without partners; raises it."""
    if run.failed:
        for each in inputs:
            while each.waits and each.context.failed and each.read_ahead():
                pass


class CombineLatest(Combination):
    """Tuples of the latest element of each input, one for each element that comes."""

    rerun = BY_TIME

    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """The inputs take turns, one element each; one that has none loses its turn.

        A round without any element ends where it began, so that a look for the end, for which
        nothing is wanted, leaves the turns as they are.
        """
        latest = LatestElements(len(inputs))
        idle = 0
        try:
            for number, each in cycle(enumerate(inputs)):
                if run.over:
                    return
                idle += 1
                if not latest.would_waste(number, each):
                    if self.ready(each):
                        idle = 0
                        discard(run, latest.replace(number, each.take()))
                        if latest.complete:
                            yield latest.together()
                    elif each.exhausted and latest.lacks(number):
                        return
                if idle >= len(inputs):
                    if all(each.exhausted for each in inputs):
                        return
                    yield PENDING
                    idle = 0
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


class WithLatestFrom(Stage):
    """Pairs of an element and what another publisher gave last."""

    rerun = BY_TIME
    waits = True
    checked = True

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("with_latest_from")
        self._publisher = publisher
        self.inputs = (publisher,)

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Subscribe to the other publisher at once."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Take all that the other publisher has before each element."""
        subscriber = EagerSubscriber(run, self.name)
        other = InputElements(subscriber.elements(), run)
        main = InputElements(elements, run, sized=run.sized)
        latest, unseen = PENDING, False
        try:
            subscribe(subscriber, self._publisher)
            yield None
            while not run.over:
                run.ended.discard(subscriber)
                if other.peek():
                    if unseen:
                        discard(run, (latest,))
                    latest, unseen = other.take(), True
                elif other.ended and latest is PENDING:
                    return
                elif not main.ready():
                    if main.exhausted:
                        return
                    yield PENDING
                elif latest is PENDING:
                    discard(run, (main.take(),))
                else:
                    unseen = False
                    yield main.take(), latest
        finally:
            run.ended.discard(subscriber)
            close_all((main, other))
            if unseen:
                discard(run, (latest,))
