"""What Spark itself counts in its batches, and how many rows came too late for an aggregation.

A window for which a thousand rows come too late is dropped as one. So the rows of a batch in which
that happened are counted once more, in Spark, as they are upstream of the aggregation: by the
same plan and the same watermark, while the batch still waits to be committed.

That takes objects of Spark's JVM. Where they are out of reach, as over Spark Connect, or are not
what is expected here, nothing is found, and it stays at "so many or more".

Spark keeps the progress of its last hundred batches, and reports that of a batch when it is done
with it. So it is read before the next batch is delivered: none is missed, and none counted twice.
"""

from __future__ import annotations

import json
import logging
import threading
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from penstock.spark.private_api import dataframe_of, last_execution, scala_sequence

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming import StreamingQuery

__all__ = [
    "BatchCount",
    "BatchCounts",
    "LateRowCount",
    "LateRows",
    "SparkCounts",
    "counted",
    "observed",
]

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


OBSERVED: Final = "penstock-rows"
ROWS: Final = "rows"
AGGREGATIONS: Final = ("stateStoreSave", "sessionWindowStateStoreSave")
"""Those drop whole groups, after the rows of each were put together: they count groups."""
OPERATORS: Final = {
    "stateStoreSave": "aggregation",
    "sessionWindowStateStoreSave": "session windows",
    "symmetricHashJoin": "join",
    "dedupe": "dropDuplicates",
    "dedupeWithinWatermark": "dropDuplicatesWithinWatermark",
    "globalLimit": "limit",
    "flatMapGroupsWithState": "applyInPandasWithState",
    "applyInPandasWithState": "applyInPandasWithState",
    "transformWithStateExec": "transformWithState",
    "transformWithStateInPySparkExec": "transformWithState",
}
"""The names of Spark's operators with state, as its users write them."""


class LateRows(NamedTuple):
    """Rows that an operator with state has dropped; if it is not ``exact``, they may be more."""

    operator: str
    rows: int
    exact: bool = True


class BatchCount(NamedTuple):
    """One batch.

    ``planned``  rows of the journals of which it was made
    ``read``     rows that came into the query
    ``left``     rows that came out of it; ``None`` if nobody asked Spark to count them
    """

    number: int
    planned: int
    read: int
    left: int | None
    late: tuple[LateRows, ...]


@dataclass(frozen=True, slots=True)
class SparkCounts:
    """The batches of a run up to ``batch``, added up.

    ``planned``, ``read``, ``left`` and ``late`` are those of ``BatchCount``; ``arrived`` are the
    rows that have reached this program, of the same batches. ``missed`` counts the batches of which
    Spark's report was not seen, and ``through`` says whether functions ran where rows were read.
    """

    batch: int = -1
    planned: int = 0
    read: int = 0
    left: int = 0
    arrived: int = 0
    late: Mapping[str, LateRows] = field(default_factory=dict)
    missed: int = 0
    through: bool = False


class CountingQuery(Protocol):
    """A query that says what it has counted."""

    def late_rows(self) -> Mapping[int, int]:
        """The rows that its aggregations have dropped in the batch that is being delivered.

        By the places of these among the operators with state, as far as that can be found out.
        """

    def counted_after(self, batch: int) -> Sequence[BatchCount]:
        """The batches after that one that are done, the oldest first."""


