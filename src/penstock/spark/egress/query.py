"""One query of Spark, from its start to its end, and when it is started again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from time import sleep
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from penstock.delivery import DeliveryRefused
from penstock.spark.egress.batch_counts import BatchCount, counted, observed
from penstock.spark.egress.batch_transport import Admit, BatchTransport, Deliver, transport_from
from penstock.spark.egress.dataframe_sinks import BatchFanOut
from penstock.spark.egress.late_rows import LateRowCount
from penstock.spark.failures import (
    OutOfSpace,
    SparkFailed,
    SparkLost,
    Stopped,
    WorkerLost,
    explained,
)
from penstock.spark.private_api import is_remote
from penstock.spark.session.executors import ExecutorWatch
from penstock.spark.stream_input import RowsTaken, StreamRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

__all__ = [
    "PAUSES",
    "NativeSink",
    "ProgramSink",
    "Query",
    "Retries",
    "Transform",
]

PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The seconds before a query is started again that lost a worker."""
SPACE_PAUSE: Final = 2.0
"""The seconds before a query is started again that could not write."""

logger = logging.getLogger("penstock")


class Retries:
    """Counts the starts of the query of a pipeline, and says so.

    ``restarts``  how often it was started again since it had lost a worker
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tries = 0
        self._full: OutOfSpace | None = None
        self.restarts = 0

    @property
    def is_out_of_space(self) -> bool:
        """Whether nothing was done since the query could not write."""
        return self._full is not None

    def progressed(self) -> None:
        """A batch is done: what was before does not count any more."""
        self._tries = 0
        if self._full is not None:
            self._full = None
            logger.warning("%s: there is space again", self._name)

    def pause_after(self, failure: WorkerLost | OutOfSpace) -> float:
        """The seconds to wait; raises the failure itself after too many lost workers.

        A full disk is waited for however long that takes, as the journal does.
        """
        if isinstance(failure, OutOfSpace):
            if self._full is None:
                logger.warning("%s: %s; goes on when there is", self._name, failure)
            self._full = failure
            return SPACE_PAUSE
        if self._tries == len(PAUSES):
            raise failure
        self._tries += 1
        self.restarts += 1
        logger.warning("%s: %s; goes on from the checkpoint", self._name, failure)
        return PAUSES[self._tries - 1]


IDLE: Final = "Waiting for data to arrive"
LOOK: Final = 0.05
PATIENCE: Final = 600
BEGINNING: Final = 30.0
"""The seconds in which a query that delivers a batch must be known here as well."""
numbers = count(1)

Transform = Callable[[Sequence["DataFrame"]], "DataFrame"]
"""From the streams of all inputs to what comes out."""


@dataclass(frozen=True)
class NativeSink:
    """A sink of Spark itself, to which rows go without a way back.

    ``table``  what the sink calls its rows, as Spark's memory sink does
    """

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    table: str = ""


class ProgramSink(NamedTuple):
    """Where batches go that come back to this program, by way of the sinks that Spark serves.

    ``admit``  what each batch has to wait for before it is computed
    """

    deliver: Deliver
    share: BatchFanOut
    admit: Admit | None = None


class Query:
    """A query that reads streams. Its methods block on the JVM: one thread calls them.

    counts  whether Spark counts the rows that come out, for ``counted_after``
    """

    def __init__(self, session: SparkSession, name: str, *, counts: bool = False) -> None:
        self._session = session
        self._name = name
        self._counts = counts
        self._late = LateRowCount(session)
        self._has_begun = threading.Event()
        self._query: StreamingQuery | None = None
        self._returning: BatchTransport | None = None
        self._reads: Sequence[StreamRead] = ()
        self._has_looked = False
        self._until_end = False
        self.page: str | None = None
        """Where Spark shows its queries, if it does; known once the query is started."""

    @cached_property
    def _executors(self) -> ExecutorWatch:
        return ExecutorWatch(self._session)

    def start(
        self,
        reads: Sequence[StreamRead],
        transform: Transform,
        sink: NativeSink | ProgramSink,
        output_mode: str,
        checkpoint: str,
        *,
        until_end: bool = False,
    ) -> None:
        """Begin to read; what comes out goes to ``sink``.

        With ``until_end`` the query ends when it has read what is there now.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            writer = self._writer(reads, transform, sink, output_mode, checkpoint)
            self._until_end = until_end
            if until_end:
                writer = writer.trigger(availableNow=True)
            self._query = writer.start()
            self.page = page_of(self._session)
        except (Py4JError, PySparkException) as error:
            raise explained(error) from error
        finally:
            self._has_begun.set()

    def _writer(
        self,
        reads: Sequence[StreamRead],
        transform: Transform,
        sink: NativeSink | ProgramSink,
        output_mode: str,
        checkpoint: str,
    ) -> DataStreamWriter:
        self._reads = reads
        frames = [read.frame(self._session) for read in reads]
        frame = transform(frames)
        frame = observed(frame) if self._counts else frame
        writer = frame.writeStream.outputMode(output_mode)
        writer = writer.option("checkpointLocation", checkpoint)
        # Spark has no two queries of one name at a time.
        writer = writer.queryName(f"{self._name}-{next(numbers)}")
        if isinstance(sink, NativeSink):
            writer = writer.format(sink.format).options(**sink.options)
            if sink.partition_by:
                writer = writer.partitionBy(*sink.partition_by)
            if sink.table:
                writer = writer.queryName(sink.table)
        else:
            self._returning = transport_from(self._session, sink.deliver, sink.share, sink.admit)
            writer = writer.foreachBatch(self._returning.sink)
        return writer

    def require_active(self) -> None:
        """Raise why the query has ended, if it has: ``Stopped`` if nobody wanted its rows.

        One that reads until the end may end by itself.
        """
        query = self._running
        try:
            active, error = query.isActive, None
            if active:
                self._executors.require()
            else:
                error = query.exception()
        except SparkLost:
            raise  # it runs, and waits in vain
        except Exception as lost:
            failed = explained(lost)
            if isinstance(failed, SparkLost):
                self._query = None  # there is nobody who could stop it
            raise failed from lost
        if error is not None:
            known = error if self._returning is None else self._returning.error or error
            if isinstance(known, Stopped | DeliveryRefused):
                raise known  # it was given up, or a sink has refused it: Spark has not failed
            raise explained(known) from known
        if not (active or self._until_end):
            raise SparkFailed(f"somebody else has stopped the query of {self._name}")

    @property
    def has_read_all(self) -> bool:
        """Whether it reads until the end, and has ended; ``require_active`` says if by an error."""
        try:
            return self._until_end and not self._running.isActive
        except Exception:
            return False  # the JVM is gone

    @property
    def rests(self) -> bool:
        """Whether it does nothing: it has ended, or there is nothing to do."""
        try:
            return not self._running.isActive or self.is_idle
        except Exception:
            return True  # the JVM is gone

    @property
    def is_idle(self) -> bool:
        """Whether it has looked for rows, and found that there is nothing to do."""
        status: Mapping[str, Any] = self._running.status
        idle: bool = status["message"] == IDLE and not status["isDataAvailable"]
        self._has_looked = self._has_looked or idle or status["isDataAvailable"]
        return idle

    def counted_after(self, batch: int) -> Sequence[BatchCount]:
        """What Spark counted in the batches after that one which are done. From any thread."""
        self._has_begun.wait(BEGINNING)
        last: Any = self._running.lastProgress
        if last is None or last["batchId"] <= batch:
            return []
        found = counted([last], batch, self._rows_taken)
        if found and found[0].number == batch + 1:
            return found
        reports = cast("Sequence[Any]", self._running.recentProgress)
        return counted(reports, batch, self._rows_taken)

    @property
    def _rows_taken(self) -> RowsTaken | None:
        """What tells the rows that the only input has taken, where functions run as it is read."""
        return self._reads[0].rows_taken if len(self._reads) == 1 else None

    def late_rows(self) -> Mapping[int, int]:
        """Rows of the batch that is being delivered which aggregations have dropped."""
        self._has_begun.wait(BEGINNING)
        return {} if self._query is None else self._late.rows(self._query)

    def stop(self, within: float = 60.0) -> None:
        """End it. A batch that is being delivered has to be given up before."""
        if self._query is None:
            self._hang_up()
            return
        stopping = threading.Thread(target=self._stop, name="penstock-spark-stop", daemon=True)
        stopping.start()
        stopping.join(within)
        self._hang_up()

    def _hang_up(self) -> None:
        if self._returning is not None:
            self._returning.hang_up()

    def _stop(self) -> None:
        try:
            # A process that Spark is just starting would look for the query in vain, and say so.
            for _ in range(PATIENCE):
                if self.is_idle or self._has_looked or not self._running.isActive:
                    break
                sleep(LOOK)
            self._running.stop()
        except Exception:
            pass  # it had ended by itself, or the JVM is gone

    @property
    def _running(self) -> StreamingQuery:
        assert self._query is not None
        return self._query


def page_of(session: SparkSession) -> str | None:
    """The page of a session on which its queries are, if it serves one."""
    address = None if is_remote(session) else session.sparkContext.uiWebUrl
    return f"{address}/StreamingQuery/" if address else None
