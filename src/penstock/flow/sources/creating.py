"""Flows from iterables, functions, publishers and a clock, and flows without elements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing
from copy import copy
from itertools import repeat
from types import GeneratorType
from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.base_flow import BaseFlow, extended, opened
from penstock.flow.checks import require_publisher
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started, unclosed
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.timing import StageTimer
from penstock.runtime import Clock, shorten

__all__ = [
    "Defer",
    "Error",
    "FromCallable",
    "FromIterable",
    "FromPublisher",
    "Generate",
    "Interval",
    "Never",
    "Resumable",
    "Using",
]


class FromIterable(Origin):
    """The elements of an iterable, iterated again for each run, on the thread that pulls it."""

    waits = False

    def __init__(self, name: str, iterable: Iterable[Any], *, checked: bool = False) -> None:
        super().__init__(name)
        self.iterable = iterable
        self.checked = checked
        self.replay = "none" if isinstance(iterable, Iterator) else "from_start"

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Start an iteration."""
        iterator = iter(self.iterable)
        run.sized = iterator
        if iterator is self.iterable:
            return unclosed(iterator)  # it belongs to its maker: it is not closed here
        if isinstance(iterator, GeneratorType) or not hasattr(iterator, "close"):
            return iterator
        return started(self._closing(iterator))

    def _closing(self, iterator: Iterator[Any]) -> Elements:
        """Unlike a generator, an iterator with ``close`` is not closed by its end."""
        try:
            yield None
            yield from unclosed(iterator)  # it is closed once, by `finally`
        finally:
            close(iterator)


class Error(Origin):
    """Nothing but an error."""

    replay = "from_start"
    waits = False
    checked = True

    def __init__(self, error: Exception) -> None:
        super().__init__("error")
        self._error = error

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Fail at once."""
        raise self._error


class Never(Origin):
    """Nothing at all."""

    replay = "from_start"
    checked = True

    def __init__(self) -> None:
        super().__init__("never")

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Wait forever."""
        return repeat(PENDING)


class FromCallable(Origin):
    """What a function returns, called once that is wanted, on the thread that pulls the run."""

    waits = False
    checked = True

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__("from_callable")
        self._function = function

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Nothing is called before the first pull."""
        return self._result(run)

    def _result(self, run: RunContext) -> Elements:
        result = self._function()
        if result is not None:
            run.sized = results = iter((result,))
            yield from results


class Generate(Origin):
    """Elements of a state that each step replaces by the next one.

    Calls the step on the thread that pulls the run.
    """

    waits = False

    def __init__(self, seed: Any, step: Callable[[Any], Any]) -> None:
        super().__init__("generate")
        self._seed = seed
        self._step = step

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Start with the seed."""
        state = self._seed
        while (pair := self._step(state)) is not None:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    "generate: the step must return (element, next state), "
                    f"or None at the end, not {shorten(pair)}"
                )
            element, state = pair
            yield element


