"""How many rows came too late for an aggregation.

A window for which a thousand rows come too late is dropped as one. So the rows of a batch in which
that happened are counted once more, in Spark, as they are upstream of the aggregation: by the
same plan and the same watermark, while the batch still waits to be committed.

That takes objects of Spark's JVM. Where they are out of reach, as over Spark Connect, or are not
what is expected here, nothing is found, and it stays at "so many or more".
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from penstock.spark.private_api import dataframe_of, last_execution, scala_sequence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

__all__ = ["LateRowCount"]

SAVE: Final = "StateStoreSaveExec"
DROPPED: Final = "numRowsDroppedByWatermark"
WATERMARKED: Final = "spark.watermarkDelayMs"
"""What Spark notes at a column that has a watermark."""
CHECK: Final = "spark.sql.streaming.unsupportedOperationCheck"

logger = logging.getLogger("penstock")


class LateRowCount:
    """Counts the late rows of the batches of one query."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._places: tuple[int, ...] | None = None

    def rows(self, query: StreamingQuery) -> dict[int, int]:
        """The rows that the aggregations of the batch that is being delivered have dropped.

        By the places of these among all operators with state, in the sequence of Spark's reports.
        """
        try:
            execution = last_execution(query)
            if execution is None:
                return {}
            dropped = self._has_dropped(execution.executedPlan())
            return found_in(self._session, execution) if dropped else {}
        except Exception as error:
            logger.debug("the late rows of a batch could not be counted: %s", error)
            return {}

    def _has_dropped(self, plan: Any) -> bool:
        """Whether an aggregation has dropped a group in this batch.

        To visit all nodes takes some calls for each. The plan of the next batch has the same shape,
        so it is asked for the nodes that were found in the last one.
        """
        if self._places is not None:
            nodes = [plan.apply(place) for place in self._places]
            if all(name_of(node) == SAVE for node in nodes):
                return any(map(dropped_at, nodes))
        found = [(place, node) for place, node in enumerate(tree(plan)) if name_of(node) == SAVE]
        self._places = tuple(place for place, _ in found)
        return any(dropped_at(node) for _, node in found)


def found_in(session: SparkSession, execution: Any) -> dict[int, int]:
    """The late rows of one execution of a plan, by the places of its operators."""
    keepers = [node for node in tree(execution.executedPlan()) if keeps_state(node)]
    saves = [(place, node) for place, node in enumerate(keepers) if name_of(node) == SAVE]
    groupings = [
        node
        for node in tree(execution.analyzed())
        if name_of(node) == "Aggregate" and node.isStreaming()
    ]
    if len(groupings) != len(saves):
        return {}  # nobody knows which is which
    return {
        place: before_watermark(session, execution, grouping, watermark_of(node))
        for (place, node), grouping in zip(saves, groupings, strict=True)
        if dropped_at(node)
    }


def before_watermark(session: SparkSession, execution: Any, grouping: Any, watermark: int) -> int:
    """The rows upstream of an aggregation whose group had ended when the watermark stood there."""
    from pyspark.sql.functions import col, lit, timestamp_millis

    own = execution.sparkSession()  # that of the query alone
    columns = list(items(grouping.child().output()))
    time = next(column for column in items(grouping.groupingExpressions()) if has_watermark(column))
    place = next(place for place, each in enumerate(columns) if each.exprId().equals(time.exprId()))
    configuration = own.conf()
    configuration.set(CHECK, "false")  # what is streamed is a range of rows by now
    try:
        rows = dataframe_of(session, own, without_watermarks(session, grouping.child()))
        rows = rows.toDF(*(f"column_{number}" for number in range(len(columns))))
        end = f"column_{place}" + (".end" if time.dataType().typeName() == "struct" else "")
        return int(rows.where(col(end) <= timestamp_millis(lit(watermark))).count())
    finally:
        configuration.unset(CHECK)


def without_watermarks(session: SparkSession, node: Any) -> Any:
    """A plan whose watermarks are left out: Spark 4.0 and 4.1 plan none outside of a stream."""
    children = [without_watermarks(session, child) for child in items(node.children())]
    if name_of(node) == "EventTimeWatermark":
        return children[0]
    return node.withNewChildren(scala_sequence(session, children)) if children else node


def keeps_state(node: Any) -> bool:
    """Whether it is one of the operators of which Spark reports."""
    return bool(node.metrics().contains(DROPPED))


def dropped_at(node: Any) -> int:
    """How many groups an operator has dropped in this batch."""
    return int(node.metrics().apply(DROPPED).value())


def watermark_of(node: Any) -> int:
    """Up to which moment rows are late, in milliseconds since 1970."""
    return int(node.eventTimeWatermarkForLateEvents().get())


def has_watermark(column: Any) -> bool:
    """Whether a column is the one by which rows are late."""
    return name_of(column) == "AttributeReference" and column.metadata().contains(WATERMARKED)


def tree(node: Any) -> Iterator[Any]:
    """A node of a plan and all under it, from the top."""
    yield node
    for child in items(node.children()):
        yield from tree(child)


def items(sequence: Any) -> Iterator[Any]:
    """Those of a sequence of Scala."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def name_of(node: Any) -> str:
    """Its class."""
    name: str = node.getClass().getSimpleName()
    return name
