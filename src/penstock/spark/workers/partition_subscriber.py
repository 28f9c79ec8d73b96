"""A subscriber in a task of Spark that takes one partition's part of a batch, and no more."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from penstock.api import Subscription
from penstock.core import Drain, require_element, require_error, require_subscription
from penstock.flow.resume.resumption import (
    PositionedElement,
    Resumption,
    is_same_position,
    position_as_json,
)
from penstock.spark.ingest.conversion import rows_of
from penstock.spark.workers.partition_ends import PartitionEnd

__all__ = ["NotReplayed", "PartitionSubscriber", "taken_again", "taken_first"]

PATIENCE: Final = 600.0
"""The seconds that a source may take to give again what it has given before."""


class NotReplayed(RuntimeError):
    """A source that does not give again what it gave after the same position."""


class PartitionSubscriber(Drain):
    """Asks for as many elements as it may take, and cancels when it has them, or when told to.

    It is signalled on whatever thread the publisher has; the task waits on its own. As a drain it
    calls its subscription, one call at a time (2.7), on the thread that wakes it.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._asked = self._cancelled = False
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._subscription: Subscription | None = None
        self.elements: list[PositionedElement] = []
        self.rows = 0
        self.completed = False
        self.error: Exception | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for all at once: the publisher knows how much this batch can hold."""
        require_subscription(subscription)
        if self._subscription is not None:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        self.wake()

    def on_next(self, element: PositionedElement) -> None:
        """One more, unless the time was over; an element may be a batch of rows."""
        require_element(element)
        with self._lock:
            if self._done.is_set():
                return  # 2.8; it is asked for again in the next batch
            self.elements.append(element)
            self.rows += rows_of(element)
            if self.rows < self._most:
                return
            self._done.set()
        self.wake()

    def on_error(self, error: Exception) -> None:
        """The task fails, and Spark decides whether it is tried again."""
        require_error(error)
        self._end(error)

    def on_complete(self) -> None:
        """There is no more in this partition, in any batch."""
        self._end(None)

    def wait(self, seconds: float) -> None:
        """Until it has all it may take, or is at the end, or the time is over."""
        self._done.wait(seconds)
        with self._lock:
            self._done.set()
        self.wake()
        if self.error is not None:
            raise self.error

    def _end(self, error: Exception | None) -> None:
        with self._lock:
            self._cancelled = True  # 2.4: upstream counts as cancelled
            if not self._done.is_set():
                self.error, self.completed = error, error is None
                self._done.set()

    def _work(self) -> None:
        subscription = self._subscription
        if subscription is None:
            return  # it is asked, or cancelled, when it comes
        if not self._asked and not self._done.is_set():
            self._asked = True
            subscription.request(self._most)
        if self._done.is_set() and not self._cancelled:
            self._cancelled = True
            subscription.cancel()


def taken_first(
    source: Resumption, position: Any, most: int, seconds: float
) -> tuple[Sequence[PositionedElement], PartitionEnd]:
    """What comes after ``position`` within some time, and where that ends."""
    subscriber = PartitionSubscriber(most)
    source.positioned(position).subscribe(subscriber)
    subscriber.wait(seconds)
    elements = subscriber.elements
    last = elements[-1].position if elements else position
    position_as_json(last)  # or it could not be kept, which this says best
    return elements, PartitionEnd(last, len(elements), subscriber.completed, subscriber.rows)


def taken_again(
    source: Resumption, position: Any, end: PartitionEnd
) -> Sequence[PositionedElement]:
    """What came after ``position`` before, up to ``end``."""
    if not end.elements:
        return []
    subscriber = PartitionSubscriber(end.elements)
    source.positioned(position).take(end.elements).subscribe(subscriber)
    subscriber.wait(PATIENCE)
    elements = subscriber.elements
    found = elements[-1].position if elements else None
    if len(elements) < end.elements or not is_same_position(found, end.position):
        raise NotReplayed(
            f"after the position {position!r} came {end.elements} elements before, up to "
            f"{end.position!r}, and now {len(elements)}, up to {found!r}: the source does not "
            "give again what it gave, so this batch cannot be made again"
        )
    return elements