class Defer(Origin):
    """The elements of a publisher that is made again for each run, on the thread that opens it."""

    def __init__(self, factory: Callable[[], Publisher[Any]]) -> None:
        super().__init__("defer")
        self._factory = factory

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Make it and subscribe to it, at once."""
        return opened(require_publisher("defer", self._factory()), run, per_output)


class Using(Origin):
    """The elements of a publisher that lives within a context manager.

    That is entered, and the publisher made, on the thread that opens the run; an asynchronous one
    on the thread of the run's loop.
    """

    def __init__(
        self,
        resource_factory: Callable[[], Any],
        flow_factory: Callable[[Any], Publisher[Any]],
    ) -> None:
        super().__init__("using")
        self._resource_factory = resource_factory
        self._flow_factory = flow_factory

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Enter the resource and subscribe to what is made of it, at once.

        An asynchronous one is entered once something is wanted, in a task.
        """
        resource = self._resource_factory()
        # Checked first: some that need `async with` have an `__enter__` that only says so.
        if isinstance(resource, AbstractAsyncContextManager):
            from penstock.flow.sources.from_async import iterated

            return iterated(self._within_async(resource), self, run, per_output)
        if not isinstance(resource, AbstractContextManager):
            raise TypeError(f"using needs a context manager, not {shorten(resource)}")
        return started(self._within(resource, run, per_output))

    def _within(
        self, resource: AbstractContextManager[Any], run: RunContext, per_output: int
    ) -> Elements:
        with resource as entered:
            flow = require_publisher("using", self._flow_factory(entered))
            elements = opened(flow, run, per_output)
            try:
                yield None
                yield from elements
            finally:
                close(elements)

    async def _within_async(self, resource: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        from penstock.flow.engine.awaiting import elements_of

        async with resource as entered:
            flow = require_publisher("using", self._flow_factory(entered))
            async with aclosing(elements_of(flow, prefetch=1)) as elements:
                async for element in elements:
                    yield element


class Interval(Origin):
    """0, 1, 2 and so on, each at its moment or as soon as it is wanted after that."""

    checked = True

    def __init__(self, every: float, delay: float, clock: Clock | None) -> None:
        super().__init__("interval")
        self._every = every
        self._delay = delay
        self._clock = clock

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Time counts from here on, whether or not anything is wanted."""
        timer = StageTimer(self._clock, run, self.name)
        return started(self._ticks(timer, timer.now + self._delay))

    def _ticks(self, timer: StageTimer, start: float) -> Elements:
        number = 0
        try:
            yield None
            while True:
                timer.start_at(start + number * self._every)
                while not timer.is_due():
                    yield PENDING
                yield number
                number += 1
        finally:
            timer.close()


class FromPublisher(Origin):
    """The elements of a publisher."""

    checked = True  # by the subscriber that `opened` makes

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("from_publisher")
        self.publisher = publisher
        self.inputs = (publisher,)

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to the publisher."""
        return opened(self.publisher, run, per_output)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """Subscribe to the publisher, and request no more than ``most`` elements."""
        return opened(self.publisher, run, per_output, most=most)


class Resumable(Origin):
    """The elements after a position, of a publisher that a function makes for it.

    Calls the function on the thread that opens the run.

    ``position_of``  tells the position of an element, if it can
    ``on_recorded``  is told up to which position elements are stored, by a run that stores them, on
                     the thread that does so
    ``paired``       makes the same publisher of ``PositionedElement``, where elements do not tell
                     their positions and the publisher knows them
    ``repeats``      whether it gives the same elements each time as well
    """

    checked = True
    replay = "position"

    def __init__(
        self,
        name: str,
        factory: Callable[[Any], Publisher[Any]],
        position_of: Callable[[Any], Any] | None = None,
        *,
        on_recorded: Callable[[Any], object] | None = None,
        paired: Callable[[Any], Publisher[Any]] | None = None,
        repeats: bool = False,
        waits: bool = True,
    ) -> None:
        super().__init__(name)
        self.position_of = position_of
        self.on_recorded = on_recorded
        self.paired = paired
        self.repeats = repeats
        self.waits = waits
        self._factory = factory
        self._position: object = None

    def at(self, position: object) -> Resumable:
        """The same source, after another position."""
        other = copy(self)
        other._position = position
        return other

    def paired_at(self, position: object) -> Resumable:
        """The same, with ``PositionedElement`` for each element."""
        assert self.paired is not None
        other = self.at(position)
        other._factory = self.paired
        return other

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Make the publisher, and subscribe to it."""
        return self.open_at_most(run, per_output, UNBOUNDED)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """The same, and let it know that no more than ``most`` elements are taken."""
        publisher = require_publisher(self.name, self._factory(self._position))
        if most < UNBOUNDED and isinstance(publisher, BaseFlow):
            publisher = extended(publisher).take(most)
        return opened(publisher, run, per_output, most=most)
