"""The subscription between a manual publisher and one of its subscribers."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from penstock.api import Subscriber
from penstock.core import Demand, Timeline, illegal_request, require_element
from penstock.rules import cite
from penstock.runtime import Clock, shorten
from penstock.testing.report import report

__all__ = ["ManualSubscription"]

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
