"""One subscriber of several, and the buffer from which each takes elements at its own pace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.api import Subscriber
from penstock.core import COMPLETED, BaseSubscription
from penstock.core.drain import AGAIN, IDLE, RUNNING
from penstock.flow.engine.run_context import RunContext, RunPart
from penstock.runtime import Executor, NewLock

if TYPE_CHECKING:
    from penstock.flow.multicast.broadcast import Broadcast

__all__ = [
    "BroadcastSubscription",
    "SharedBuffer",
    "for_each",
]

T = TypeVar("T")


class BroadcastSubscription(BaseSubscription[T], RunPart):
    """The subscription of one subscriber to a broadcast.

    Signals the subscriber on the executor of the broadcast; without one, on the thread that wakes
    it: one that requests, or the one that brings an element.
    """

    __slots__ = ("_broadcast", "part_of", "position", "subscriber_id")

    def __init__(
        self,
        subscriber: Subscriber[T],
        broadcast: Broadcast[T],
        position: int,
        executor: Executor | None,
        new_lock: NewLock,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._broadcast = broadcast
        self.subscriber_id = id(subscriber)
        self.position = position
        self.part_of: RunContext | None = None

    def take_part_in(self, run: RunContext) -> None:
        """The subscriber is a part of ``run``, which may have to wait when it leaves."""
        self.part_of = run

    def wake(self) -> None:
        """There may be something to do here or, as this subscription has demand, upstream."""
        if self._executor is not None:
            super().wake()
        elif self._progress != AGAIN:  # else the thread that runs it asks
            self._run_here()
            if self._broadcast.thirsty:
                self._broadcast.wake()  # now that nobody is within this drain

    @property
    def broadcast(self) -> Broadcast[T]:
        """Where its elements come from."""
        return self._broadcast

    # What a shared run calls while it holds this drain, to signal the subscriber itself.

    @property
    def call(self) -> Callable[[T], None]:
        """The method of the subscriber that takes an element."""
        return self._subscriber.on_next

    def hold_at(self, position: int) -> bool:
        """Hold the drain if it has taken all elements before ``position`` and wants the next one.

        One that was not told of its subscription yet is told by the thread that subscribes.
        """
        with self._progress_lock:  # all this changes within the drain, or while this is held
            at_rest = self._progress == IDLE and not self._waiting_to_open and self._mark is None
            if at_rest and self.position == position and self.demand.outstanding:
                self._progress = RUNNING
                return True
            return False

    def complete(self) -> None:
        """It was given all elements, and is left to be removed; its drain has no more to do."""
        self._released = True
        self._complete()

    def blame(self, error: Exception) -> None:
        """The subscriber raised ``error`` in ``on_next``."""
        self._blame("on_next", error)
        self._broadcast.disturb()
        self.wake()

    def _leave(self, mark: Exception) -> bool:
        left = super()._leave(mark)
        self._broadcast.disturb()
        if left:
            self._broadcast.is_being_left()
        return left

    @property
    def is_leaving(self) -> bool:
        """Whether it takes no more elements, be it that its subscriber is still in a signal."""
        return not self._wanted

    def _serve(self) -> None:
        broadcast = self._broadcast
        sent = self._emit(broadcast.read(self)) if broadcast.kept.elements else 0
        ending = broadcast.has_taken(self, sent)
        if ending is COMPLETED:
            self._complete()
        elif ending is not None:
            self._fail(ending)
        elif self._executor is not None and self._wanted and broadcast.thirsty:
            broadcast.wake()

    def _release(self) -> None:
        self._broadcast.leave((self,))


def for_each(
    subscriptions: list[BroadcastSubscription[T]],
    call: Callable[[BroadcastSubscription[T]], object],
) -> None:
    """Call for all subscriptions, even if a ``KeyboardInterrupt`` comes out of one of them."""
    interrupt: BaseException | None = None
    for subscription in subscriptions:
        try:
            call(subscription)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


class SharedBuffer(Generic[T]):
    """A window of a stream: from the oldest element that a reader still needs to the newest.

    Positions count from the start of the stream. What all readers have passed is dropped; while
    there is no reader, everything is kept for the next one. Not thread-safe: the owner locks.
    """

    __slots__ = ("_readers_at", "elements", "oldest")

    def __init__(self) -> None:
        self.elements: list[T] = []
        self._readers_at: dict[int, int] = {}
        self.oldest = 0

    @property
    def end(self) -> int:
        """The position after the newest element."""
        return self.oldest + len(self.elements)

    def append(self, element: T) -> None:
        """Add the newest element."""
        self.elements.append(element)

    def join(self, position: int, readers: int = 1) -> None:
        """A reader starts at ``position``, or several do."""
        self._readers_at[position] = self._readers_at.get(position, 0) + readers

    def read(self, position: int, most: int) -> list[T]:
        """The elements from ``position`` on, at most ``most`` of them; they stay."""
        start = position - self.oldest
        return self.elements[start : start + most]

    def move(self, position: int, to: int, readers: int = 1) -> None:
        """A reader moves on from ``position``, or several do."""
        if to != position:
            self.join(to, readers)
            self.leave(position, readers)

    def leave(self, position: int, readers: int = 1) -> None:
        """The readers at ``position`` need nothing more from there."""
        if self._readers_at[position] > readers:
            self._readers_at[position] -= readers
            return
        del self._readers_at[position]
        if position == self.oldest:
            self._drop_what_nobody_needs()

    def _drop_what_nobody_needs(self) -> None:
        needed = min(self._readers_at, default=self.oldest)
        del self.elements[: needed - self.oldest]
        self.oldest = needed

    def __len__(self) -> int:
        return len(self.elements)
