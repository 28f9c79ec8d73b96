"""Flows that hold something open while they run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.api import Publisher
from penstock.demand import shorten
from penstock.flow.arguments import require_publisher
from penstock.flow.elements import Elements, Host, close, started
from penstock.flow.fluent import opened
from penstock.flow.stage import Origin

if TYPE_CHECKING:
    from penstock.flow.sources.feed import Feed

__all__ = ["Using"]


class Using(Origin):
    """The elements of a publisher that lives within a context manager."""

    def __init__(
        self,
        resource_factory: Callable[[], Any],
        flow_factory: Callable[[Any], Publisher[Any]],
    ) -> None:
        super().__init__("using")
        self._resource_factory = resource_factory
        self._flow_factory = flow_factory

    def open(self, host: Host, each: int) -> Elements:
        """Enter the resource and subscribe to what is made of it, at once.

        An asynchronous one has a task of its own, which starts once something is wanted.
        """
        resource = self._resource_factory()
        # Asked first: some that must be entered by `async with` have an `__enter__` that says so.
        if isinstance(resource, AbstractAsyncContextManager):
            from penstock.flow.sources.feed import fed_by

            return fed_by(partial(self._feed_within, resource), self.name, host, each)
        if not isinstance(resource, AbstractContextManager):
            raise TypeError(f"using needs a context manager, not {shorten(resource)}")
        return started(self._within(resource, host, each))

    def _within(self, resource: AbstractContextManager[Any], host: Host, each: int) -> Elements:
        with resource as entered:
            flow = require_publisher("using", self._flow_factory(entered))
            elements = opened(flow, host, each)
            try:
                yield None
                yield from elements
            finally:
                close(elements)

    async def _feed_within(self, resource: AbstractAsyncContextManager[Any], feed: Feed) -> None:
        from penstock.flow.awaiting import elements_of

        async with resource as entered:
            flow = require_publisher("using", self._flow_factory(entered))
            async with aclosing(elements_of(flow, wanted=1)) as elements:
                await feed.give_all(elements)
