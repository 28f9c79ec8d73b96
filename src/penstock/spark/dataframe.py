"""A batch DataFrame as a cold publisher, computed as far as its batches are wanted."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from uuid import uuid4

import pyarrow as pa

from penstock.api import UNBOUNDED, Subscriber
from penstock.core import BaseSubscription, require_subscriber
from penstock.flow.base_flow import opened
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started
from penstock.flow.engine.stage import Origin
from penstock.runtime import ThreadPool, shorten
from penstock.spark.egress.arrow_batches import (
    NUMBER,
    has_large_types,
    read_message,
    read_number,
)
from penstock.spark.egress.rows import RowReader
from penstock.spark.failures import explained
from penstock.spark.private_api import (
    answers_of_server,
    arrow_schema_of,
    cancel_jobs,
    is_remote,
    serve_arrow_batches,
)
from penstock.spark.session.spark_session import require_running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "ArrowBatches",
    "DataFramePublisher",
    "FromDataFrame",
    "batches_of",
]

NEXT_PARTITION: Final = 1
FAILED: Final = -1


class ArrowBatches(ABC):
    """One run through a DataFrame. Nothing is computed before the first batch is pulled."""

    def __init__(self, dataframe: Any) -> None:
        self._dataframe = dataframe
        self._tag = f"penstock-{uuid4()}"
        self._interrupted = False

    @abstractmethod
    def pull(self, *, ahead: bool) -> Iterator[pa.RecordBatch]:
        """The batches. They end early, without an error, once they are interrupted.

        ``ahead`` has the next partition computed while the batches of one are taken.
        """

    def interrupt(self) -> None:
        """Let a thread that waits for a batch go on at once. May be called from any thread."""
        self._interrupted = True

    @abstractmethod
    def stop(self) -> None:
        """Let Spark compute no further; may take a while."""


def batches_of(dataframe: DataFrame) -> ArrowBatches:
    """A run through ``dataframe``."""
    return RemoteBatches(dataframe) if is_remote(dataframe) else LocalBatches(dataframe)


class LocalBatches(ArrowBatches):
    """Those of a session in this process: its JVM serves them, partition by partition."""

    def __init__(self, dataframe: Any) -> None:
        super().__init__(dataframe)
        self._context = dataframe.sparkSession.sparkContext
        self._socket: socket.socket | None = None
        self._stream: BinaryIO | None = None

    def pull(self, *, ahead: bool) -> Iterator[pa.RecordBatch]:
        """Ask for a partition, read its batches, and so on."""
        schema = self._schema()
        try:
            stream, server = self._serve(ahead)
            while not self._interrupted and self._has_partition(stream, server):
                while (size := read_number(stream)) >= 0:
                    yield read_message(stream, size, schema)
        except Exception:
            if not self._interrupted:
                raise
        finally:
            self._disconnect()

    def interrupt(self) -> None:
        """End the connection, which is what the thread that pulls waits for, mostly."""
        super().interrupt()
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already

    def stop(self) -> None:
        """Cancel the job that is being computed, or about to be."""
        cancel_jobs(self._context, self._tag)

    def _schema(self) -> pa.Schema:
        return arrow_schema_of(self._dataframe.schema, large=has_large_types(self._dataframe))

    def _serve(self, ahead: bool) -> tuple[BinaryIO, Any]:
        self._context.setJobGroup(self._tag, "batches for a subscriber", interruptOnCancel=True)
        self._stream, self._socket, server = serve_arrow_batches(
            self._dataframe, prefetch_partitions=ahead
        )
        return self._stream, server

    def _disconnect(self) -> None:
        if self._socket is not None and self._stream is not None:
            self._socket.close()
            try:
                self._stream.close()
            except OSError:
                pass  # what was still to be sent has nobody to go to

    def _has_partition(self, stream: BinaryIO, server: Any) -> bool:
        stream.write(NUMBER.pack(NEXT_PARTITION))
        stream.flush()
        status = read_number(stream)
        if status == FAILED:
            server.getResult()  # raises what happened
        return status == NEXT_PARTITION


class RemoteBatches(ArrowBatches):
    """Those of a session of Spark Connect: the server computes ahead of what is pulled."""

    def pull(self, *, ahead: bool) -> Iterator[pa.RecordBatch]:
        """Read what the server sends; it does not ask how far ahead it may be."""
        session = self._dataframe.sparkSession
        session.addTag(self._tag)
        try:
            for answer in answers_of_server(self._dataframe):
                if isinstance(answer, pa.Table):
                    yield from answer.to_batches()
        except Exception:
            if not self._interrupted:
                raise
        finally:
            session.removeTag(self._tag)

    def stop(self) -> None:
        """Let the server stop the query."""
        self._dataframe.sparkSession.interruptTag(self._tag)


class DataFramePublisher:
    """The batches of a DataFrame, which each subscriber has computed again.

    A partition is computed while the one before it is taken if the first request is for all there
    are, or if ``all_wanted`` says so then, on the thread of the run.
    """

    def __init__(
        self, dataframe: DataFrame, *, all_wanted: Callable[[], bool] | None = None
    ) -> None:
        self._dataframe = require_batch_dataframe(dataframe)
        self._all_wanted = all_wanted

    def subscribe(self, subscriber: Subscriber[pa.RecordBatch]) -> None:
        """Start a run for ``subscriber``; Spark starts with the first request."""
        require_subscriber(subscriber)  # 1.9
        run = DataFrameSubscription(batches_of(self._dataframe), subscriber, self._all_wanted)
        del subscriber  # 3.13: an error that somebody keeps also keeps this frame
        run.wake()


class DataFrameSubscription(BaseSubscription[pa.RecordBatch]):
    """One subscriber's way through the DataFrame, on a thread of its own.

    A second thread stops Spark while the first one waits for it.
    """

    __slots__ = ("_all_wanted", "_batches", "_iterator", "_pool")

    def __init__(
        self,
        batches: ArrowBatches,
        subscriber: Subscriber[pa.RecordBatch],
        all_wanted: Callable[[], bool] | None,
    ) -> None:
        self._pool = ThreadPool(2, name="penstock-dataframe")
        super().__init__(subscriber, self._pool)
        self._all_wanted = all_wanted or self._all_requested
        self._batches = batches
        self._iterator: Iterator[pa.RecordBatch] | None = None

    def _serve(self) -> None:
        wanted = self.demand.outstanding
        if not wanted:
            return
        try:
            if self._iterator is None:
                self._iterator = self._batches.pull(ahead=self._all_wanted())
            sent = self._emit(islice(self._iterator, wanted))
        except Exception as error:
            if self._wanted:  # or else it is but the echo of the interrupt
                self._fail(explained(error))  # 1.4
        else:
            if sent < wanted:
                self._complete()  # 1.2, 1.5

    def _all_requested(self) -> bool:
        return self.demand.outstanding >= UNBOUNDED

    def _leave(self, mark: Exception) -> bool:
        """A stream that ends early does not wait for Spark, and Spark stops working for it."""
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

    def __init__(
        self,
        dataframe: DataFrame,
        *,
        batches: bool = False,
        prefetch_partitions: bool | None = None,
    ) -> None:
        super().__init__("from_dataframe")
        self._dataframe = require_batch_dataframe(dataframe)
        self._batches = batches
        self._prefetch_partitions = prefetch_partitions

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to the batches, of which one is held at a time."""
        return self.open_at_most(run, per_output, UNBOUNDED)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """The same; where it is known that not all are taken, no partition is computed ahead."""

        def all_wanted() -> bool:
            if self._prefetch_partitions is not None:
                return self._prefetch_partitions
            return most >= UNBOUNDED and run.wanted >= UNBOUNDED

        publisher = DataFramePublisher(self._dataframe, all_wanted=all_wanted)
        batches = opened(publisher, run, prefetch=1, operator=self.name)
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
            "use penstock.spark.SparkFlow.from_stream"
        )
    return dataframe
