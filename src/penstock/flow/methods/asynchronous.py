"""Awaiting: elements that coroutines make."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import (
    require_async_iterable,
    require_awaitable,
    require_awaiting_function,
)
from penstock.runtime.arguments import require_flag, require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Asynchronous"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Asynchronous(BaseFlow[T_co]):
    """What needs an asyncio loop.

    It is the loop that runs where the flow is subscribed to. ``run_sync`` and ``blocking`` bring
    one of their own. Parts that need asyncio are imported when the first of them is made.
    """

    __slots__ = ()

    @staticmethod
    def from_async_iterable(iterable: AsyncIterable[T], *, prefetch: int = 1) -> Flow[T]:
        """The elements of an asynchronous iterable, which is iterated again for each subscriber.

        It runs in a task of its own, with the context variables of the subscriber; or in the task
        that awaits or iterates the flow, if nothing else in that waits. Its iterator is closed by
        ``aclose``, if it has that, wherever the iteration ends: also an asynchronous generator that
        was handed in, which can be iterated by one subscriber only.

        A higher ``prefetch`` lets it run ahead, which is faster under ``run_sync`` and
        ``blocking``. When the flow is left, the elements that were read ahead are lost, and a
        generator may be cancelled in its ``finally``.

        Emits when: the iterable gives an element.
        Backpressures when: nothing is wanted; the iterable is not advanced.
        Completes when: the iterable ends.
        Cancels when: the subscriber does; the task is cancelled, and the iterator closed.

        Demand: as much as is wanted, at most ``prefetch`` at a time: by default an element is read
        when the one before it has been taken.

        Errors: what the iterable raises. ``RuntimeError`` if there is no asyncio loop, or if it is
        closed.

        Example:
            >>> async def countdown():
            ...     for number in (3, 2, 1):
            ...         yield number
            >>> Flow.from_async_iterable(countdown()).to_list().run_sync()
            [3, 2, 1]

        Marble:
            a-b-c|
            Flow.from_async_iterable(flow)
            a-b-c|
        """
        from penstock.flow.sources.from_async import FromAsyncIterable

        return BaseFlow._from(
            FromAsyncIterable(
                require_async_iterable("from_async_iterable", iterable),
                require_int("from_async_iterable", "prefetch", prefetch),
            )
        )

    @staticmethod
    def from_awaitable(
        awaitable: Awaitable[T | None] | Callable[[], Awaitable[T | None]],
    ) -> Flow[T]:
        """What an awaitable gives, or a function that makes an awaitable for each subscriber.

        A coroutine can be awaited by one subscriber only. A future, or a task, goes on when the
        subscriber cancels, since others may wait for it; anything else is cancelled.

        Emits when: the result is there.
        Backpressures when: nothing is wanted; nothing is awaited.
        Completes when: the result is delivered, or is ``None``.
        Cancels when: the subscriber does.

        Demand: exact.

        Errors: what the awaitable raises. ``RuntimeError`` if there is no asyncio loop, if it is
        closed, or for a coroutine that was awaited before.

        Example:
            >>> async def answer():
            ...     return 42
            >>> Flow.from_awaitable(answer).run_sync()
            42

        Marble:
            Flow.from_awaitable(lambda: Flow.of('a').delay(2, clock=time))
            --(a|)
        """
        from penstock.flow.sources.from_async import FromAwaitable

        return BaseFlow._from(FromAwaitable(require_awaitable("from_awaitable", awaitable)))

    def map_async(
        self,
        function: Callable[[T_co], Awaitable[R]],
        *,
        concurrency: int = 1,
        ordered: bool = True,
    ) -> Flow[R]:
        """What the coroutine function ``function`` returns for each element.

        With a higher ``concurrency`` that many calls are awaited at once, and some are ahead of
        demand. The results keep the order of the elements, or come as they are ready, if not
        ``ordered``. Calls run in tasks, with the context variables of the subscriber.

        Emits when: the next call has returned.
        Backpressures when: ``concurrency`` calls go on, or their results wait to be taken. Then
        nothing is pulled, and what counts time upstream stands still, as for ``concat_map``.
        Completes when: upstream completes and all results are delivered.
        Cancels when: the subscriber does, or a call raises; the other calls are cancelled, and only
        a flow that is awaited, iterated or run waits until they are done.

        Demand: ``concurrency`` elements at a time, while anything is wanted.

        Errors: what ``function`` raises, after the results that belong before it.
        ``TypeError`` if what it returns cannot be awaited. ``RuntimeError`` if there is no asyncio
        loop, or if it is closed.

        Example:
            >>> async def double(x):
            ...     return x * 2
            >>> Flow.range(4).map_async(double, concurrency=2).to_list().run_sync()
            [0, 2, 4, 6]

        Marble:
            abc-------|
            flow.map_async(lambda x: Flow.of(x).delay(3, clock=time), concurrency=2)
            ---ab-c---|
        """
        from penstock.flow.operators.map_async import MapAsync

        return self._then(
            MapAsync(
                require_awaiting_function("map_async", function),
                require_int("map_async", "concurrency", concurrency),
                ordered=require_flag("map_async", "ordered", ordered),
            )
        )
