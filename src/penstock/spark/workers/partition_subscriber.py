"""A subscriber in a task of Spark that takes one partition's part of a batch, and no more."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from penstock.api import Subscription
from penstock.flow.resume.resumption import PositionedElement, Resumption
from penstock.spark.ingest.conversion import rows_of_each
from penstock.spark.workers.partition_ends import PartitionEnd

__all__ = ["NotReplayed", "PartitionSubscriber", "taken_again", "taken_first"]

PATIENCE: Final = 600.0
"""The seconds that a source may take to give again what it has given before."""


class NotReplayed(RuntimeError):
    """A source that does not give again what it gave after the same position."""


class PartitionSubscriber:
    """Asks for as many elements as it may take, and cancels when it has them, or when told to.

    It is signalled on whatever thread the publisher has; the task waits on its own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows = 0
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._subscription: Subscription | None = None
        self.elements: list[PositionedElement] = []
        self.completed = False
        self.error: Exception | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for all at once: the publisher knows how much this batch can hold."""
        if self._subscription is not None:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        subscription.request(self._most)

    def on_next(self, element: PositionedElement) -> None:
        """One more, unless the time was over; an element may be a batch of rows."""
        with self._lock:
            if self._done.is_set():
                return  # 2.8; it is asked for again in the next batch
            self.elements.append(element)
            self._rows += sum(rows_of_each([element]))
            full = self._rows >= self._most
            if full:
                self._done.set()
        if full and self._subscription is not None:
            self._subscription.cancel()

    def on_error(self, error: Exception) -> None:
        """The task fails, and Spark decides whether it is tried again."""
        self.error = error
        self._done.set()

    def on_complete(self) -> None:
        """There is no more in this partition, in any batch."""
        with self._lock:
            self.completed = not self._done.is_set()
            self._done.set()

    def wait(self, seconds: float) -> bool:
        """Until it has all it may take, or the time is over; whether it is full, or at the end."""
        in_time = self._done.wait(seconds)
        with self._lock:
            self._done.set()
        if self._subscription is not None:
            self._subscription.cancel()
        if self.error is not None:
            raise self.error
        return in_time


def taken_first(
    source: Resumption, position: Any, most: int, seconds: float
) -> tuple[Sequence[PositionedElement], PartitionEnd]:
    """What comes after ``position`` within some time, and where that ends."""
    subscriber = PartitionSubscriber(most)
    source.positioned(position).subscribe(subscriber)
    subscriber.wait(seconds)
    elements = subscriber.elements
    last = elements[-1].position if elements else position
    return elements, PartitionEnd(last, len(elements), subscriber.completed)


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
    if len(elements) < end.elements or elements[-1].position != end.position:
        found = elements[-1].position if elements else None
        raise NotReplayed(
            f"after the position {position!r} came {end.elements} elements before, up to "
            f"{end.position!r}, and now {len(elements)}, up to {found!r}: the source does not "
            "give again what it gave, so this batch cannot be made again"
        )
    return elements
