"""A batch DataFrame as a cold publisher, computed as far as its batches are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.api import Subscriber
from penstock.demand import Outlet, require_subscriber, shorten
from penstock.flow.elements import PENDING, Elements, Host, close, started
from penstock.flow.fluent import opened
from penstock.flow.stage import Origin
from penstock.runtime import ThreadPool
from penstock.spark.arrow_batches import batches_of
from penstock.spark.failures import explained
from penstock.spark.rows import RowReader
from penstock.spark.session import require_running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["DataFramePublisher", "FromDataFrame"]


class DataFramePublisher:
    """The batches of a DataFrame, which each subscriber has computed anew."""

    def __init__(self, dataframe: DataFrame) -> None:
        self._dataframe = require_batch_dataframe(dataframe)

    def subscribe(self, subscriber: Subscriber[pa.RecordBatch]) -> None:
        """Start a run for ``subscriber``; Spark starts with the first request."""
        require_subscriber(subscriber)  # 1.9
        run = Run(self._dataframe, subscriber)
        del subscriber  # 3.13: an error that somebody keeps also keeps this frame
        run.wake()


class Run(Outlet[pa.RecordBatch]):
    """One subscriber's way through the DataFrame, on a thread of its own.

    A second thread stops Spark while the first one waits for it.
    """

    __slots__ = ("_batches", "_iterator", "_pool")

    def __init__(self, dataframe: DataFrame, subscriber: Subscriber[pa.RecordBatch]) -> None:
        self._pool = ThreadPool(2, name="penstock-dataframe")
        super().__init__(subscriber, self._pool)
        self._batches = batches_of(dataframe)
        self._iterator: Iterator[pa.RecordBatch] | None = None

    def _serve(self) -> None:
        wanted = self.demand.outstanding
        if not wanted:
            return
        try:
            if self._iterator is None:
                self._iterator = self._batches.pull()
            sent = self._emit(islice(self._iterator, wanted))
        except Exception as error:
            if self._wanted:  # or else it is but the echo of the interrupt
                self._fail(explained(error))  # 1.4
        else:
            if sent < wanted:
                self._complete()  # 1.2, 1.5

    def _leave(self, mark: Exception) -> bool:
        """Whoever ends the stream early must not wait for Spark, nor Spark work on in vain."""
        left = super()._leave(mark)
        if left and self._iterator is not None:
            try:
                self._pool.execute(self._batches.stop)  # first: an interrupted run closes the pool
            except RuntimeError:
                pass  # the stream has ended meanwhile
            self._batches.interrupt()
        return left

    def _release(self) -> None:
        close(self._iterator)
        self._pool.close(wait=False)


class FromDataFrame(Origin):
    """The rows of a DataFrame, or its batches."""

    checked = True

    def __init__(self, dataframe: DataFrame, *, batches: bool = False) -> None:
        super().__init__("from_dataframe")
        self._publisher = DataFramePublisher(dataframe)
        self._batches = batches

    def open(self, host: Host, each: int) -> Elements:
        """Subscribe to the batches, of which one is held at a time."""
        batches = opened(self._publisher, host, prefetch=1)
        return batches if self._batches else started(self._rows(batches))

    def _rows(self, batches: Elements) -> Elements:
        try:
            yield None
            for batch in batches:
                if batch is PENDING:
                    yield PENDING
                else:
                    yield from RowReader(batch.schema).rows(batch)
        finally:
            close(batches)


def require_batch_dataframe(dataframe: Any) -> Any:
    """``dataframe``, when it is one that ends, of a session that runs."""
    if not callable(getattr(dataframe, "toArrow", None)):
        raise TypeError(f"from_dataframe needs a DataFrame of Spark, not {shorten(dataframe)}")
    require_running(dataframe.sparkSession)
    if dataframe.isStreaming:
        raise ValueError(
            "from_dataframe needs a DataFrame that ends, and this one is a stream; "
            "give its source to a flow, and use on_spark"
        )
    return dataframe
