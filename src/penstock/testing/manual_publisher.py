"""A publisher that a test drives by hand, and its subscriptions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.api import Subscriber
from penstock.core import Demand, Timeline, illegal_request, require_element, require_subscriber
from penstock.rules import cite
from penstock.runtime import Clock, SystemClock, shorten
from penstock.runtime.arguments import require_clock, require_int
from penstock.testing.expectation import report, require_timeout

__all__ = [
    "ManualPublisher",
    "ManualSubscription",
]

T = TypeVar("T")


class ManualSubscription(Generic[T]):
    """Signals one subscriber when the test says so, and shows what that one asked for.

    A ``ManualPublisher`` makes one for each subscriber and hands it over in ``on_subscribe``.
    It signals on the thread of the caller; an illegal request is answered on the one that made it.
    """

    def __init__(
        self,
        subscriber: Subscriber[T],
        changed: threading.Condition,
        time: Clock,
        misbehave: bool,
    ) -> None:
        self.timeline = Timeline(now=time.now)
        self._subscriber = subscriber
        self._changed = changed
        self._misbehave = misbehave
        self._demand = Demand()
        self._requests: list[int] = []
        self._cancelled = False
        self._ended_by: str | None = None

    def open(self) -> None:
        """Signal ``on_subscribe``."""
        self.timeline.record("on_subscribe")
        self._subscriber.on_subscribe(self)

    # What the subscriber calls.

    def request(self, n: int) -> None:
        self.timeline.record("request", n)
        illegal = illegal_request(n)
        with self._changed:
            self._requests.append(n)
            over = self._cancelled or self._ended_by is not None
            if illegal is None and not over:
                self._demand.add(n)  # 3.8
            self._changed.notify_all()
        if illegal is not None and not over and not self._misbehave:
            self.error(illegal)  # 3.9

    def cancel(self) -> None:
        self.timeline.record("cancel")
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    # What the test does.

    def next(self, *elements: T) -> None:
        """Send the elements, one after the other."""
        __tracebackhide__ = True
        for element in elements:
            self._require_order(f"next({shorten(element)})")
            self._require_demand(f"next({shorten(element)})")
            if not self._misbehave:
                require_element(element)
            if self._demand.outstanding:
                self._demand.consume(1)
            self.timeline.record("on_next", element)
            self._subscriber.on_next(element)

    def complete(self) -> None:
        """End the stream well."""
        __tracebackhide__ = True
        self._require_order("complete()")
        self._ended_by = "on_complete()"
        self.timeline.record("on_complete")
        self._subscriber.on_complete()

    def error(self, error: Exception) -> None:
        """End the stream with ``error``."""
        __tracebackhide__ = True
        self._require_order(f"error({shorten(error)})")
        if not self._misbehave and not isinstance(error, Exception):
            raise TypeError(f"error takes an exception, not {error!r}")
        self._ended_by = f"on_error({shorten(error)})"
        self.timeline.record("on_error", error)
        self._subscriber.on_error(error)

    # What the test sees.

    @property
    def requests(self) -> list[int]:
        """The argument of each call of ``request``, also of those that had no effect."""
        with self._changed:
            return list(self._requests)

    @property
    def requested(self) -> int:
        """How many elements were requested in all, at most ``UNBOUNDED``."""
        return self._demand.requested

    @property
    def outstanding(self) -> int:
        """How many elements were requested and not yet sent."""
        return self._demand.outstanding

    @property
    def cancelled(self) -> bool:
        """Whether the subscriber has cancelled."""
        return self._cancelled

    def _require_order(self, call: str) -> None:
        __tracebackhide__ = True
        if self._ended_by is not None:
            self._refuse("1.7", f"{call} would follow {self._ended_by}")

    def _require_demand(self, call: str) -> None:
        __tracebackhide__ = True
        if not self._demand.outstanding:
            balance = f"{self._demand.requested} requested, {self._demand.delivered} sent"
            self._refuse("1.1", f"{call} would exceed the demand: {balance}")

    def _refuse(self, rule: str, detail: str) -> None:
        __tracebackhide__ = True
        if self._misbehave:
            return
        headline = f"{cite(rule, detail)}.\nManualPublisher(misbehave=True) sends it all the same."
        raise AssertionError(report(headline, signals=self.timeline.lines()))


class ManualPublisher(Generic[T]):
    """Signals its subscriber when the test says so, and shows what the subscriber asked for.

    ``misbehave``  send whatever the test says; by default it refuses, with an ``AssertionError``,
                   to exceed the demand (rule 1.1) and to signal after a terminal signal (1.7)
    ``time``       the clock of the timeline; the system's unless a test brings its own

    >>> from penstock.testing import ManualSubscriber
    >>> publisher = ManualPublisher()
    >>> publisher.subscribe(ManualSubscriber(request=2))
    >>> publisher.next("a")
    >>> publisher.requested, publisher.outstanding
    (2, 1)

    It signals on the thread that calls it; what the subscriber raises comes out there. An element
    may be sent after a cancel: it was on its way (rule 2.8). With several subscribers, one after
    the other or at once, all members speak of the latest one; ``subscriptions`` has them all.

    The ``await_`` methods wait for other threads, and fail after ``timeout`` seconds. By default
    these are 5, or as many as the environment variable ``PENSTOCK_TEST_TIMEOUT`` says.
    """

    def __init__(self, *, misbehave: bool = False, time: Clock | None = None) -> None:
        self._misbehave = misbehave
        self._time = require_clock("ManualPublisher", time) or SystemClock()
        self._changed = threading.Condition()
        self._subscriptions: list[ManualSubscription[T]] = []
        self._opened = 0

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        require_subscriber(subscriber)
        subscription = ManualSubscription(subscriber, self._changed, self._time, self._misbehave)
        with self._changed:
            self._subscriptions.append(subscription)
        subscription.open()
        with self._changed:
            self._opened += 1
            self._changed.notify_all()

    # What the test does.

    def next(self, *elements: T) -> None:
        """Send the elements, one after the other."""
        __tracebackhide__ = True
        self.subscription.next(*elements)

    def complete(self) -> None:
        """End the stream well."""
        __tracebackhide__ = True
        self.subscription.complete()

    def error(self, error: Exception) -> None:
        """End the stream with ``error``."""
        __tracebackhide__ = True
        self.subscription.error(error)

    # What the test sees.

    @property
    def subscriptions(self) -> tuple[ManualSubscription[T], ...]:
        """The subscription of each subscriber so far, the latest one last."""
        with self._changed:
            return tuple(self._subscriptions)

    @property
    def subscription(self) -> ManualSubscription[T]:
        """The latest subscription; an ``AssertionError`` if nobody has subscribed."""
        __tracebackhide__ = True
        if not self._subscriptions:
            raise AssertionError("nobody has subscribed to this ManualPublisher")
        return self._subscriptions[-1]

    @property
    def subscribed(self) -> bool:
        """Whether somebody has subscribed."""
        return bool(self._subscriptions)

    @property
    def requests(self) -> list[int]:
        """The argument of each call of ``request``."""
        return self.subscription.requests if self.subscribed else []

    @property
    def requested(self) -> int:
        """How many elements were requested in all."""
        return self.subscription.requested if self.subscribed else 0

    @property
    def outstanding(self) -> int:
        """How many elements were requested and not yet sent."""
        return self.subscription.outstanding if self.subscribed else 0

    @property
    def cancelled(self) -> bool:
        """Whether the subscriber has cancelled."""
        return self.subscribed and self.subscription.cancelled

    # What the test waits for.

    def await_subscriber(self, count: int = 1, timeout: float | None = None) -> None:
        """Wait until ``count`` subscribers have come and returned from ``on_subscribe``."""
        __tracebackhide__ = True
        require_int("await_subscriber", "count", count)
        self._await(
            "a subscriber" if count == 1 else f"{count} subscribers",
            lambda: self._opened >= count,
            lambda: f"{self._opened} came",
            timeout,
        )

    def await_requested(self, total: int, timeout: float | None = None) -> None:
        """Wait until at least ``total`` elements were requested since the start."""
        __tracebackhide__ = True
        require_int("await_requested", "total", total)
        self._await(
            f"{total} elements to be requested",
            lambda: self.requested >= total,
            lambda: f"{self.requested} were",
            timeout,
        )

    def await_cancelled(self, timeout: float | None = None) -> None:
        """Wait until the subscriber cancels."""
        __tracebackhide__ = True
        self._await("a cancel", lambda: self.cancelled, lambda: "none came", timeout)

    def _await(
        self,
        what: str,
        happened: Callable[[], bool],
        instead: Callable[[], str],
        timeout: float | None,
    ) -> None:
        __tracebackhide__ = True
        seconds = require_timeout("ManualPublisher", "timeout", timeout)
        with self._changed:
            if self._changed.wait_for(happened, seconds):
                return
        signals = self.subscription.timeline.lines() if self.subscribed else ("none",)
        headline = f"waited {seconds:g} s for {what}, but {instead()}"
        raise AssertionError(report(headline, signals=signals))
