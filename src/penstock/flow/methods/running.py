"""Running a flow."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.blocking import Blocking, result_of
from penstock.runtime.arguments import require_int

__all__ = ["Running"]

T_co = TypeVar("T_co", covariant=True)


class Running(BaseFlow[T_co]):
    """How a flow is run, and what it gives.

    ``await flow`` gives its only element, or ``None``. ``async for x in flow`` gives one element
    after the other. Both run the flow in the task that awaits, and cancel it when that is left.
    That waits until what is asynchronous in the flow has cleaned up, and so do ``run_sync`` and
    ``blocking``; what other runs share goes on. ``async for`` reads as far ahead as ``blocking``
    does without ``prefetch``.
    """

    __slots__ = ()

    def run_sync(self) -> T_co | None:
        """Run the flow and wait for its end; the last element, or ``None`` if there was none.

        A flow that needs an asyncio loop gets one of its own for this run.

        Emits when: it does not emit, it returns.
        Backpressures when: never, it asks for all elements.
        Completes when: it returns at the end of the flow.
        Cancels when: the waiting thread is interrupted.

        Demand: asks for all elements.

        Errors: raises what the flow failed with. ``RuntimeError`` if it would have to wait on a
        thread where an asyncio loop runs; use ``await flow`` there.

        Example:
            >>> Flow.range(5).run_sync()
            4
        """
        result: T_co | None = result_of(self)
        return result

    def blocking(self, prefetch: int | None = None) -> Blocking[T_co]:
        """An iterator that runs the flow on the thread that iterates, and waits for each element.

        A flow that needs an asyncio loop gets one of its own for this run, which goes on while the
        iterator waits.

        Emits when: an element is taken from the iterator.
        Backpressures when: as many elements wait to be taken as may, see below.
        Completes when: the iterator ends with the flow.
        Cancels when: the loop over the iterator is left, its ``with`` block ends, or the waiting
        thread is interrupted.

        Demand: at most ``prefetch`` elements ahead of what is taken, where they come from
        elsewhere. Without ``prefetch`` it is 256; where the flow has an executor, by
        ``subscribe_on`` or ``publish_on``, twice as many whenever all of them were taken and the
        iterator had to wait for more, up to 4,096.

        Errors: raises what the flow failed with. ``RuntimeError`` if it would have to wait on a
        thread where an asyncio loop runs; use ``async for`` there.

        Example:
            >>> for x in Flow.range(100).blocking():
            ...     if x == 3:
            ...         break
            >>> x
            3
        """
        size = None if prefetch is None else require_int("blocking", "prefetch", prefetch)
        return Blocking(self, size)

    if not TYPE_CHECKING:  # a type checker is to see that a flow is no iterable

        def __iter__(self):
            raise TypeError(
                "a flow is not iterable, since its elements may come later: write "
                "`for x in flow.blocking()` to wait for each of them on this thread, or "
                "`async for x in flow` in a coroutine"
            )

    def __await__(self) -> Generator[Any, None, T_co | None]:
        from penstock.flow.engine.awaiting import awaited

        return awaited(self).__await__()

    def __aiter__(self) -> AsyncGenerator[T_co, None]:
        from penstock.flow.engine.awaiting import elements_of

        return elements_of(self)
