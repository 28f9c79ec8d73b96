"""Base classes for subscribers: the user writes one method that takes an element."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from itertools import repeat, starmap
from time import monotonic
from typing import Final, Generic, TypeVar

from penstock.api import UNBOUNDED, Subscription
from penstock.core.base_subscriber import BaseSubscriber
from penstock.core.base_subscription import COMPLETED
from penstock.core.checks import require_element, require_error
from penstock.core.drain import Drain
from penstock.runtime import Executor, NewLock, report_undelivered
from penstock.runtime.arguments import require_executor
from penstock.runtime.executor import ReentrantLock

__all__ = ["AsyncSubscriber", "SyncSubscriber"]

T = TypeVar("T")

QUICK: Final = 0.002
SLOW: Final = 0.02
"""Seconds in which what has come is taken, after which there is room for more, or for less."""


def adapted(room: int, count: int, seconds: float) -> int:
    """The room for elements, twice if much of it was taken quickly, half if that took long."""
    if seconds > SLOW:
        return max(room // 2, 1)
    return 2 * room if seconds < QUICK and 2 * count >= room else room


class ReceivingSubscriber(ABC, Generic[T]):
    """What the user of either base class fills in.

    ``SyncSubscriber`` calls it on the publisher's thread, ``AsyncSubscriber`` on its executor.
    """

    _base_subscriber: BaseSubscriber

    @abstractmethod
    def receive(self, element: T) -> bool:
        """Take an element: ``True`` to go on, ``False`` to cancel the stream.

        An exception cancels the stream, too, and is handed to ``failed``.
        """

    def failed(self, error: Exception) -> None:
        """The stream failed, or ``receive`` raised. By default the error goes to the hook."""
        report_undelivered(error, f"{type(self).__name__} does not handle errors")

    def completed(self) -> None:
        """The stream ended well. Does nothing by default."""

    def _wants_more_after(self, element: T) -> bool:
        """Hand the element to the user."""
        answer = self.receive(element)
        return answer is True or self._require_answer(answer)

    def _require_answer(self, answer: object) -> bool:
        """What ``receive`` returned, which must not be left out by mistake."""
        if answer is True or answer is False:
            return answer
        raise TypeError(
            f"{type(self).__name__}.receive must return True to go on or False to stop,"
            f" not {answer!r}"
        )

    def _finish(self, ending: Exception | None) -> None:
        """The stream is over: cancel it if that was our doing, and tell the user how it ended."""
        self._base_subscriber.cancel()  # 2.6; does nothing after a terminal signal
        if ending is COMPLETED:
            self._tell("completed", self.completed)
        elif ending is not None:
            self._tell("failed", lambda: self.failed(ending))

    def _tell(self, name: str, call: Callable[[], object]) -> None:
        # 2.13: on_error and on_complete return normally, whatever the user's code does.
        try:
            call()
        except Exception as error:
            report_undelivered(error, f"{type(self).__name__}.{name} raised")


class SyncSubscriber(ReceivingSubscriber[T]):
    """Calls ``receive`` on the publisher's thread, one element at a time: it must be quick (2.2).

    It asks for one element after the other. With ``largest``, it asks for twice as many at once, up
    to so many, as long as they come and are taken within milliseconds, and for half if not.

    >>> class Sum(SyncSubscriber[int]):
    ...     total = 0
    ...     def receive(self, element: int) -> bool:
    ...         self.total += element
    ...         return True
    >>> from penstock import IterablePublisher
    >>> subscriber = Sum()
    >>> IterablePublisher(range(5)).subscribe(subscriber)
    >>> subscriber.total
    10
    """

    def __init__(
        self,
        *,
        largest: int = 1,
        clock: Callable[[], float] = monotonic,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        self._base_subscriber = BaseSubscriber(1, new_lock)
        self._largest = largest
        self._clock = clock
        self._last_ask = 0, clock()
        self._taken = 0
        self._ask_at = 0
        """With how many taken it asks for more; kept here, so that no element costs a call.

        Never more than it has asked for, whoever sets it: so the last one of them always asks.
        """
        self._over = False

    @property
    def room(self) -> int:
        """How many elements it asks for at once."""
        return self._base_subscriber.capacity

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for the first element."""
        if self._base_subscriber.accept(subscription):
            self._ask()  # 2.1
            self._finish_if_ended()

    def on_next(self, element: T) -> None:
        """Hand the element to ``receive`` and ask for the next one."""
        if element is None:  # asked here, so that no element costs a call
            require_element(element)  # 2.13
        if self._base_subscriber.admit():
            try:
                answer = self.receive(element)
                if answer is True:
                    self._taken += 1
                    if self._taken < self._ask_at:
                        return  # mostly; only what follows can end the stream
                    self._ask()
                elif not self._require_answer(answer):
                    self._base_subscriber.cancel()
            except Exception as error:
                self._base_subscriber.fail(error)
        self._finish_if_ended()

    def on_error(self, error: Exception) -> None:
        """Hand the error to ``failed``."""
        require_error(error)
        self._base_subscriber.end(error)
        self._finish_if_ended()

    def on_complete(self) -> None:
        """Tell ``completed``."""
        self._base_subscriber.end(COMPLETED)
        self._finish_if_ended()

    def _ask(self) -> None:
        asked = self._base_subscriber.asked
        self._base_subscriber.refill(wanted=UNBOUNDED, taken=self._taken)
        if self._largest > 1 and self._base_subscriber.asked != asked:
            self._adapt()
        self._ask_at = self._base_subscriber.refill_at

    def _adapt(self) -> None:
        """Ask for more next time if much came and was taken in little time, and for less if not."""
        (taken, then), now = self._last_ask, self._clock()
        self._last_ask = self._taken, now
        room = adapted(self._base_subscriber.capacity, self._taken - taken, now - then)
        self._base_subscriber.capacity = min(room, self._largest)

    def _finish_if_ended(self) -> None:
        if self._base_subscriber.ending is not None and not self._over:
            self._over = True
            self._finish(self._base_subscriber.ending)


