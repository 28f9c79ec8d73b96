"""``SparkFlow``: a stream that runs on Spark, assembled as a ``Flow`` is, and a publisher again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import pyarrow as pa

from penstock.api import Publisher, Subscriber
from penstock.flow import Flow
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable
from penstock.flow.engine.call_site import caller
from penstock.runtime import shorten
from penstock.runtime.arguments import require_flag, require_text
from penstock.spark.egress.dataframe_sinks import ForEachPartition, for_each_batch
from penstock.spark.egress.query import NativeSink
from penstock.spark.egress.rows import (
    NumberedBatch,
    Positioned,
    batches_of,
    nothing_of,
    numbered,
    positioned_in,
    rows_of,
)
from penstock.spark.from_spark import FromSpark
from penstock.spark.ingest.schema import Schema, SchemaLike
from penstock.spark.partitioned_input import partitioned_input
from penstock.spark.picture import drawn_plan
from penstock.spark.plan import (
    BATCH_ROWS,
    SparkPlan,
    joined,
    new_plan,
    united,
)
from penstock.spark.session.spark_session import SparkSettings
from penstock.spark.sql_query import selecting
from penstock.spark.stateful_stage import PROCESSING_TIME, stateful_stage
from penstock.spark.stream_input import StreamInput, stream_input
from penstock.spark.workers.functions import BatchStage, FrameStage, RowStage, SparkStage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from penstock.spark.workers.stateful import KeyState

__all__ = ["SparkFlow", "flow_of"]

WITHIN = 1.0


class SparkFlow:
    """A cold publisher of rows that Spark makes. Each subscription runs a query of its own.

    Python functions run in Spark's workers, adjacent ones in one pass. Rows are named tuples.

    ``site``  the line of the user's code that made it
    """

    on_spark = True

    def __init__(self, plan: SparkPlan) -> None:
        self._plan = plan
        self.site = caller()

    @classmethod
    def from_stream(
        cls,
        dataframe: DataFrame,
        *,
        name: str = "pipeline",
        checkpoint: str | Path | None = None,
        output_mode: str = "append",
        until_end: bool = False,
        accept_state_change: bool = False,
    ) -> SparkFlow:
        """A streaming DataFrame, which Spark reads itself: Kafka, files, whatever it can read.

        There is no journal: Spark keeps the offsets of the source, in ``checkpoint``. Spark may
        plan a batch at any time, and computes it when an element is wanted. So the source needs a
        limit of its batches, such as ``maxFilesPerTrigger`` or ``maxOffsetsPerTrigger``; one that
        is known to have none is refused. With ``until_end`` the stream completes when all is
        through that was there at the start, else it never does.

        >>> files = spark.readStream.schema("city string").option(  # doctest: +SKIP
        ...     "maxFilesPerTrigger", 10
        ... ).json("/data/cities")
        >>> SparkFlow.from_stream(files).rows().subscribe(subscriber)  # doctest: +SKIP
        """
        operator = "from_stream"
        given = stream_input(operator, dataframe)
        settings = SparkSettings(session=dataframe.sparkSession)
        plan = new_plan(
            given, settings, name, checkpoint, output_mode, accept_state_change=accept_state_change
        )
        return cls(replace(plan, until_end=require_flag(operator, "until_end", until_end)))

    @classmethod
    def partitioned(
        cls,
        make_publisher: Callable[[int], Publisher[Any]],
        *,
        partitions: int,
        schema: SchemaLike,
        name: str = "pipeline",
        checkpoint: str | Path | None = None,
        master: str | None = None,
        remote: str | None = None,
        session: SparkSession | None = None,
        resume: Literal["from_start"] | None = None,
        batch_rows: int | None = None,
        within: float | timedelta = WITHIN,
        output_mode: str = "append",
        accept_state_change: bool = False,
    ) -> SparkFlow:
        """Publishers that run on Spark's executors, one for each of ``partitions``.

        ``make_publisher(partition)`` is called in the tasks of each batch, with 0 for the first.
        What it returns is asked for the rows that the batch may have, ``batch_rows`` divided by
        ``partitions``, and cancelled when it has given them, or after ``within`` seconds. The next
        batch goes on after the last element that was taken; so does another attempt of a task, up
        to where the first one ended. No row is in the driver, and there is no journal.

        A publisher that cannot go on after an element is refused: a connector that can, or
        ``Flow.resumable(...)``, or with ``resume="from_start"`` anything that gives the same
        elements each time. The stream completes when all publishers have.

        >>> def numbers(partition):
        ...     return Flow.range(partition * 100, partition * 100 + 50).map(lambda n: (n,))
        >>> rows = SparkFlow.partitioned(numbers, partitions=4, schema="n long").rows()
        """
        rows = BATCH_ROWS if batch_rows is None else batch_rows
        given = partitioned_input(make_publisher, partitions, schema, rows, within, resume)
        settings = SparkSettings(master=master, remote=remote, session=session)
        plan = new_plan(
            given, settings, name, checkpoint, output_mode, accept_state_change=accept_state_change
        )
        return cls(plan)

    @property
    def is_read_by_spark(self) -> bool:
        """Whether no element goes onto Spark from this program."""
        return not self._plan.journaled

    @property
    def streams(self) -> tuple[StreamInput, ...]:
        """The streams that Spark reads itself."""
        return self._plan.streams

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start a query for ``subscriber``, whose demand drives it."""
        flow_of(self).subscribe(subscriber)

    # What happens on Spark.

    def map(self, function: Callable[[Any], Any], *, schema: SchemaLike | None = None) -> SparkFlow:
        """Each row becomes ``function(row)``, of the given schema or of the same as before."""
        return self._with_function("map", function, schema)

    def filter(self, function: Callable[[Any], object]) -> SparkFlow:
        """Only the rows for which ``function`` holds."""
        return self._with_function("filter", function, None)

    def flat_map(
        self, function: Callable[[Any], Any], *, schema: SchemaLike | None = None
    ) -> SparkFlow:
        """Each row becomes all of ``function(row)``, an iterable."""
        return self._with_function("flat_map", function, schema)

    def map_batches(
        self,
        function: Callable[[pa.RecordBatch], pa.RecordBatch],
        *,
        schema: SchemaLike | None = None,
    ) -> SparkFlow:
        """Each ``RecordBatch``, which is part of one of Spark's batches, becomes another."""
        require_callable("map_batches", function)
        return self._then(BatchStage("map_batches", function, optional(schema)))

    def frame(self, function: Callable[[DataFrame], DataFrame]) -> SparkFlow:
        """Whatever Spark's data frames can do: joins, windows, state. ``function`` runs here."""
        return self._then(FrameStage("frame", require_callable("frame", function)))

    def sql(self, query: str) -> SparkFlow:
        """The result of a query in SQL, in which ``{stream}`` stands for the rows so far."""
        return self._then(FrameStage("sql", selecting(query)))

    def stateful(
        self,
        function: Callable[[Any, Iterable[Any], KeyState], Iterable[Any] | None],
        *,
        key: str | Sequence[str],
        schema: SchemaLike,
        state: SchemaLike,
        timeouts: Literal["processing_time", "event_time"] | None = None,
    ) -> SparkFlow:
        """Keep something for each key: ``function(key, rows, state)`` makes rows of ``schema``.

        It is called for each key of a batch, in Spark's workers. ``state.value`` is what was kept
        for the key, a named tuple of the schema ``state``, or ``None``; ``state.update(...)``
        and ``state.remove()`` change it. It survives a crash, exactly, with the checkpoint. The
        state is on RocksDB, so that it may be larger than the memory.

        With ``timeouts``, ``state.time_out_at(moment)`` has the function called without rows once
        ``state.now`` is there, with ``state.timed_out``: ``now`` is the time of the batch, or by
        ``"event_time"`` the watermark. A key has one such moment; a new one replaces it, and
        ``remove`` drops it. When the stream completes, moments that are still to come are not
        waited for.

        >>> def total(customer, orders, state):
        ...     before = state.value.total if state.value else 0.0
        ...     state.update((before + sum(order.total for order in orders),))
        ...     yield customer, state.value[0]
        >>> orders = Flow.of((1, 9.5), (2, 1.0)).on_spark("customer long, total double")
        >>> totals = orders.stateful(
        ...     total, key="customer", schema="customer long, total double", state="total double"
        ... )
        """
        stage = stateful_stage(self._plan, function, key, schema, state, timeouts)
        ticks = self._plan.ticks or timeouts == PROCESSING_TIME
        return SparkFlow(replace(self._then(stage)._plan, ticks=ticks))

    def join(self, other: SparkFlow, on: str | list[str] | Column, how: str = "inner") -> SparkFlow:
        """Rows of both streams that belong together, as Spark's ``join`` has it.

        Each side keeps what may still find a partner; a watermark on both bounds that.
        """
        if not isinstance(other, SparkFlow):
            raise TypeError(f"join needs another SparkFlow, not {shorten(other)}")
        return SparkFlow(joined(self._plan, other._plan, on, how))

    def union(self, *others: SparkFlow) -> SparkFlow:
        """The rows of all streams, as Spark's ``unionByName`` has it: columns go by their names.

        Each stream has a journal of its own, unless Spark reads it itself, and goes on by itself
        after a restart.
        """
        for other in others:
            if not isinstance(other, SparkFlow):
                raise TypeError(f"union needs other SparkFlows, not {shorten(other)}")
        return SparkFlow(united([self._plan, *(other._plan for other in others)]))

    # What comes back.

    def rows(self) -> Flow[Any]:
        """The rows as a ``Flow`` of named tuples, with all its operators, in this program."""
        return BaseFlow._from(FromSpark(self._plan.operator, self._plan, rows_of))

    def batches(self) -> Flow[pa.RecordBatch]:
        """The rows as a ``Flow`` of Arrow batches, which costs nothing per row."""
        return BaseFlow._from(FromSpark(self._plan.operator, self._plan, batches_of))

    def numbered_batches(self) -> Flow[NumberedBatch]:
        """Whole batches with their numbers, for a sink that stores both or none.

        After a crash the last batch comes again, with the same number. A sink that stores
        ``batch.mark`` together with the rows asks ``batch.is_stored(its_last_mark)``. A batch of
        Spark that has no rows comes as well.
        """
        return BaseFlow._from(FromSpark(self._plan.operator, self._plan, numbered))

    def positioned(self) -> Flow[Positioned]:
        """The rows with the number of their batch and their place in it.

        After a crash the last batch comes again with the same number. Without a shuffle each row
        has the same place again, so a sink that stores ``row.mark`` together with the row asks
        ``row.is_stored(its_last_mark)``, and has each row once.
        """
        return BaseFlow._from(FromSpark(self._plan.operator, self._plan, positioned_in))

    def write(
        self,
        format: str,  # noqa: A002 - Spark's name
        *,
        partition_by: tuple[str, ...] = (),
        table: str = "",
        **options: object,
    ) -> Flow[NoReturn]:
        """Write to a sink of Spark itself, such as parquet; no row comes back here.

        ``options`` are those of the sink, such as ``path``; ``table`` names the rows of the memory
        sink. The flow has no elements; it completes when all rows are written.
        """
        sink = NativeSink(
            require_text("write", "format", format),
            {name: str(value) for name, value in options.items()},
            partition_by,
            table,
        )
        return BaseFlow._from(FromSpark("write", self._plan, nothing_of, sink))

    def for_each_batch(self, function: Callable[[DataFrame, int], object]) -> Flow[NoReturn]:
        """Call ``function(dataframe, batch_id)`` for each batch; no row comes back here.

        As Spark's ``foreachBatch``: for ``MERGE``, JDBC, several tables. The function sets the
        pace: the next batch is planned when it has returned. A batch comes again after a crash,
        with the same number. The function runs in this program, and over Spark Connect on the
        server. The flow has no elements; it completes when the last batch is done.
        """
        sink = for_each_batch(function)
        plan = replace(self._plan, sinks=(*self._plan.sinks, sink))
        return BaseFlow._from(FromSpark("for_each_batch", plan, None))

    def for_each_partition(
        self, subscriber_factory: Callable[[int, int], Subscriber[Any]]
    ) -> Flow[NoReturn]:
        """Give rows to subscribers in Spark's workers: one for each partition of each batch.

        ``subscriber_factory(batch_id, partition_id)`` makes each of them. It is subscribed to its
        partition and gets what it asks for. One that cancels leaves the rest out; one that raises
        fails its task. Spark may run a task more than once, also two attempts at a time: all of
        them get the same numbers. One that stores these together with its rows, in a transaction
        and under a unique key, has each row once. The flow has no elements; it completes when all
        rows are taken.
        """
        from penstock.spark.workers.partitions import ToSubscribers

        give = ToSubscribers.made_by(require_callable("for_each_partition", subscriber_factory))
        if self._plan.settings.is_remote:
            plan = replace(self._plan, sinks=(*self._plan.sinks, ForEachPartition(give)))
            return BaseFlow._from(FromSpark("for_each_partition", plan, None))
        stage = FrameStage(
            "for_each_partition", lambda frame: frame.mapInArrow(give, frame.schema), give
        )
        return BaseFlow._from(FromSpark("for_each_partition", self._then(stage)._plan, nothing_of))

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"a SparkFlow has no {name!r}")
        on_frames = f".frame(lambda frame: frame.{name}(...))" if is_of_data_frames(name) else ""
        if hasattr(Flow, name):
            on_spark = f", or {on_frames} to do it on Spark" if on_frames else ""
            raise AttributeError(
                f"{name} needs one order of elements, which rows on Spark do not have; write "
                f".rows().{name}(...) to do it in this program{on_spark}"
            )
        hint = f"; Spark's data frames have: write {on_frames}" if on_frames else ""
        raise AttributeError(f"a SparkFlow has no {name!r}{hint}")

    def __repr__(self) -> str:
        names = [stage.name for stage in self._plan.stages]
        return f"<SparkFlow {self._plan.name}: {' '.join([self._plan.operator, *names])}>"

    def _repr_html_(self) -> str:
        return drawn_plan(self._plan)

    def _with_function(
        self, name: str, function: Callable[[Any], Any], schema: SchemaLike | None
    ) -> SparkFlow:
        require_callable(name, function)
        return self._then(RowStage(name, function, optional(schema)))

    def _then(self, stage: SparkStage) -> SparkFlow:
        return SparkFlow(replace(self._plan, stages=(*self._plan.stages, stage)))


def flow_of(rows: SparkFlow) -> Flow[Any]:
    """``rows`` for a part that takes any publisher, where the user has called no ``rows()``.

    Errors name the line that made it. The one that calls this is a line of ours.
    """
    origin = FromSpark(rows._plan.operator, rows._plan, rows_of)
    origin.site = rows.site
    return BaseFlow._from(origin)


def is_of_data_frames(name: str) -> bool:
    """Whether Spark's data frames have an attribute of this name."""
    from pyspark.sql import DataFrame  # on demand: it takes a while

    return hasattr(DataFrame, name)


def optional(schema: SchemaLike | None) -> Schema | None:
    """A schema, if one is given."""
    return None if schema is None else Schema.of(schema)
