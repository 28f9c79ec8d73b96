"""Flows from what is awaited."""

from __future__ import annotations

import inspect
from asyncio import isfuture, shield
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from penstock.demand import shorten
from penstock.flow.elements import Elements, Host
from penstock.flow.sources.feed import Feed, fed_by
from penstock.flow.stage import Origin

__all__ = ["FromAsyncIterable", "FromAwaitable"]


class FromAsyncIterable(Origin):
    """The elements of an asynchronous iterable."""

    def __init__(self, iterable: AsyncIterable[Any], prefetch: int) -> None:
        super().__init__("from_async_iterable")
        self._iterable = iterable
        self._prefetch = prefetch

    def open(self, host: Host, each: int) -> Elements:
        """Iterate in a task, once something is wanted."""
        return fed_by(self._feed, self.name, host, each, self._prefetch)

    async def _feed(self, feed: Feed) -> None:
        iterator = aiter(self._iterable)
        try:
            await feed.give_all(iterator)
        finally:
            aclose = getattr(iterator, "aclose", None)
            if aclose is not None:
                await aclose()


class FromAwaitable(Origin):
    """What an awaitable gives, unless that is ``None``."""

    def __init__(self, awaitable: Awaitable[Any] | Callable[[], Awaitable[Any]]) -> None:
        super().__init__("from_awaitable")
        self._awaitable = awaitable

    def open(self, host: Host, each: int) -> Elements:
        """Await in a task, once something is wanted."""
        return fed_by(self._feed, self.name, host, each)

    async def _feed(self, feed: Feed) -> None:
        result = await self._for_one_subscriber()
        if result is not None:
            feed.give(result)

    def _for_one_subscriber(self) -> Awaitable[Any]:
        given = self._awaitable
        if isfuture(given):
            return shield(given)  # it belongs to whoever made it: cancelling us does not cancel it
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
