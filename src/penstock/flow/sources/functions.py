"""Flows from functions: ``from_callable``, ``generate``, ``defer`` and ``using``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.api import Publisher
from penstock.flow.base_flow import opened
from penstock.flow.checks import require_publisher
from penstock.flow.engine.run_context import Elements, RunContext, close, started
from penstock.flow.engine.stage import Origin
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.sources.from_async import CoroutineSubscription

__all__ = [
    "Defer",
    "FromCallable",
    "Generate",
    "Using",
]


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

        An asynchronous one runs in a task, which starts once something is wanted.
        """
        resource = self._resource_factory()
        # Checked first: some that need `async with` have an `__enter__` that only says so.
        if isinstance(resource, AbstractAsyncContextManager):
            from penstock.flow.sources.from_async import from_coroutine

            return from_coroutine(partial(self._feed_within, resource), self.name, run, per_output)
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

    async def _feed_within(
        self, resource: AbstractAsyncContextManager[Any], feed: CoroutineSubscription
    ) -> None:
        from penstock.flow.engine.awaiting import elements_of

        async with resource as entered:
            flow = require_publisher("using", self._flow_factory(entered))
            async with aclosing(elements_of(flow, wanted=1)) as elements:
                await feed.give_all(elements)
