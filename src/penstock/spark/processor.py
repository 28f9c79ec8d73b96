"""Spark as a ``Processor``: a subscriber on one side, a publisher on the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.api import Processor, Subscriber, Subscription
from penstock.core import IdentityProcessor
from penstock.flow import Flow
from penstock.flow.engine.run_context import taken_out
from penstock.spark.ingest.schema import SchemaLike
from penstock.spark.spark_flow import SparkFlow

__all__ = ["SparkProcessor"]


class SparkProcessor(Processor[Any, Any]):
    """Takes elements of a schema, lets Spark transform them, and gives the rows that come out.

    It serves one subscriber. ``transform`` gets a ``SparkFlow`` and returns another one; without
    it, rows come out as they went in. ``options`` are those of ``Flow.on_spark``.

    ``transform`` is called at once; the functions that it gives to Spark run in Spark's processes.
    The subscriber is signalled on the thread that requests, or the one on which Spark brings rows.
    """

    def __init__(
        self,
        schema: SchemaLike,
        transform: Callable[[SparkFlow], SparkFlow] | None = None,
        **options: Any,
    ) -> None:
        # At both ends stands a processor that keeps the rules; Spark is what lies between them.
        self._entrance: IdentityProcessor[Any] = IdentityProcessor()
        self._exit: IdentityProcessor[Any] = IdentityProcessor()
        flow = Flow.from_publisher(self._entrance).on_spark(schema, **options)
        rows = (flow if transform is None else transform(flow)).rows()
        self._to_start = deque([rows])  # the thread that takes it out starts it

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start the query, for ``subscriber``, which must be the only one."""
        self._exit.subscribe(subscriber)
        for rows in taken_out(self._to_start):
            rows.subscribe(self._exit)

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; it is asked for what the journal has room for."""
        self._entrance.on_subscribe(subscription)

    def on_next(self, element: Any) -> None:
        """Pass an element on to the journal."""
        self._entrance.on_next(element)

    def on_error(self, error: Exception) -> None:
        """Pass the error on at once."""
        self._entrance.on_error(error)

    def on_complete(self) -> None:
        """The last element has come; its rows follow."""
        self._entrance.on_complete()
