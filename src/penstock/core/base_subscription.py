"""The publisher's end of one subscription, and how a subscriber is turned away."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from penstock.api import Subscriber, Subscription
from penstock.core.checks import illegal_request
from penstock.core.demand import Demand
from penstock.core.drain import AGAIN, RUNNING, Drain
from penstock.core.traceback import without_own_frames
from penstock.rules import cite
from penstock.runtime import Executor, NewLock, report_undelivered
from penstock.runtime.executor import ReentrantLock

__all__ = [
    "CANCELLED",
    "COMPLETED",
    "BaseSubscription",
    "Rejection",
]


class Ending(Exception):
    """An end that is no failure; never raised."""


CANCELLED: Final = Ending("cancelled")
COMPLETED: Final = Ending("completed")


T = TypeVar("T")


class NullSubscriber:
    """Stands in for a subscriber that was dropped, so that late signals need no check."""

    def on_subscribe(self, subscription: Subscription) -> None:
        pass

    def on_next(self, element: object) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        pass

    def on_complete(self) -> None:
        pass


NULL_SUBSCRIBER: Final = NullSubscriber()


class BaseSubscription(Drain, Generic[T]):
    """The subscription that a subscriber holds, and through which its publisher signals it.

    What the subscriber calls, from any thread, only leaves a mark and wakes the drain. All signals
    are sent from within the drain, on the executor or else on the thread that woke it: one at a
    time (rule 1.3), within demand (1.1), ``on_subscribe`` first (1.9), nothing after a terminal
    signal (1.7), and no reference kept after it (3.13).

    A publisher says in ``_serve`` what it has to send, and in ``_release`` what it holds.
    """

    __slots__ = ("_mark", "_released", "_subscriber", "_waiting_to_open", "demand")

    def __init__(
        self,
        subscriber: Subscriber[T],
        executor: Executor | None = None,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        super().__init__(executor, new_lock)
        self.demand = Demand(self._progress_lock)
        self._subscriber: Subscriber[T] = subscriber
        self._mark: Exception | None = None
        self._waiting_to_open = True
        self._released = False

    # What the subscriber calls.

    def request(self, n: int) -> None:
        """Ask for ``n`` more elements."""
        if self._mark is not None:
            return  # 3.6
        if type(n) is not int or n <= 0:
            error = illegal_request(n)
            if error is not None:
                self.fail_soon(error)  # 3.9, as a signal: 3.16 forbids raising
                return
        self.demand.add(n)  # 3.8
        if self._progress != AGAIN:  # as in ``on_subscribe``: the round to come sees it
            self.wake()

    def cancel(self) -> None:
        """Stop the stream."""
        if self._leave(CANCELLED):  # 3.7: only the first one
            self.wake()

    # What the publisher calls, from any thread.

    def fail_soon(self, error: Exception) -> bool:
        """End the stream with ``error``, ahead of what waits to be sent; no if it was over."""
        left = self._leave(error)
        if left:
            self.wake()
        return left

    # What the publisher calls, from within the drain.

    @abstractmethod
    def _serve(self) -> None:
        """Send what there is, within demand, and end the stream when it is at its end."""

    def _release(self) -> None:
        """The stream is over, however it ended: release what it held. Called once."""

    def _emit(self, elements: Iterable[T]) -> int:
        """Signal ``elements``, as far as the subscriber wants them; how many were signalled.

        ``elements`` holds no more than is outstanding. What its iterator raises passes through.
        """
        sent = 0
        on_next = self._subscriber.on_next
        try:
            for element in elements:
                if element is None:
                    raise TypeError(cite("2.13", f"element {self.demand.delivered + sent} is None"))
                sent += 1
                try:
                    on_next(element)
                except Exception as error:
                    self._blame("on_next", error)
                if self._mark is not None:
                    break  # 1.8, 3.12: cancelled, perhaps from within on_next
        finally:
            del on_next  # 3.13: an error that somebody keeps also keeps this frame
            self.demand.consume(sent)
        return sent

    def _complete(self) -> None:
        """Signal ``on_complete``, unless the subscriber's mark ends the stream otherwise."""
        if self._mark is None or self._goes_on():
            try:
                self._drop_subscriber().on_complete()
            except Exception as error:
                self._blame("on_complete", error)

    def _fail(self, error: Exception) -> None:
        """Signal ``on_error``, or tell the hook once the subscriber has ended the stream."""
        if self._goes_on():
            self._signal_error(error)
        else:
            report_undelivered(error, "a stream failed after its subscriber had ended it")

    def serves(self, subscriber: Subscriber[T]) -> bool:
        """Whether this is the stream of ``subscriber``."""
        return self._subscriber is subscriber

    @property
    def _wanted(self) -> bool:
        """Whether the subscriber has left no mark that ends the stream."""
        return self._mark is None

    @property
    def _over(self) -> bool:
        return self._subscriber is NULL_SUBSCRIBER

    # Internals; all but ``_leave`` run within the drain.

    def _leave(self, mark: Exception) -> bool:
        """Leave a mark for the drain; no if there is one already."""
        with self._progress_lock:
            if self._mark is not None:
                return False
            self._mark = mark
            return True

    def _work(self) -> None:
        if self._released:
            return
        try:
            if self._waiting_to_open:
                self._open()
            if self._mark is None or self._goes_on():
                self._serve()
        except BaseException:
            self._drop_subscriber()
            raise
        finally:
            if self._subscriber is NULL_SUBSCRIBER:  # most rounds need not even ask
                self._release_when_over()

    def _rejected(self, error: Exception) -> None:
        if self._over:
            return  # nothing was left to do
        try:
            if self._waiting_to_open:
                self._open()  # 1.9: first, even if all that follows is the error
            if self._goes_on():
                self._signal_error(error)
        finally:
            self._release_when_over()

    def _open(self) -> None:
        self._waiting_to_open = False
        self._progress = AGAIN  # what is requested in ``on_subscribe`` need not wake anybody
        try:
            self._subscriber.on_subscribe(self)
        except Exception as error:
            self._blame("on_subscribe", error)
        # Without the lock: whoever notes another round here has done before what this one serves.
        self._progress = RUNNING

    def _goes_on(self) -> bool:
        """Act on the subscriber's mark, if there is one; whether the stream goes on."""
        mark = self._mark
        if mark is None:
            return True
        if mark is CANCELLED:
            self._drop_subscriber()
        else:
            self._signal_error(mark)
        return False

    def _signal_error(self, error: Exception) -> None:
        without_own_frames(error)
        try:
            self._drop_subscriber().on_error(error)
        except Exception as raised:
            self._blame("on_error", raised)

    def _drop_subscriber(self) -> Subscriber[T]:
        """End the stream; returns the subscriber to signal, a null one if it has cancelled."""
        subscriber = NULL_SUBSCRIBER if self._mark is CANCELLED else self._subscriber
        self._subscriber = NULL_SUBSCRIBER
        self._mark = CANCELLED  # 1.6
        return subscriber

    def _blame(self, signal: str, error: Exception) -> None:
        # 2.13: a subscriber that raises counts as cancelled, and the error must be reported.
        self._drop_subscriber()
        report_undelivered(error, cite("2.13", f"{signal} of a subscriber raised"))

    def _release_when_over(self) -> None:
        if self._over and not self._released:
            self._released = True
            try:
                self._release()
            except Exception as error:
                # 3.15: cancel must not raise because a source cannot be closed.
                report_undelivered(error, cite("3.15", "closing the source of a stream raised"))


class Rejection(BaseSubscription[T]):
    """A stream that is over at once: ``on_subscribe``, then how it ended (rule 1.9).

    ``ending`` is an error, or ``COMPLETED``.
    """

    __slots__ = ("_ending",)

    def __init__(
        self,
        subscriber: Subscriber[T],
        ending: Exception,
        executor: Executor | None = None,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._ending = ending

    def _serve(self) -> None:
        if self._ending is COMPLETED:
            self._complete()
        else:
            self._fail(self._ending)
