"""A processor with many subscribers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from penstock.api import UNBOUNDED, Publisher, Subscriber, Subscription
from penstock.demand import (
    COMPLETED,
    Drain,
    Inlet,
    Rejection,
    require_element,
    require_error,
    require_subscriber,
    shorten,
)
from penstock.reference.kept_elements import KeptElements
from penstock.reference.member import Member, for_each
from penstock.rules import RuleViolation, cite
from penstock.runtime import Executor, NewLock, require_executor

__all__ = ["Broadcast", "BroadcastState"]

T = TypeVar("T")


class BroadcastState(Enum):
    """What a new subscriber of a ``Broadcast`` meets, always behind ``on_subscribe``."""

    ACTIVE = "elements"
    COMPLETED = "on_complete, at once"
    FAILED = "on_error with the error that ended the stream, at once"
    SHUT_DOWN = "on_error with a RuntimeError, at once"


ENDED: Final = (BroadcastState.COMPLETED, BroadcastState.FAILED)
"""What the stream above has ended with; what is kept is still to be taken."""


class Broadcast(Drain, Generic[T]):
    """Sends each element to all of its subscribers, in the same sequence, within their demand.

    An element is kept until the slowest subscriber has it, and no more than ``capacity`` are kept
    or on their way: the slowest subscriber sets the pace. Errors are passed on at once, ahead of
    elements that are still kept, unless told otherwise; completion follows the last element without
    another request. A subscriber that is subscribed already is refused: its stream ends with
    ``RuntimeError``.

    ``source``                a publisher to subscribe to when the first subscriber comes; without
                              one, somebody calls ``publisher.subscribe(broadcast)``
    ``eager``                 ask upstream for elements before a subscriber asks for them
    ``newcomers``             start with the ``"oldest"`` element that is still kept, or, if others
                              are there already, with the ``"next"`` one that comes
    ``takes_unasked``         keep elements that come without demand, as long as there is room
    ``errors_overtake``       pass an error on at once; otherwise behind the elements before it
    ``shuts_down_when_idle``  when the last subscriber has cancelled, cancel upstream and refuse
                              all further subscribers; ``keep_alive`` prevents it
    ``executor``              signal the subscribers from there

    As a drain it makes the calls to the upstream subscription, one at a time (rule 2.7).
    """

    def __init__(
        self,
        capacity: int = 256,
        *,
        source: Publisher[T] | None = None,
        eager: bool = False,
        newcomers: Literal["oldest", "next"] = "oldest",
        takes_unasked: bool = False,
        errors_overtake: bool = True,
        shuts_down_when_idle: bool = False,
        executor: Executor | None = None,
        new_lock: NewLock = threading.RLock,
    ) -> None:
        super().__init__(None, new_lock)
        if newcomers not in ("oldest", "next"):
            raise ValueError(f"newcomers must be 'oldest' or 'next', not {newcomers!r}")
        self._inlet = Inlet(capacity, new_lock)
        if source is not None and not isinstance(source, Publisher):
            raise TypeError(f"a source has a method subscribe; {source!r} has none")
        self._source = source
        self._eager = eager
        self._from_oldest = newcomers == "oldest"
        self._takes_unasked = takes_unasked
        self._errors_overtake = errors_overtake
        self._shuts_down_when_idle = shuts_down_when_idle
        self._member_executor = None if executor is None else require_executor(executor)
        self._new_lock = new_lock
        # All that follows is guarded by this lock, which is never held while calling out.
        self._lock = new_lock()
        self._state = BroadcastState.ACTIVE
        self._ending: Exception = COMPLETED
        self._kept: KeptElements[T] = KeptElements()
        self._members: dict[Member[T], None] = {}
        self._member_of: dict[int, Member[T]] = {}  # by the subscriber's id
        self._kept_alive = 0
        self._wanted_until = 0
        self._furthest = 0
        self._thirsty = False
        self._fresh = False

    @property
    def state(self) -> BroadcastState:
        """What the next subscriber would meet."""
        return self._state

    @contextmanager
    def keep_alive(self) -> Iterator[None]:
        """Counts as a subscriber when it comes to shutting down, for the time of a block."""
        with self._lock:
            self._kept_alive += 1
        try:
            yield
        finally:
            with self._lock:
                self._kept_alive -= 1
                self._shut_down_if_idle()
                self._forget_if_over()
            self.wake()

    # 4.1: a publisher to what is below.

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Add a subscriber, if there are elements to come for it."""
        require_subscriber(subscriber)  # 1.9
        with self._lock:
            twin = self._member_of.get(id(subscriber))
            if twin is not None and not twin.serves(subscriber):
                twin = None  # it belonged to another subscriber, gone by now, with the same id
            member = self._join(subscriber) if twin is None and self._has_elements else None
            source, self._source = (self._source, None) if member else (None, self._source)
        if member is not None:
            member.wake()
        elif twin is not None:
            self._refuse(twin, subscriber)
        else:
            self._reject(subscriber, self._ending)
        if source is not None:
            self._connect(source)

    # 4.1: a subscriber to what is above.

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; it is asked once somebody asks us."""
        if self._inlet.accept(subscription):
            self.wake()

    def on_next(self, element: T) -> None:
        """Keep the element and pass it on to all who have demand."""
        require_element(element)
        unasked = self._takes_unasked and len(self._kept) < self._inlet.capacity
        if self._inlet.admit(unasked=unasked):
            with self._lock:
                self._kept.append(element)
                self._fresh = True
        self.wake()

    def on_error(self, error: Exception) -> None:
        """Pass the error on to all."""
        require_error(error)
        self._inlet.end(error)
        self.wake()

    def on_complete(self) -> None:
        """Pass the completion on to each, once it has the last element."""
        self._inlet.end(COMPLETED)
        self.wake()

    # What members call, from within their drains.

    def read(self, member: Member[T]) -> list[T]:
        """The elements that ``member`` can take now; they are kept until it has them."""
        with self._lock:
            return self._kept.read(member.position, member.demand.outstanding)

    def has_taken(self, member: Member[T], elements: int) -> Exception | None:
        """``member`` has got so many elements; how the stream ended if nothing will follow them."""
        with self._lock:
            oldest, position = self._kept.oldest, member.position + elements
            if elements:
                self._kept.move(member.position, position)
                member.position = position
            wanted_until = member.wanted_until
            if (
                position > self._furthest
                or wanted_until > self._wanted_until
                or self._kept.oldest != oldest
            ):
                self._furthest = max(self._furthest, position)
                self._wanted_until = max(self._wanted_until, wanted_until)
                self._thirsty = True
            over = self._state in ENDED and position == self._kept.end
            return self._ending if over else None

    def ask_if_thirsty(self) -> None:
        """A member has made room or has new demand: ask upstream."""
        if self._thirsty:
            self.wake()

    def disturb(self) -> None:
        """A member is about to leave, or to be told something else than elements."""

    def leave(self, member: Member[T], subscriber_id: int) -> None:
        """``member`` takes no more elements."""
        with self._lock:
            del self._members[member]
            if self._member_of.get(subscriber_id) is member:
                del self._member_of[subscriber_id]
            oldest = self._kept.oldest
            self._kept.leave(member.position)
            if not self._members:
                self._wanted_until = self._kept.oldest  # nobody is left who wants anything
            self._shut_down_if_idle()
            self._forget_if_over()
            made_room = self._kept.oldest != oldest
        if made_room or not self._is_active:
            self.wake()

    # How it works.

    def _work(self) -> None:
        with self._lock:
            self._thirsty = False
            taken, furthest = self._kept.oldest, self._furthest
            wanted = UNBOUNDED if self._eager else self._wanted_until
        if self._is_active:
            self._inlet.refill(wanted=wanted, taken=taken, starving_at=furthest)
        if self._inlet.ending is not None:
            self._conclude(self._inlet.ending)
        if not self._is_active:
            self._inlet.cancel()  # 2.6
        self._pass_on()

    def _pass_on(self) -> None:
        """Wake the members that can take something."""
        if not self._fresh:
            return
        with self._lock:
            self._fresh = False
            members = [member for member in list(self._members) if member.demand.outstanding]
        for_each(members, Member.wake)

    @property
    def _is_active(self) -> bool:
        return self._state is BroadcastState.ACTIVE

    @property
    def _has_elements(self) -> bool:
        """Whether a newcomer has something to expect, be it what nobody else has taken."""
        completed = self._state is BroadcastState.COMPLETED
        return self._is_active or (completed and len(self._kept) > 0 and not self._members)

    def _join(self, subscriber: Subscriber[T]) -> Member[T]:
        # The first one gets all that was kept for it, or it would stay there for ever.
        from_oldest = self._from_oldest or not self._members
        return self._join_at(subscriber, self._kept.oldest if from_oldest else self._kept.end)

    def _join_at(self, subscriber: Subscriber[T], position: int) -> Member[T]:
        self._kept.join(position)
        member = Member(subscriber, self, position, self._member_executor, self._new_lock)
        self._members[member] = None
        self._member_of[id(subscriber)] = member
        return member

    def _refuse(self, twin: Member[T], subscriber: Subscriber[T]) -> None:
        error = RuntimeError(cite("1.10", "this subscriber is subscribed already"))
        # One that has cancelled, and is still being let go of, can be told in a stream of its own.
        if not twin.fail_soon(error):
            self._reject(subscriber, error)

    def _reject(self, subscriber: Subscriber[T], ending: Exception) -> None:
        Rejection(subscriber, ending, self._member_executor, self._new_lock).wake()

    def _connect(self, source: Publisher[T]) -> None:
        try:
            source.subscribe(self)
        except Exception as error:
            self._inlet.fail(
                RuleViolation("1.9", f"subscribe of the source raised {shorten(error)}")
            )
            self.wake()

    def _conclude(self, ending: Exception) -> None:
        """The stream above is over: tell the members, and those who will come."""
        completed = ending is COMPLETED
        with self._lock:
            if not self._is_active:
                return
            self._state = BroadcastState.COMPLETED if completed else BroadcastState.FAILED
            self._ending = ending
            members = list(self._members)
            self._forget_if_over()
        if completed or not self._errors_overtake:
            for_each(members, Member.wake)
        else:
            for_each(members, lambda member: member.fail_soon(ending))  # 4.2: not behind the kept

    def _shut_down_if_idle(self) -> None:
        # 3.14: with the last subscriber gone.
        idle = not self._members and not self._kept_alive
        if idle and self._shuts_down_when_idle and self._is_active:
            self._state = BroadcastState.SHUT_DOWN
            self._ending = RuntimeError(
                cite("3.14", "this broadcast shut down when its last subscriber left")
            )

    def _forget_if_over(self) -> None:
        # After a completion what is kept waits for whoever comes next.
        over = self._state in (BroadcastState.FAILED, BroadcastState.SHUT_DOWN)
        if over and not self._members:
            self._kept = KeptElements()
