"""A processor that passes on what it receives."""

from __future__ import annotations

from typing import Generic, TypeVar

from penstock.api import Subscriber, Subscription
from penstock.core.base_subscriber import BaseSubscriber
from penstock.core.base_subscription import COMPLETED, BaseSubscription, Rejection
from penstock.core.buffer import BoundedBuffer
from penstock.core.checks import require_element, require_error, require_subscriber
from penstock.rules import cite
from penstock.runtime import Executor, NewLock
from penstock.runtime.arguments import require_executor
from penstock.runtime.executor import ReentrantLock

__all__ = ["IdentityProcessor"]

T = TypeVar("T")


class IdentityProcessor(Generic[T]):
    """Passes elements on to one subscriber, in order, within its demand.

    It asks upstream for no more than was asked of it, and for at most ``capacity`` at a time, so
    that is also the most it ever holds. An error from upstream is passed on at once, ahead of what
    it holds. A second subscriber is refused with ``RuntimeError``. It signals the subscriber on the
    executor; without one, on the thread that calls it from upstream or downstream.
    """

    def __init__(
        self,
        capacity: int = 256,
        *,
        executor: Executor | None = None,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        self._base_subscriber = BaseSubscriber(capacity, new_lock)
        self._buffer: BoundedBuffer[T] = BoundedBuffer(capacity, new_lock)
        self._executor = (
            None if executor is None else require_executor("IdentityProcessor", executor)
        )
        self._new_lock = new_lock
        self._passage: IdentitySubscription[T] | None = None
        self._taking_a_subscriber = new_lock()

    # 4.1: a publisher for downstream.

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Pass everything on to ``subscriber``, which must be the only one."""
        require_subscriber(subscriber)  # 1.9
        passage = IdentitySubscription(
            subscriber, self._base_subscriber, self._buffer, self._executor, self._new_lock
        )
        with self._taking_a_subscriber:
            first = self._passage is None
            if first:
                self._passage = passage
        if first:
            del subscriber  # 3.13: an error that somebody keeps may lead to this frame
            passage.wake()
        else:
            self._refuse(subscriber, self._passage)

    def _refuse(self, subscriber: Subscriber[T], passage: IdentitySubscription[T] | None) -> None:
        error = RuntimeError(cite("1.11", "this processor has its one subscriber already"))
        # The same subscriber again must not get two streams mixed up: its one stream ends (1.10).
        same = passage is not None and passage.serves(subscriber)
        if not (same and passage is not None and passage.fail_soon(error)):
            Rejection(subscriber, error, self._executor, self._new_lock).wake()

    # 4.1: a subscriber for upstream.

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; it is asked once there is demand from downstream."""
        if self._base_subscriber.accept(subscription):
            self._wake()

    def on_next(self, element: T) -> None:
        """Keep the element until it can be passed on, which mostly is at once."""
        require_element(element)
        if self._base_subscriber.admit():
            self._buffer.put(element)  # there is room for all that was asked for
        self._wake()

    def on_error(self, error: Exception) -> None:
        """Pass the error on."""
        require_error(error)
        self._base_subscriber.end(error)
        self._wake()

    def on_complete(self) -> None:
        """Pass the completion on, once the elements before it are gone."""
        self._base_subscriber.end(COMPLETED)
        self._wake()

    def _wake(self) -> None:
        if self._passage is not None:
            self._passage.wake()
        elif self._base_subscriber.ending is not None:
            self._base_subscriber.cancel()  # it sent what was not requested


class IdentitySubscription(BaseSubscription[T]):
    """From the buffer to the subscriber; all calls to either side come from its drain."""

    __slots__ = ("_base_subscriber", "_buffer")

    def __init__(
        self,
        subscriber: Subscriber[T],
        base_subscriber: BaseSubscriber,
        buffer: BoundedBuffer[T],
        executor: Executor | None,
        new_lock: NewLock,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._base_subscriber = base_subscriber
        self._buffer = buffer

    def _serve(self) -> None:
        if self._fail_with_upstream():
            return
        completed = self._base_subscriber.ending is COMPLETED  # first: then the buffer has the rest
        self._emit(self._buffer.take(self.demand.outstanding))
        if completed and not self._buffer:
            self._complete()
        elif self._wanted:
            self._base_subscriber.refill(wanted=self.demand.requested, taken=self.demand.delivered)
            self._fail_with_upstream()

    def _fail_with_upstream(self) -> bool:
        ending = self._base_subscriber.ending
        if ending is None or ending is COMPLETED:
            return False
        self._fail(ending)  # 4.2: at once, not after what is buffered
        return True

    def _release(self) -> None:
        self._base_subscriber.cancel()  # 2.6: nobody downstream wants elements any more
        self._buffer.take()
