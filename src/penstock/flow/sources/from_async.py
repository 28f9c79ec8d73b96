"""Flows from what is awaited."""

from __future__ import annotations

import inspect
from asyncio import isfuture, shield
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.flow.sources.from_coroutine import CoroutineSubscription, from_coroutine
from penstock.runtime import shorten

__all__ = ["FromAsyncIterable", "FromAwaitable"]


class FromAsyncIterable(Origin):
    """The elements of an asynchronous iterable, iterated on the thread of the run's loop."""

    def __init__(self, iterable: AsyncIterable[Any], prefetch: int) -> None:
        super().__init__("from_async_iterable")
        self._iterable = iterable
        self._prefetch = prefetch

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Iterate in a task, once something is wanted."""
        return from_coroutine(self._feed, self.name, run, per_output, self._prefetch)

    async def _feed(self, feed: CoroutineSubscription) -> None:
        iterator = aiter(self._iterable)
        try:
            await feed.give_all(iterator)
        finally:
            aclose = getattr(iterator, "aclose", None)
            if aclose is not None:
                await aclose()


class FromAwaitable(Origin):
    """What an awaitable gives, unless that is ``None``; on the thread of the run's loop."""

    def __init__(self, awaitable: Awaitable[Any] | Callable[[], Awaitable[Any]]) -> None:
        super().__init__("from_awaitable")
        self._awaitable = awaitable

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Await in a task, once something is wanted."""
        return from_coroutine(self._feed, self.name, run, per_output)

    async def _feed(self, feed: CoroutineSubscription) -> None:
        result = await self._for_one_subscriber()
        if result is not None:
            feed.give(result)

    def _for_one_subscriber(self) -> Awaitable[Any]:
        given = self._awaitable
        if isfuture(given):
            return shield(given)  # it belongs to its maker: our cancellation does not cancel it
        if inspect.iscoroutine(given) and inspect.getcoroutinestate(given) != inspect.CORO_CREATED:
            raise RuntimeError(
                "from_awaitable was given a coroutine, which can be awaited once only; "
                "for several subscribers give the function that makes it"
            )
        if inspect.isawaitable(given):
            return given
        assert callable(given)
        made = given()
        if not inspect.isawaitable(made):
            raise TypeError(
                f"from_awaitable: the function returned {shorten(made)}, which cannot be awaited; "
                "use from_callable"
            )
        return made