class BatchCounts:
    """Adds up the batches of a run. Two threads use it: the run's, and the one of Spark's calls.

    enabled   whether anybody reads it
    listener  is told when batches were added
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self.listener: Callable[[], object] = lambda: None
        self._changing = threading.Lock()
        self._arrived: dict[int, int | None] = {}
        self._late: dict[int, Mapping[int, int]] = {}
        self._totals = SparkCounts()
        self._has_counted = False

    @property
    def totals(self) -> SparkCounts:
        """What is known by now. From any thread."""
        return self._totals

    def go_on_after(self, batch: int) -> None:
        """Earlier runs were done with that batch."""
        self._totals = SparkCounts(batch)

    def reads(self, *, through: bool) -> None:
        """Whether functions run where rows are read."""
        self._totals = replace(self._totals, through=through)

    def arrived(self, query: CountingQuery, number: int, rows: int | None) -> None:
        """The rows of a batch are here, perhaps once more; none of them was given away yet.

        ``None`` if they were all for sinks that Spark serves.
        """
        if not self.enabled:
            return
        self.update(query)
        # What an earlier batch shows to be without state has none in this one either.
        stateless = number <= 0 or (self._has_counted and not self._totals.late)
        late = {} if stateless else query.late_rows()
        with self._changing:
            self._arrived[number], self._late[number] = rows, late

    def update(self, query: CountingQuery, until: int | None = None) -> None:
        """Add the batches with which Spark is done since, unless that one is known already."""
        if not self.enabled or (until is not None and self._totals.batch >= until):
            return
        with self._changing:
            try:
                batches = query.counted_after(self._totals.batch)
            except Exception as error:
                # The query is over; if that leaves a gap, the next batch shows it.
                logger.debug("Spark did not say what it has counted: %r", error)
                return
            for each in batches:
                self._add(each)
        if batches:
            self.listener()

    def _add(self, batch: BatchCount) -> None:
        self._has_counted, before = True, self._totals
        arrived = self._arrived.pop(batch.number, None)
        exact = self._late.pop(batch.number, {})
        for number in [each for each in self._arrived if each < batch.number]:
            del self._arrived[number], self._late[number]
        late = dict(before.late)
        for place, each in enumerate(batch.late):
            now = LateRows(each.operator, exact[place]) if place in exact else each
            old = late.get(each.operator, LateRows(each.operator, 0))
            late[each.operator] = LateRows(
                each.operator, old.rows + now.rows, old.exact and now.exact
            )
        # A sink of Spark itself gives no rows back, and where Spark did not count none are missed.
        left = arrived or 0 if batch.left is None else batch.left
        self._totals = replace(
            before,
            batch=batch.number,
            planned=before.planned + batch.planned,
            read=before.read + batch.read,
            left=before.left + left,
            arrived=before.arrived + (left if arrived is None else arrived),
            late=late,
            missed=before.missed + batch.number - before.batch - 1,
        )


def observed(frame: DataFrame) -> DataFrame:
    """``frame``, whose rows Spark counts as they come out."""
    from pyspark.sql.functions import count, lit

    return frame.observe(OBSERVED, count(lit(1)).alias(ROWS))


def counted(reports: Iterable[Mapping[str, Any]], after: int) -> list[BatchCount]:
    """The batches after ``after`` of which Spark reports; it may report that it waits as well."""
    batches = {
        each["batchId"]: count_of(each)
        for each in reports
        if each["batchId"] > after and "addBatch" in each["durationMs"]
    }
    return [batches[number] for number in sorted(batches)]


def count_of(report: Mapping[str, Any]) -> BatchCount:
    """One batch, as Spark reports it."""
    sources = report["sources"]
    return BatchCount(
        report["batchId"],
        sum(position(each["endOffset"]) - position(each["startOffset"]) for each in sources),
        sum(each["numInputRows"] for each in sources),  # Spark Connect has no sum of its own
        observed_rows(report["observedMetrics"] or {}),
        late_in(report["stateOperators"]),
    )


def observed_rows(metrics: Mapping[str, Row]) -> int | None:
    """The rows that came out; ``None`` if nobody asked Spark to count them."""
    if OBSERVED not in metrics:
        return None
    found: dict[str, Any] = metrics[OBSERVED].asDict()
    # Over Spark Connect it is a row that describes the row.
    return int(found[ROWS] if ROWS in found else found["values"][0])


def position(offset: str | None) -> int:
    """A place in a journal; before the first batch there is none."""
    try:
        place = None if offset is None else json.loads(offset)
    except ValueError:  # up to 4.1, Spark gives the text that Python makes of it
        place = literal_eval(str(offset))
    return 0 if place is None else int(place["position"])


def late_in(operators: Sequence[Mapping[str, Any]]) -> tuple[LateRows, ...]:
    """What each operator has dropped; several of one name are numbered, from the last one on."""
    names = [OPERATORS.get(each["operatorName"], each["operatorName"]) for each in operators]
    several, found = Counter(names), Counter[str]()
    late = []
    for name, each in zip(names, operators, strict=True):
        found[name] += 1
        dropped = each["numRowsDroppedByWatermark"]
        late.append(
            LateRows(
                f"{name} {found[name]}" if several[name] > 1 else name,
                dropped,
                exact=not dropped or each["operatorName"] not in AGGREGATIONS,
            )
        )
    return tuple(late)
