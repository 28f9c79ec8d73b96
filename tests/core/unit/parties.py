"""Subscribers, subscriptions, executors and locks that remember what happened to them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from itertools import islice
from types import FrameType, TracebackType
from typing import TypeVar

from penstock.api import Subscriber, Subscription
from penstock.core import BaseSubscription, Drain
from penstock.runtime import Executor, Lock, NewLock, Task

T = TypeVar("T")


class RecordingSubscriber:
    """Writes down each signal; ``at`` says what else to do at one, by its name."""

    def __init__(self, **at: Callable[[], object]) -> None:
        self.signals: list[object] = []
        self.at = at
        self.subscription: Subscription = NoSubscription()

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self._record("on_subscribe", "on_subscribe")

    def on_next(self, element: object) -> None:
        self._record("on_next", element)

    def on_error(self, error: Exception) -> None:
        self._record("on_error", error)

    def on_complete(self) -> None:
        self._record("on_complete", "on_complete")

    def _record(self, signal: str, entry: object) -> None:
        self.signals.append(entry)
        if signal in self.at:
            self.at[signal]()

    @property
    def error(self) -> Exception:
        """The error that ended the stream."""
        last = self.signals[-1]
        assert isinstance(last, Exception)
        return last


def cancel(subscriber: RecordingSubscriber) -> None:
    """Cancel the stream of ``subscriber``."""
    subscriber.subscription.cancel()


class NoSubscription:
    """The subscription of a subscriber that has none."""

    def request(self, n: int) -> None:
        raise AssertionError(f"request({n}) without a subscription")

    def cancel(self) -> None:
        raise AssertionError("cancel without a subscription")


class RecordingSubscription:
    """Writes down what was asked of it; ``at`` says what else to do, by the method's name."""

    def __init__(self, **at: Callable[[], object]) -> None:
        self.calls: list[object] = []
        self.at = at

    def request(self, n: int) -> None:
        self.calls.append(n)
        self.at.get("request", lambda: None)()

    def cancel(self) -> None:
        self.calls.append("cancel")
        self.at.get("cancel", lambda: None)()


class Worker(Drain):
    """A drain whose work is a function; counts its rounds and those that overlap."""

    def __init__(
        self,
        work: Callable[[], object] = lambda: None,
        executor: Executor | None = None,
        new_lock: NewLock = threading.RLock,
    ) -> None:
        super().__init__(executor, new_lock)
        self.work = work
        self.rounds = 0
        self.overlaps = 0
        self.inside = 0

    def _work(self) -> None:
        self.rounds += 1
        self.inside += 1
        self.overlaps += self.inside > 1
        try:
            self.work()
        finally:
            self.inside -= 1


class Elements(BaseSubscription[T]):
    """Sends the elements of an iterable and completes; counts how often it was released."""

    def __init__(
        self,
        elements: Iterable[T],
        subscriber: Subscriber[T],
        executor: Executor | None = None,
        new_lock: NewLock = threading.RLock,
        at_release: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._elements = iter(elements)
        self._at_release = at_release
        self.emitted: list[int] = []
        self.released = 0

    def _serve(self) -> None:
        wanted = self.demand.outstanding
        try:
            self.emitted.append(self._emit(islice(self._elements, wanted)))
        except Exception as error:
            self._fail(error)
            return
        if self.emitted[-1] < wanted:
            self._complete()

    def _release(self) -> None:
        self.released += 1
        self._at_release()


class Rejecting:
    """An executor that takes no tasks, or only the first few of them."""

    def __init__(self, executor: Executor | None = None, *, after: int = 0) -> None:
        self.error = RuntimeError("this executor takes no more tasks")
        self.asked = 0
        self._executor = executor
        self.after = after

    def execute(self, task: Task) -> None:
        self.asked += 1
        if self._executor is None or self.asked > self.after:
            raise self.error
        self._executor.execute(task)


class Inline:
    """An executor that runs each task before it returns."""

    def execute(self, task: Task) -> None:
        task()


class LockWatch:
    """Makes locks, and knows how many of them the current thread holds."""

    def __init__(self) -> None:
        self.entered = 0
        self._holding = Holding()

    def __call__(self) -> Lock:
        return WatchedLock(self, self._holding)

    @property
    def held_here(self) -> int:
        return self._holding.locks


class Holding(threading.local):
    locks = 0


class WatchedLock:
    """A lock that tells its watch when it is entered and left."""

    def __init__(self, watch: LockWatch, holding: Holding) -> None:
        self._lock = threading.RLock()
        self._watch = watch
        self._holding = holding

    def __enter__(self) -> bool:
        self._lock.acquire()
        self._holding.locks += 1
        self._watch.entered += 1
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._holding.locks -= 1
        self._lock.release()


class GapWatch:
    """Makes locks, and lets somebody else in when one of them is left: a switch at that place.

    ``at`` says what happens there, by the number of the exit, counted over all of the locks.
    """

    def __init__(self) -> None:
        self.exits = 0
        self.at: dict[int, Callable[[], object]] = {}

    def __call__(self) -> Lock:
        return LockWithGap(self)

    def next_exit(self, call: Callable[[], object]) -> None:
        """Make ``call`` when a lock is left next."""
        self.at[self.exits + 1] = call


class LockWithGap:
    """A lock that tells its watch when it has been left."""

    def __init__(self, watch: GapWatch) -> None:
        self._lock = threading.RLock()
        self._watch = watch

    def __enter__(self) -> bool:
        return self._lock.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.__exit__(kind, error, traceback)
        self._watch.exits += 1
        self._watch.at.pop(self._watch.exits, lambda: None)()


def interrupted(place: int, handler: Callable[[], object], call: Callable[[], object]) -> bool:
    """Make ``call``, and run ``handler`` at one place of our code, as that of a signal would be.

    The interpreter lets signals in where a function begins and where a call has returned. These
    places are counted from 1, those with a lock held among them. Whether there were so many.
    """
    places = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal places
        ours = frame.f_globals.get("__name__", "").startswith("penstock.")
        if ours and event in ("call", "c_return"):
            places += 1
            if places == place:
                handler()

    usual = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(usual)
    return places >= place
