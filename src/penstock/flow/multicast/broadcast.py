"""A processor with many subscribers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from penstock.api import UNBOUNDED, Publisher, Subscriber, Subscription
from penstock.core import (
    COMPLETED,
    BaseSubscriber,
    Drain,
    Rejection,
    require_element,
    require_error,
    require_subscriber,
)
from penstock.flow.multicast.broadcast_subscription import (
    BroadcastSubscription,
    SharedBuffer,
    for_each,
)
from penstock.rules import RuleViolation, cite
from penstock.runtime import Executor, NewLock, shorten
from penstock.runtime.arguments import require_executor
from penstock.runtime.executor import ReentrantLock

__all__ = ["Broadcast", "BroadcastState"]

T = TypeVar("T")


class BroadcastState(Enum):
    """What a new subscriber of a ``Broadcast`` gets, always after ``on_subscribe``."""

    ACTIVE = "elements"
    COMPLETED = "on_complete, at once"
    FAILED = "on_error with the error that ended the stream, at once"
    SHUT_DOWN = "on_error with a RuntimeError, at once"


ACTIVE: Final = BroadcastState.ACTIVE
ENDED: Final = (BroadcastState.COMPLETED, BroadcastState.FAILED)
"""How upstream has ended; what is kept is still to be taken."""


class Broadcast(Drain, Generic[T]):
    """Sends each element to all of its subscribers, in the same order, within their demand.

    An element is kept until the slowest subscriber has it, and no more than ``capacity`` are kept
    or on their way: the slowest subscriber sets the pace. Errors are passed on at once, ahead of
    elements that are still kept, unless told otherwise; completion follows the last element without
    another request. A subscriber that is subscribed already is refused: its stream ends with
    ``RuntimeError``.

    ``source``                a publisher to subscribe to when the first subscriber comes; without
                              one, the caller uses ``publisher.subscribe(broadcast)``
    ``eager``                 ask upstream for elements before a subscriber asks for them
    ``newcomers``             start with the ``"oldest"`` element that is still kept, or, if others
                              are there already, with the ``"next"`` one that comes
    ``takes_unasked``         keep elements that come without demand, as long as there is room
    ``errors_overtake``       pass an error on at once; otherwise after the elements before it
    ``shuts_down_when_idle``  when the last subscriber has cancelled, cancel upstream and refuse
                              all further subscribers; ``keep_alive`` prevents it
    ``executor``              signal the subscribers on this executor; without one, on the thread
                              that brings an element or requests it

    ``state`` is what the next subscriber would get, ``kept`` has the elements that somebody has yet
    to take, and ``thirsty`` says that upstream is to be asked; they change under the lock. Whoever
    keeps an element wakes all subscriptions that have demand.

    As a drain it makes the calls to the upstream subscription, one at a time (rule 2.7), on the
    thread that wakes it.
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
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        super().__init__(None, new_lock)
        if newcomers not in ("oldest", "next"):
            raise ValueError(f"newcomers must be 'oldest' or 'next', not {newcomers!r}")
        self._input = BaseSubscriber(capacity, new_lock)
        if source is not None and not isinstance(source, Publisher):
            raise TypeError(f"a source has a method subscribe; {source!r} has none")
        self._source = source
        self._eager = eager
        self._from_oldest = newcomers == "oldest"
        self._takes_unasked = takes_unasked
        self._errors_overtake = errors_overtake
        self._shuts_down_when_idle = shuts_down_when_idle
        self._subscriber_executor = (
            None if executor is None else require_executor("Broadcast", executor)
        )
        self._new_lock = new_lock
        # All that follows is guarded by this lock, which is never held while calling out.
        self._lock = new_lock()
        self.state = ACTIVE
        self._ending: Exception = COMPLETED
        self.kept: SharedBuffer[T] = SharedBuffer()
        self._subscriptions: dict[BroadcastSubscription[T], None] = {}
        self._subscription_of: dict[int, BroadcastSubscription[T]] = {}  # by the subscriber's id
        self._kept_alive = 0
        self._wanted_until = 0
        self._furthest = 0
        self.thirsty = False
        self._fresh = False

    @contextmanager
    def keep_alive(self) -> Iterator[None]:
        """Counts as a subscriber for the time of a block, so that it does not shut down."""
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

    # 4.1: a publisher to what is downstream.

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Add a subscriber, if it has elements to expect; else signal the end, or a refusal."""
        require_subscriber(subscriber)  # 1.9
        with self._lock:
            twin = self._subscription_of.get(id(subscriber))
            if twin is not None and not twin.serves(subscriber):
                twin = None  # it belonged to another subscriber, gone by now, with the same id
            subscription = self._join(subscriber) if twin is None else None
            source, self._source = (self._source, None) if subscription else (None, self._source)
        if subscription is not None:
            del subscriber  # 3.13: an error that somebody keeps may lead to this frame
            subscription.wake()
        elif twin is not None:
            self._refuse(twin, subscriber)
        else:
            self._reject(subscriber, self._ending)
        if source is not None:
            self._connect(source)

    # 4.1: a subscriber to what is upstream.

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; it gets requests once a subscriber makes some."""
        if self._input.accept(subscription):
            self.wake()

    def on_next(self, element: T) -> None:
        """Keep the element and pass it on to all subscribers that have demand."""
        require_element(element)
        unasked = self._takes_unasked and len(self.kept) < self._input.capacity
        if self._input.admit(unasked=unasked):
            with self._lock:
                self.kept.append(element)
                self._fresh = True
        self.wake()

    def on_error(self, error: Exception) -> None:
        """Pass the error on to all subscribers."""
        require_error(error)
        self._input.end(error)
        self.wake()

    def on_complete(self) -> None:
        """Pass the completion on to each subscriber, once it has the last element."""
        self._input.end(COMPLETED)
        self.wake()

    # What subscriptions call, from within their drains.

    def read(self, subscription: BroadcastSubscription[T]) -> list[T]:
        """The elements that ``subscription`` can take now; they are kept until it has them."""
        with self._lock:
            return self.kept.read(subscription.position, subscription.demand.outstanding)

    def has_taken(self, subscription: BroadcastSubscription[T], elements: int) -> Exception | None:
        """Move ``subscription`` on; returns how the stream ended if nothing more follows for it."""
        if not elements and self._wanted_until == UNBOUNDED and self.state is ACTIVE:
            return None  # there is nothing to note, and an end that comes now wakes it
        with self._lock:
            oldest, position = self.kept.oldest, subscription.position + elements
            if elements:
                self.kept.move(subscription.position, position)
                subscription.position = position
            if position > self._furthest or self.kept.oldest != oldest:
                self._furthest, self.thirsty = max(self._furthest, position), True
            outstanding = subscription.demand.outstanding
            wanted_until = UNBOUNDED if outstanding == UNBOUNDED else position + outstanding
            if wanted_until > self._wanted_until:
                self._wanted_until, self.thirsty = wanted_until, True
            over = self.state in ENDED and position == self.kept.end
            return self._ending if over else None

    def disturb(self) -> None:
        """A subscription is about to leave, or to be told something else than elements."""

    def is_being_left(self) -> None:
        """A subscription takes no more elements, and leaves as soon as its signal is over."""

    def leave(self, subscriptions: Sequence[BroadcastSubscription[T]]) -> None:
        """``subscriptions`` take no more elements."""
        with self._lock:
            oldest = self.kept.oldest
            for subscription in subscriptions:
                del self._subscriptions[subscription]
                if self._subscription_of.get(subscription.subscriber_id) is subscription:
                    del self._subscription_of[subscription.subscriber_id]
                self.kept.leave(subscription.position)
                subscription.part_of = None
            if not self._subscriptions:
                self._wanted_until = self.kept.oldest  # nobody is left that wants anything
            self._shut_down_if_idle()
            self._forget_if_over()
            made_room = self.kept.oldest != oldest
        if made_room or not self._is_active:
            self.wake()

    # How it works.

    def _work(self) -> None:
        with self._lock:
            self.thirsty = False
            taken, furthest = self.kept.oldest, self._furthest
            wanted = UNBOUNDED if self._eager else self._wanted_until
        if self._is_active:
            self._input.refill(wanted=wanted, taken=taken, starving_at=furthest)
        if self._input.ending is not None:
            self._conclude(self._input.ending)
        if not self._is_active:
            self._input.cancel()  # 2.6
        self._pass_on()

    def _pass_on(self) -> None:
        """Wake the subscriptions that can take something."""
        if not self._fresh:
            return
        with self._lock:
            self._fresh = False
            subscriptions = [each for each in list(self._subscriptions) if each.demand.outstanding]
        for_each(subscriptions, BroadcastSubscription.wake)

    @property
    def _is_active(self) -> bool:
        return self.state is ACTIVE

    def _join(self, subscriber: Subscriber[T]) -> BroadcastSubscription[T] | None:
        """A subscription, if there is something to expect, be it what nobody else has taken."""
        if self.state is not ACTIVE:
            completed = self.state is BroadcastState.COMPLETED
            if not completed or self._subscriptions or not self.kept.elements:
                return None
        # The first one gets all that was kept for it, which would otherwise stay there forever.
        from_oldest = self._from_oldest or not self._subscriptions
        return self._join_at(subscriber, self.kept.oldest if from_oldest else self.kept.end)

    def _join_at(self, subscriber: Subscriber[T], position: int) -> BroadcastSubscription[T]:
        self.kept.join(position)
        subscription = BroadcastSubscription(
            subscriber, self, position, self._subscriber_executor, self._new_lock
        )
        self._subscriptions[subscription] = None
        self._subscription_of[subscription.subscriber_id] = subscription
        return subscription

    def _refuse(self, twin: BroadcastSubscription[T], subscriber: Subscriber[T]) -> None:
        error = RuntimeError(cite("1.10", "this subscriber is subscribed already"))
        # One that has cancelled, and is still being released, can be told in another stream.
        if not twin.fail_soon(error):
            self._reject(subscriber, error)

    def _reject(self, subscriber: Subscriber[T], ending: Exception) -> None:
        Rejection(subscriber, ending, self._subscriber_executor, self._new_lock).wake()

    def _connect(self, source: Publisher[T]) -> None:
        try:
            source.subscribe(self)
        except Exception as error:
            self._input.fail(
                RuleViolation("1.9", f"subscribe of the source raised {shorten(error)}")
            )
            self.wake()

    def _conclude(self, ending: Exception) -> None:
        """Upstream is over: tell the subscribers, and those that are still to come."""
        if not self._note(ending):
            return
        subscriptions = list(self._subscriptions)
        if ending is COMPLETED or not self._errors_overtake:
            for_each(subscriptions, BroadcastSubscription.wake)
        else:
            for_each(subscriptions, lambda each: each.fail_soon(ending))  # 4.2: ahead of the kept

    def _note(self, ending: Exception) -> bool:
        """Note how upstream ended; no if this is over already."""
        completed = ending is COMPLETED
        with self._lock:
            if not self._is_active:
                return False
            self.state = BroadcastState.COMPLETED if completed else BroadcastState.FAILED
            self._ending = ending
            self._forget_if_over()
            return True

    def _shut_down_if_idle(self) -> None:
        # 3.14: with the last subscriber gone.
        idle = self._shuts_down_when_idle and not self._subscriptions and not self._kept_alive
        if idle and self._is_active:
            self.state = BroadcastState.SHUT_DOWN
            self._ending = RuntimeError(
                cite("3.14", "this broadcast shut down when its last subscriber left")
            )

    def _forget_if_over(self) -> None:
        # After a completion what is kept waits for the next subscriber.
        over = self.state in (BroadcastState.FAILED, BroadcastState.SHUT_DOWN)
        if over and not self._subscriptions:
            self.kept = SharedBuffer()
