"""Other threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from penstock.flow.arguments import require_executor, require_size
from penstock.flow.fluent import Fluent
from penstock.flow.intake import PREFETCH
from penstock.flow.operators.hops import PublishOn, SubscribeOn
from penstock.runtime import Executor

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Boundary"]

T_co = TypeVar("T_co", covariant=True)


class Boundary(Fluent[T_co]):
    """What moves work to other threads, or to an event loop."""

    __slots__ = ()

    def publish_on(self, executor: Executor, prefetch: int = PREFETCH) -> Flow[T_co]:
        """The same elements; all that follows runs on ``executor``.

        Emits when: an element has crossed over and one is wanted.
        Backpressures when: ``prefetch`` elements wait to be taken on the other side.
        Completes when: the flow in front does and all its elements are delivered.
        Cancels when: the subscriber does, or ``executor`` takes no more tasks.

        Demand: ``prefetch`` elements ahead of what is wanted, replenished when three quarters of
        them are taken.

        Errors: those from in front, behind the elements that came before them. ``RuntimeError``
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
        size = require_size("publish_on", "prefetch", prefetch)
        return Fluent._from(PublishOn(self, require_executor("publish_on", executor), size))

    def subscribe_on(self, executor: Executor) -> Flow[T_co]:
        """The same elements; what stands in front, up to the next boundary, runs on ``executor``.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: the flow in front does.
        Cancels when: the subscriber does, or ``executor`` takes no more tasks.

        Demand: passes through as it is.

        Errors: those from in front. ``RuntimeError`` if ``executor`` takes no more tasks.

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
        return Fluent._from(SubscribeOn(self, require_executor("subscribe_on", executor)))
