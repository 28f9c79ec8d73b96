"""Subscribers in Spark's workers, each for one partition of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext

from penstock.api import Subscriber, Subscription
from penstock.flow import Flow
from penstock.runtime import shorten
from penstock.spark.egress.rows import RowReader
from penstock.spark.workers.functions import blaming

__all__ = ["ToSubscribers"]

BATCH: Final = "streaming.sql.batchId"
"""Where Spark tells a task the number of its batch."""


@dataclass(frozen=True)
class ToSubscribers:
    """Gives the rows of each partition to a subscriber of its own, in a process of Spark.

    ``batch`` is the number of the batch, where Spark does not tell it to its tasks.
    """

    factory: Callable[[int, int], Subscriber[Any]]
    batch: int | None = None

    @classmethod
    def made_by(cls, factory: Callable[[int, int], Subscriber[Any]]) -> ToSubscribers:
        """Refuses a factory that could not be called, before Spark is started."""
        try:
            signature(factory).bind(0, 0)
        except TypeError as error:
            raise TypeError(
                "for_each_partition calls its function with two numbers, that of the batch and "
                f"that of the partition, which {shorten(factory)} cannot take: {error}"
            ) from None
        except ValueError:
            pass  # it is written in C, and does not say what it takes
        return cls(factory)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls once for each partition; nothing goes on downstream."""
        with blaming("for_each_partition"):
            task = PartitionTask(self.factory(*self._this_part()))
            rows = Flow.from_iterable(rows_in(batches))
            rows.do_finally(task.leave_if_cancelled).subscribe(task)
            task.join()
        return iter(())

    def _this_part(self) -> tuple[int, int]:
        """The number of the batch that this task is of, and that of its partition."""
        task = TaskContext.get()
        assert task is not None  # this is a task
        if self.batch is not None:
            return self.batch, task.partitionId()
        batch = task.getLocalProperty(BATCH)
        assert batch is not None  # of a stream
        return int(batch), task.partitionId()


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """The rows of a partition, one by one."""
    for batch in batches:
        yield from RowReader(batch.schema).rows(batch)


class PartitionTask:
    """The user's subscriber; what it raises, or is told, makes the task fail.

    It is signalled on the thread of the task, or on one of its own on which it requests.
    """

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self._error: Exception | None = None
        self._over = threading.Event()

    def on_subscribe(self, subscription: Subscription) -> None:
        """Let it ask."""
        self._subscription = subscription
        self._call(self._subscriber.on_subscribe, subscription)

    def on_next(self, element: Any) -> None:
        """A row that it asked for."""
        self._call(self._subscriber.on_next, element)

    def on_error(self, error: Exception) -> None:
        """The rows could not be read."""
        self._call(self._subscriber.on_error, error)
        self._error = error
        self.leave()

    def on_complete(self) -> None:
        """The partition has no more."""
        self._call(self._subscriber.on_complete)
        self.leave()

    def leave_if_cancelled(self, end: str) -> None:
        """Of a stream that was cancelled no signal tells; any other comes to its subscriber."""
        if end == "cancelled":
            self.leave()

    def leave(self) -> None:
        """The stream is over, and its subscriber knows."""
        self._over.set()

    def join(self) -> None:
        """Wait: a subscriber may ask for more from another thread, at any time."""
        self._over.wait()
        if self._error is not None:
            raise self._error

    def _call(self, method: Callable[..., None], *arguments: Any) -> None:
        try:
            method(*arguments)
        except Exception as error:
            self._error = error
            self._subscription.cancel()
