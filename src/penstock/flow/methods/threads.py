"""Threads: where elements are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.operators.threads import PublishOn, SubscribeOn
from penstock.runtime import Executor
from penstock.runtime.arguments import require_executor, require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Threads"]

T_co = TypeVar("T_co", covariant=True)


class Threads(BaseFlow[T_co]):
    """What moves work to other threads, or to an event loop."""

    __slots__ = ()

    def publish_on(self, executor: Executor, prefetch: int | None = None) -> Flow[T_co]:
        """The same elements; all that follows runs on ``executor``.

        Emits when: an element has crossed over and one is wanted.
        Backpressures when: as many elements wait to be taken on the other side as may, see below.
        Completes when: upstream completes and all its elements are delivered.
        Cancels when: the subscriber does, or ``executor`` takes no more tasks.

        Demand: ``prefetch`` elements ahead of what is wanted, replenished when three quarters of
        them are taken. Without ``prefetch`` it is 256, and twice as many whenever ``executor`` had
        taken all of them and had to wait for more, up to 4,096.

        Errors: those from upstream, after the elements that came before them. ``RuntimeError``
        if ``executor`` takes no more tasks.

        Example:
            >>> from penstock import ThreadPool
            >>> with ThreadPool() as threads:
            ...     Flow.range(3).publish_on(threads).to_list().run_sync()
            [0, 1, 2]

        Marble:
            a-b-c|
            flow.publish_on(time)
            a-b-c|
        """
        size = None if prefetch is None else require_int("publish_on", "prefetch", prefetch)
        return BaseFlow._from(PublishOn(self, require_executor("publish_on", executor), size))

    def subscribe_on(self, executor: Executor) -> Flow[T_co]:
        """The same elements; everything upstream, up to the next boundary, runs on ``executor``.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``executor`` takes no more tasks.

        Demand: passes through as it is.

        Errors: those from upstream. ``RuntimeError`` if ``executor`` takes no more tasks.

        Example:
            >>> from penstock import ThreadPool
            >>> with ThreadPool() as threads:
            ...     Flow.range(3).subscribe_on(threads).to_list().run_sync()
            [0, 1, 2]

        Marble:
            a-b-c|
            flow.subscribe_on(time)
            a-b-c|
        """
        return BaseFlow._from(SubscribeOn(self, require_executor("subscribe_on", executor)))