class AsyncSubscriber(ReceivingSubscriber[T], Drain):
    """Calls ``receive`` on an executor, so that it may be slow (rule 2.2).

    At most ``prefetch`` elements are requested and not yet taken; that is also the bound of the
    buffer between the publisher's thread and the executor. With ``largest``, that room doubles up
    to so many as long as what is in it is taken within milliseconds, and halves again if not.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        prefetch: int = 16,
        largest: int = 0,
        clock: Callable[[], float] = monotonic,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        super().__init__(require_executor("AsyncSubscriber", executor), new_lock)
        self._base_subscriber = BaseSubscriber(prefetch, new_lock)
        self._prefetch = prefetch
        self._largest = max(prefetch, largest)
        self._clock = clock
        self._arrived: deque[T] = deque()  # bounded by what was asked for
        self._peak = 0
        self._taken = 0
        self._stopped = False
        self._finished = False
        self._failure: Exception | None = None
        self._over = threading.Event()
        self._flushes: deque[Callable[[], object]] = deque()
        self.raised: BaseException | None = None
        """What ``receive`` raised that is no ``Exception``, such as ``SystemExit``."""

    def stop(self) -> None:
        """Cancel the stream, from any thread."""
        self._stopped = True
        self.wake()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the stream is over, for at most ``timeout`` seconds; whether it is."""
        return self._over.wait(timeout)

    def flush(self, done: Callable[[], object]) -> None:
        """Call ``done`` once all elements that have come are taken, or the stream is over.

        From any thread, at any time. ``done`` is called once, mostly on the executor.
        """
        self._flushes.append(done)
        if self._over.is_set():
            self._flushed(len(self._flushes))
        else:
            self.wake()

    @property
    def failure(self) -> Exception | None:
        """The error with which the stream ended, that of ``receive`` included."""
        return self._failure

    @property
    def buffered(self) -> int:
        """Elements that have come and wait to be taken."""
        return len(self._arrived)

    @property
    def peak(self) -> int:
        """The most elements that ever waited at once."""
        return max(self._peak, len(self._arrived))

    # The publisher's signals only leave something for the drain, whose lock publishes it safely to
    # the executor's thread (2.11).

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for the first elements, on the executor."""
        if self._base_subscriber.accept(subscription):
            self.wake()

    def on_next(self, element: T) -> None:
        """Leave the element for the executor."""
        if element is None:  # asked here, so that no element costs a call
            require_element(element)
        if self._base_subscriber.admit():
            self._arrived.append(element)
        self.wake()

    def on_error(self, error: Exception) -> None:
        """Tell ``failed`` once the elements before are taken."""
        require_error(error)
        self._base_subscriber.end(error)
        self.wake()

    def on_complete(self) -> None:
        """Tell ``completed`` once the elements before are taken."""
        self._base_subscriber.end(COMPLETED)
        self.wake()

    def _work(self) -> None:
        if self._finished:
            return  # late signals, or a late stop
        # Asked first: then all elements before the end, and before a flush, have arrived.
        ending, flushes = self._base_subscriber.ending, len(self._flushes)
        try:
            self._take_elements()
        except Exception as error:
            ending = error
        except BaseException as raised:
            self.raised = raised
            self._finish_once(None)
            raise
        if self._stopped:
            self._finish_once(None)
        elif ending is not None:
            self._finish_once(ending)
        elif self._base_subscriber.ending is not None:
            self.wake()  # it has ended meanwhile, perhaps by a request that raised
        self._flushed(flushes)

    def _flushed(self, count: int) -> None:
        for _ in range(count):
            try:
                done = self._flushes.popleft()
            except IndexError:
                return  # another thread has also found that the stream is over
            self._tell("flush", done)

    def _take_elements(self) -> None:
        self._ask()
        count = left = len(self._arrived)  # only this drain takes them out
        self._peak = max(self._peak, count)
        began = self._clock()
        while left:
            portion = min(left, self._base_subscriber.until_refill(self._taken))
            if not self._receive_all(self._take(portion)):
                self._stopped = True
                return
            left -= portion
            self._taken += portion
            self._ask()
        if self._largest > self._prefetch:
            self._adapt(count, self._clock() - began)

    def _take(self, count: int) -> list[T]:
        """Take out the oldest; not all at once, since more may arrive meanwhile."""
        return list(starmap(self._arrived.popleft, repeat((), count)))

    def _receive_all(self, elements: list[T]) -> bool:
        """Hand elements to the user, one by one; whether that goes on."""
        for element in elements:
            if self._stopped or not self._wants_more_after(element):
                return False
        return True

    def _adapt(self, count: int, seconds: float) -> None:
        """Make room for more if much was taken in little time, and for less if it took long."""
        room = adapted(self._base_subscriber.capacity, count, seconds)
        self._base_subscriber.capacity = min(max(room, self._prefetch), self._largest)

    def _ask(self) -> None:
        self._base_subscriber.refill(wanted=UNBOUNDED, taken=self._taken)

    def _rejected(self, error: Exception) -> None:
        self._finish_once(error)

    def _finish_once(self, ending: Exception | None) -> None:
        if self._finished:
            return
        self._finished = True
        if ending is not COMPLETED:
            self._failure = ending
        try:
            self._finish(ending)
        finally:
            self._arrived.clear()  # not before the stream is cancelled: more may arrive until then
            self._over.set()
            self._flushed(len(self._flushes))
