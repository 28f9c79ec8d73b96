"""Apache Spark."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.stage import Replay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.flow.flow import Flow
    from penstock.spark.ingest.conversion import DeadLetter
    from penstock.spark.ingest.schema import SchemaLike
    from penstock.spark.spark_flow import SparkFlow

__all__ = [
    "OnSpark",
    "from_spark",
]

T_co = TypeVar("T_co", covariant=True)


class OnSpark(BaseFlow[T_co]):
    """What moves work to Spark, and what comes from there."""

    __slots__ = ()

    @staticmethod
    def from_dataframe(
        dataframe: DataFrame, *, batches: bool = False, prefetch_partitions: bool | None = None
    ) -> Flow[Any]:
        """The rows of a batch DataFrame of Spark, as named tuples, or its Arrow batches.

        The DataFrame is computed again for each subscriber, on threads of Spark; its partitions
        come one after the other. With ``batches``, elements are ``pyarrow.RecordBatch``.

        ``prefetch_partitions`` computes the next partition while one is taken, as Spark's
        ``toLocalIterator`` does: faster where the JVM has a core to spare, at the memory of one
        more partition there, and of work for nothing if the flow is left. By default that is done
        where all elements are wanted when the flow begins, as in ``run_sync``, and not for a loop
        over ``blocking``, which may be left.

        Emits when: a row is wanted and its batch has come.
        Backpressures when: nothing is wanted; a partition is computed once the one before
            it has been taken, or ahead of that as ``prefetch_partitions`` says.
        Completes when: the last partition has been taken.
        Cancels when: the subscriber does; Spark stops computing.

        Demand: exact. One batch is held at a time. The end is seen with the request after the
        last element.

        Errors: what Spark fails with, in short. At once: ``TypeError`` for what is no DataFrame,
        ``ValueError`` for one that is a stream, ``SparkUnavailable`` if its session was stopped.

        Example:
            >>> squares = spark.range(4).selectExpr("id * id AS square")  # doctest: +SKIP
            >>> Flow.from_dataframe(squares).map(X.square).to_list().run_sync()  # doctest: +SKIP
            [0, 1, 4, 9]
        """
        origin = from_spark("from_dataframe", "dataframe", "FromDataFrame")
        return BaseFlow._from(
            origin(dataframe, batches=batches, prefetch_partitions=prefetch_partitions)
        )

    def on_spark(
        self,
        schema: SchemaLike,
        *,
        name: str = "pipeline",
        checkpoint: str | Path | None = None,
        master: str | None = None,
        remote: str | None = None,
        session: SparkSession | None = None,
        resume: Replay | None = None,
        position: Callable[[T_co], object] | None = None,
        dead_letters: Callable[[DeadLetter], object] | None = None,
        max_rows: int | None = None,
        max_bytes: int | None = None,
        batch_rows: int | None = None,
        output_mode: Literal["append", "update", "complete"] = "append",
        accept_state_change: bool = False,
    ) -> SparkFlow:
        """The same elements as rows of Spark; all that follows runs there, until it comes back.

        Elements are mappings, tuples, dataclasses or Arrow batches that fit ``schema``. They are
        written to a journal, from which Spark reads; what comes out is a publisher of rows again.
        Spark runs within this program, or where ``master``, ``remote`` or ``session`` say.

        With ``checkpoint``, a folder or a URI, the pipeline ``name`` goes on after a crash where
        it was. Without one it starts from the beginning, and its folder is removed at its end.
        Its sources declare how they go on then, and a flow that could not is refused. ``resume``
        has the last word: "from_start" says that sources give the same elements again, and those
        that were recorded are skipped; "position" needs ``Flow.resumable`` and, unless that knows
        them, ``position``, the position of an element; "none" goes on live, with gaps or
        duplicates. A query that would misread the state of the one before is refused, unless it is
        to ``accept_state_change``.

        ``dead_letters`` gets each element that does not fit, with its field and the reason;
        without it, such an element ends the stream. The journal holds at most ``max_rows`` and
        ``max_bytes``; Spark takes at most ``batch_rows`` at a time. ``output_mode`` is Spark's,
        for aggregations.

        Emits when: a row that comes out of Spark is wanted.
        Backpressures when: the journal is full. A batch that is not wanted stops Spark from
            reading; then the journal fills.
        Completes when: upstream completes and all its rows have passed through Spark.
        Cancels when: the subscriber does; the query stops.

        Demand: as much as the journal has room for, ahead of what is wanted. Rows that come out
        are never more than were requested.

        Errors: those from upstream, at once, ahead of rows on their way; what Spark fails with,
        in few words, with the line of the user's code if that is the cause. At assembly:
        ``SchemaError``, and ``ValueError`` for settings that contradict each other, or a flow that
        cannot go on from its checkpoint.

        Example:
            >>> flights = Flow.of(("JFK", 12.0), ("EWR", -3.0))
            >>> late = flights.on_spark("origin string, delay double").filter(  # doctest: +SKIP
            ...     lambda flight: flight.delay > 0)
            >>> late.rows().to_list().run_sync()  # doctest: +SKIP
            [Row(origin='JFK', delay=12.0)]
        """
        make: Any = from_spark("on_spark", "on_spark", "on_spark")
        flow: SparkFlow = make(
            self,
            schema,
            name=name,
            checkpoint=checkpoint,
            master=master,
            remote=remote,
            session=session,
            resume=resume,
            position=position,
            dead_letters=dead_letters,
            max_rows=max_rows,
            max_bytes=max_bytes,
            batch_rows=batch_rows,
            output_mode=output_mode,
            accept_state_change=accept_state_change,
        )
        return flow


def from_spark(operator: str, module: str, name: str) -> Any:
    """``name`` of a module in ``penstock.spark``, for ``operator``."""
    try:
        return getattr(import_module(f"penstock.spark.{module}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{operator} needs {error.name}, which is not installed; install penstock[spark]",
            name=error.name,
        ) from None
