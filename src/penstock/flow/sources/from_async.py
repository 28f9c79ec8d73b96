"""Flows from what is awaited: elements that a coroutine makes, within demand."""

from __future__ import annotations

import inspect
from asyncio import CancelledError, Future, Task, current_task, isfuture, shield, sleep
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

from penstock.api import UNBOUNDED
from penstock.flow.engine.awaiting import AwaitingContext
from penstock.flow.engine.event_loop import call_on, event_loop
from penstock.flow.engine.prefetch_subscriber import PREFETCH, PrefetchSubscriber
from penstock.flow.engine.run_context import (
    PENDING,
    Elements,
    RunContext,
    WaitState,
    started,
)
from penstock.flow.engine.stage import Origin
from penstock.rules import cite
from penstock.runtime import report_undelivered, shorten

__all__ = [
    "CoroutineSubscription",
    "FromAsyncIterable",
    "FromAwaitable",
    "close_iterator",
    "from_coroutine",
    "iterated",
]

TURN: Final = 256
"""How many elements are made before others get a turn on the loop."""
STOPPING: Final[set[Task[None]]] = set()
"""Tasks that clean up after a cancel: only their loop knows them then, by weak references."""

Feeding: TypeAlias = "Callable[[CoroutineSubscription], Awaitable[None]]"
"""A coroutine function that gives elements to a feed; one is wanted when it starts."""


def from_coroutine(
    coroutine: Feeding,
    operator: str,
    run: RunContext,
    per_output: int,
    prefetch: int = PREFETCH,
    most: int = UNBOUNDED,
) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the thread of the run's loop."""
    subscriber = PrefetchSubscriber(run, per_output, prefetch, most)
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
        self._closing = False
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

    async def close(self, elements: AsyncIterator[Any]) -> None:
        """Close the iterator, as the last thing to do: nobody cancels the coroutine any more."""
        self._closing = True
        await close_iterator(elements)

    async def _more(self) -> None:
        """Wait until another element is wanted; cancelled if that will never be."""
        try:
            while True:
                self._waiter = self._loop.create_future()
                # Checked now that others see that we wait, and whenever we are woken: it may be for
                # a request that was seen, and served, before (1.1).
                if self._given < self._requested and not self._cancelled:
                    return
                await self._waiter
        finally:
            self._waiter = None

    def _start(self) -> None:
        if not self._cancelled:
            self._task = self._loop.create_task(self._feed())
            self._run.leave_after(self._task)

    def _go_on(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _stop(self) -> None:
        task = self._task
        if task is None:
            return
        STOPPING.add(task)
        task.add_done_callback(STOPPING.discard)
        if not (self._closing or task.cancelling()):
            task.cancel()

    async def _feed(self) -> None:
        try:
            await self._coroutine(self)
        except CancelledError as error:
            if not self._cancelled:
                self._subscriber.on_error(cancelled_elsewhere(error))
        except Exception as error:
            if self._cancelled:
                report_closing(error)
            else:
                self._subscriber.on_error(error)
        else:
            self._subscriber.on_complete()


def cancelled_elsewhere(cause: CancelledError) -> RuntimeError:
    """The error of a source that was cancelled by other code than the flow."""
    error = RuntimeError("the task that made the elements was cancelled")
    error.__cause__ = cause
    return error


def report_closing(error: Exception) -> None:
    """The one who cancels must not suffer from a source that cannot be closed (3.15)."""
    report_undelivered(error, cite("3.15", "closing the source of a stream raised"))


class FromAsyncIterable(Origin):
    """The elements of an asynchronous iterable, iterated on the thread of the run's loop."""

    def __init__(self, iterable: AsyncIterable[Any], prefetch: int) -> None:
        super().__init__("from_async_iterable")
        self._iterable = iterable
        self._prefetch = prefetch

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Iterate once something is wanted."""
        return iterated(self._iterable, self, run, per_output, self._prefetch)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """The same, and advance no more often than ``most`` times."""
        return iterated(self._iterable, self, run, per_output, self._prefetch, most)


def iterated(
    iterable: AsyncIterable[Any],
    origin: Origin,
    run: RunContext,
    per_output: int,
    prefetch: int = 1,
    most: int = UNBOUNDED,
) -> Elements:
    """The elements of an asynchronous iterable, for ``origin``, at most ``prefetch`` ahead.

    A task in which nothing else waits iterates itself; for any other run there is another task.
    """
    if prefetch == 1 and isinstance(run, AwaitingContext) and run.waits_only_for(origin):
        iteration = IterationInTask(iterable, run)
        run.wait_for(iteration)
        return iteration.elements()
    feeding = partial(feed_all, iterable)
    return from_coroutine(feeding, origin.name, run, per_output, prefetch, most)


async def feed_all(iterable: AsyncIterable[Any], feed: CoroutineSubscription) -> None:
    """Give all elements of an asynchronous iterable, and close its iterator."""
    iterator = aiter(iterable)
    try:
        await feed.give_all(iterator)
    finally:
        await feed.close(iterator)


async def close_iterator(iterator: object) -> None:
    """Close an asynchronous iterator, if it can be closed."""
    aclose = getattr(iterator, "aclose", None)
    if aclose is not None:
        await aclose()


class IterationInTask:
    """An asynchronous iterable that the task of a run advances itself, once for each pull.

    So it costs no other task, and no turn of the loop but what the iterable itself waits for.
    """

    def __init__(self, iterable: AsyncIterable[Any], run: AwaitingContext) -> None:
        self._iterable = iterable
        self._iterator: AsyncIterator[Any] | None = None
        self._run = run
        self._came: list[Any] = []
        self._given = 0
        self._ended = False
        self._error: Exception | None = None

    def wait_state(self, operator: str | None) -> WaitState:
        """How many elements have come."""
        came = self._given + len(self._came)
        return WaitState(
            operator,
            "waits for its publisher",
            requested=self._given + 1,
            delivered=came,
            buffered=came - self._given,
            capacity=1,
            ended=self._ended,
        )

    def elements(self) -> Elements:
        """What has come, for the stage downstream."""
        return started(self._elements())

    def _elements(self) -> Elements:
        came = self._came
        self._run.waiting_at[self] = self._run.opening
        try:
            yield None
            while not self._ended:
                if came:
                    self._given += 1
                    yield came.pop()
                else:
                    yield PENDING
            if self._error is not None:
                raise self._error
        finally:
            self._error = None  # whose traceback has this frame
            self._run.waiting_at.pop(self, None)

    async def advance(self) -> None:
        """Wait for the next element, or the end."""
        if self._given % TURN == 0:
            await sleep(0)
        try:
            if self._iterator is None:
                self._iterator = aiter(self._iterable)
            self._came.append(await anext(self._iterator))
        except StopAsyncIteration:
            self._ended = True
        except CancelledError as error:
            task = current_task()
            if task is None or task.cancelling():
                raise
            self._fail(cancelled_elsewhere(error))
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._ended = True

    async def aclose(self) -> None:
        """Close the iterator, and wait until it is closed."""
        if getattr(self._iterator, "ag_running", False):
            return  # another task closes it
        try:
            await close_iterator(self._iterator)
        except Exception as error:
            report_closing(error)


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
