"""Flows from what is awaited: elements that a coroutine makes, within demand."""

from __future__ import annotations

import inspect
from asyncio import CancelledError, Future, Task, isfuture, shield, sleep
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeAlias

from penstock.flow.engine.event_loop import call_on, event_loop
from penstock.flow.engine.prefetch_subscriber import PREFETCH, PrefetchSubscriber
from penstock.flow.engine.run_context import Elements, PullingContext, RunContext
from penstock.flow.engine.stage import Origin
from penstock.rules import cite
from penstock.runtime import report_undelivered, shorten

__all__ = [
    "CoroutineSubscription",
    "FromAsyncIterable",
    "FromAwaitable",
    "from_coroutine",
]

TURN: Final = 256
"""How many elements are made before others get a turn on the loop."""

Feeding: TypeAlias = "Callable[[CoroutineSubscription], Awaitable[None]]"
"""A coroutine function that gives elements to a feed; one is wanted when it starts."""


def from_coroutine(
    coroutine: Feeding, operator: str, run: RunContext, per_output: int, prefetch: int = PREFETCH
) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the thread of the run's loop."""
    subscriber = PrefetchSubscriber(run, per_output, prefetch)
    subscriber.on_subscribe(CoroutineSubscription(operator, coroutine, subscriber, run))
    return subscriber.elements()


class CoroutineSubscription:
    """The subscription to a coroutine, which starts with the first request.

    The coroutine counts what it gives, on the loop's thread; requests are counted on the thread
    that makes them, perhaps another one, and let the coroutine go on where it waits.
    """

    def __init__(
        self, operator: str, coroutine: Feeding, subscriber: PrefetchSubscriber, run: RunContext
    ) -> None:
        self._coroutine = coroutine
        self._subscriber = subscriber
        self._run = run
        self._loop = event_loop(operator)
        self._task: Task[None] | None = None
        self._waiter: Future[None] | None = None
        self._cancelled = False
        self._requested = 0
        self._given = 0

    def request(self, n: int) -> None:
        """Let the coroutine go on for ``n`` more elements."""
        first = not self._requested
        self._requested += n
        if first or self._waiter is not None:
            try:
                call_on(self._loop, self._start if first else self._go_on)
            except RuntimeError as error:
                self._subscriber.on_error(error)

    def cancel(self) -> None:
        """Stop the coroutine where it is."""
        self._cancelled = True
        if self._requested:
            try:
                call_on(self._loop, self._stop)
            except RuntimeError:
                pass  # the loop is closed, so the coroutine does not go on

    def give(self, element: object) -> None:
        """Pass an element on; one must be wanted."""
        self._given += 1
        self._subscriber.on_next(element)

    async def give_all(self, elements: AsyncIterator[Any]) -> None:
        """Pass all elements on, and advance the iterator only when one is wanted."""
        async for element in elements:
            self.give(element)
            if self._given >= self._requested or self._cancelled:
                await self._more()
            elif self._given % TURN == 0:
                await sleep(0)

    async def _more(self) -> None:
        """Wait until another element is wanted; cancelled if that will never be."""
        self._waiter = self._loop.create_future()
        try:
            # Checked again, now that others see that we wait.
            if self._given >= self._requested or self._cancelled:
                await self._waiter
        finally:
            self._waiter = None

    def _start(self) -> None:
        if not self._cancelled:
            self._task = self._loop.create_task(self._feed())
            run = self._run.whole
            if isinstance(run, PullingContext):  # a subscriber does not wait
                run.leave_after(self._task)

    def _go_on(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _feed(self) -> None:
        try:
            await self._coroutine(self)
        except CancelledError as error:
            if not self._cancelled:
                failure = RuntimeError("the task that made the elements was cancelled")
                failure.__cause__ = error
                self._subscriber.on_error(failure)
        except Exception as error:
            if self._cancelled:
                # 3.15: the caller of cancel must not suffer from a source that cannot be closed.
                report_undelivered(error, cite("3.15", "closing the source of a stream raised"))
            else:
                self._subscriber.on_error(error)
        else:
            self._subscriber.on_complete()


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
