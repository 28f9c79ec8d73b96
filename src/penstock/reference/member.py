"""One subscriber of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from penstock.api import Subscriber
from penstock.demand import COMPLETED, Outlet
from penstock.runtime import Executor, NewLock

if TYPE_CHECKING:
    from penstock.reference.broadcast import Broadcast

__all__ = ["Member", "for_each"]

T = TypeVar("T")


class Member(Outlet[T]):
    """One subscriber of a broadcast."""

    __slots__ = ("_hub", "_joined_at", "_subscriber_id", "position")

    def __init__(
        self,
        subscriber: Subscriber[T],
        hub: Broadcast[T],
        position: int,
        executor: Executor | None,
        new_lock: NewLock,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._hub = hub
        self._joined_at = position
        self._subscriber_id = id(subscriber)
        self.position = position

    def wake(self) -> None:
        """There may be something to do, here or, since this member has demand, in front."""
        super().wake()
        if self._executor is None:
            self._hub.ask_if_thirsty()  # now that nobody is within this drain

    @property
    def wanted_until(self) -> int:
        """The position behind the last element that was requested."""
        return self._joined_at + self.demand.requested

    @property
    def hub(self) -> Broadcast[T]:
        """Where its elements come from."""
        return self._hub

    # What a hub calls that holds this drain, to signal the subscriber itself.

    @property
    def call(self) -> Callable[[T], None]:
        """What takes an element."""
        return self._subscriber.on_next

    def can_take_from(self, position: int) -> bool:
        """Whether this member has all elements in front of ``position`` and wants the next one."""
        opened = not self._waiting_to_open and self._wanted
        return opened and self.position == position and self.demand.outstanding > 0

    def begin_at(self, position: int) -> None:
        """Start there: nothing has been taken yet."""
        self._joined_at = self.position = position

    def blame(self, error: Exception) -> None:
        """The subscriber raised ``error`` in ``on_next``."""
        self._blame("on_next", error)
        self._hub.disturb()
        self.wake()

    def _leave(self, mark: Exception) -> bool:
        left = super()._leave(mark)
        self._hub.disturb()
        return left

    def _serve(self) -> None:
        elements = self._hub.read(self)
        sent = self._emit(elements) if elements else 0
        ending = self._hub.has_taken(self, sent)
        if ending is COMPLETED:
            self._complete()
        elif ending is not None:
            self._fail(ending)
        elif self._wanted and self._executor is not None:
            self._hub.ask_if_thirsty()

    def _release(self) -> None:
        self._hub.leave(self, self._subscriber_id)


def for_each(members: list[Member[T]], call: Callable[[Member[T]], object]) -> None:
    """Call for all members, even if a ``KeyboardInterrupt`` comes out of one of them."""
    interrupt: BaseException | None = None
    for member in members:
        try:
            call(member)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
