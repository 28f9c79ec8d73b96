"""What Spark itself counts in its batches, added up.

Spark keeps the progress of its last hundred batches, and reports that of a batch when it is done
with it. So it is read before the next batch is delivered: none is missed, and none counted twice.
"""

from __future__ import annotations

import json
import logging
import threading
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from penstock.spark.egress.batch_phases import BatchReport, report_in
from penstock.spark.workers.journal_source import is_of_journal
from penstock.spark.workers.partition_ends import is_of_publishers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from penstock.spark.stream_input import RowsTaken

__all__ = [
    "BatchCount",
    "BatchCounts",
    "KeptState",
    "LateRows",
    "SparkCounts",
    "counted",
    "observed",
]

logger = logging.getLogger("penstock")

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


class KeptState(NamedTuple):
    """What an operator keeps: so many rows, in so many bytes of memory."""

    operator: str
    rows: int
    bytes: int


class BatchCount(NamedTuple):
    """One batch.

    ``planned``   rows of which it was made; of what Spark reads itself, those that it has read
    ``read``      rows that came into the query, downstream of functions that run as it is read
    ``left``      rows that came out of it; ``None`` if nobody asked Spark to count them
    ``streamed``  rows of each source that Spark reads itself; ``None`` if it does not say
    ``kept``      what each operator with state keeps since
    ``report``    where its time went, and the watermark
    """

    number: int
    planned: int
    read: int
    left: int | None
    late: tuple[LateRows, ...]
    streamed: tuple[int | None, ...] = ()
    kept: tuple[KeptState, ...] = ()
    report: BatchReport = BatchReport({})


@dataclass(frozen=True, slots=True)
class SparkCounts:
    """The batches of a run up to ``batch``, added up.

    ``planned``, ``read``, ``left``, ``late`` and ``streamed`` are those of ``BatchCount``;
    ``arrived`` are the rows that have reached this program, of the same batches. ``missed`` counts
    the batches of which Spark's report was not seen, ``uncounted`` those of which it does not say
    how many rows it has read, and ``through`` says whether functions ran where rows were read.
    ``last_planned`` are the rows of the last batch alone; ``None`` if they are not known. What was
    kept after it is in ``kept``, where its time went in ``phases``, in seconds by name, and how far
    event time has come in ``watermark``.
    """

    batch: int = -1
    planned: int = 0
    read: int = 0
    left: int = 0
    arrived: int = 0
    late: Mapping[str, LateRows] = field(default_factory=dict)
    missed: int = 0
    through: bool = False
    streamed: tuple[int, ...] = ()
    uncounted: int = 0
    last_planned: int | None = None
    kept: tuple[KeptState, ...] = ()
    phases: tuple[tuple[str, float], ...] = ()
    watermark: float | None = None


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
        self._arrived_at: tuple[int, float] = (-1, 0.0)
        self._delivery: tuple[int, float] = (-1, 0.0)
        self._delivered_before: tuple[int, float] = (-1, 0.0)
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
            self._arrived_at = number, monotonic()

    def delivered(self, number: int) -> None:
        """All sinks have all of a batch: from its arrival to here is its delivery."""
        with self._changing:
            arrived, at = self._arrived_at
            if arrived == number:
                self._delivered_before, self._delivery = (
                    self._delivery,
                    (number, monotonic() - at),
                )

    def _delivery_of(self, number: int) -> float | None:
        """The seconds; by the time of a report the next batch may be through as well."""
        return dict((self._delivered_before, self._delivery)).get(number)

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
            streamed=tuple(
                total + (rows or 0)
                for total, rows in zip_longest(before.streamed, batch.streamed, fillvalue=0)
            ),
            uncounted=before.uncounted + (None in batch.streamed),
            last_planned=None if None in batch.streamed else batch.planned,
            kept=batch.kept,
            phases=batch.report.phases(self._delivery_of(batch.number)),
            watermark=batch.report.watermark,
        )


def observed(frame: DataFrame) -> DataFrame:
    """``frame``, whose rows Spark counts as they come out."""
    from pyspark.sql.functions import count, lit

    return frame.observe(OBSERVED, count(lit(1)).alias(ROWS))


def counted(
    reports: Iterable[Mapping[str, Any]], after: int, taken: RowsTaken | None = None
) -> list[BatchCount]:
    """The batches after ``after`` of which Spark reports; it may report that it waits as well.

    ``taken`` knows what publishers gave of which Spark sees only what functions left.
    """
    batches = {
        each["batchId"]: count_of(each, taken)
        for each in reports
        if each["batchId"] > after and "addBatch" in each["durationMs"]
    }
    return [batches[number] for number in sorted(batches)]


def count_of(report: Mapping[str, Any], taken: RowsTaken | None) -> BatchCount:
    """One batch, as Spark reports it."""
    sources = report["sources"]
    streamed = tuple(rows_streamed(each, taken) for each in sources if not is_journal(each))
    return BatchCount(
        report["batchId"],
        sum(rows_recorded(each) for each in sources if is_journal(each))
        + sum(filter(None, streamed)),
        sum(each["numInputRows"] for each in sources),  # Spark Connect has no sum of its own
        observed_rows(report["observedMetrics"] or {}),
        late_in(report["stateOperators"]),
        streamed,
        kept_in(report["stateOperators"]),
        report_in(report),
    )


def rows_recorded(journal: Mapping[str, Any]) -> int:
    """The rows that a journal was to give in a batch."""
    return position(journal["endOffset"]) - position(journal["startOffset"])


def rows_streamed(source: Mapping[str, Any], taken: RowsTaken | None) -> int | None:
    """The rows that Spark has read of a source of its own; ``None`` if it does not say.

    It says 0 as well where it lost count, or where the source itself has left rows out. A source
    that is at 0 has given nothing.
    """
    rows = int(source["numInputRows"])
    has_moved = source["endOffset"] not in (source["startOffset"], "0")
    if taken is not None and is_of_publishers(end := offset_in(source["endOffset"])):
        return taken(end) if has_moved else 0
    return None if has_moved and not rows else rows


def is_journal(source: Mapping[str, Any]) -> bool:
    """Whether a source that Spark reports of is a journal."""
    place = offset_in(source["endOffset"])
    return place is None or is_of_journal(place)


def observed_rows(metrics: Mapping[str, Row]) -> int | None:
    """The rows that came out; ``None`` if nobody asked Spark to count them."""
    if OBSERVED not in metrics:
        return None
    found: dict[str, Any] = metrics[OBSERVED].asDict()
    # Over Spark Connect it is a row that describes the row.
    return int(found[ROWS] if ROWS in found else found["values"][0])


def position(offset: str | None) -> int:
    """A place in a journal; before the first batch there is none."""
    place: Any = offset_in(offset)
    return 0 if place is None else int(place["position"])


def offset_in(text: str | None) -> object:
    """An offset as Spark reports it; one that nobody here can read is given back as it is."""
    for read in (json.loads, literal_eval):  # up to 4.1, Spark gives the text that Python makes
        try:
            return None if text is None else read(text)
        except (ValueError, SyntaxError):
            pass
    return text


def late_in(operators: Sequence[Mapping[str, Any]]) -> tuple[LateRows, ...]:
    """What each operator has dropped."""
    late = []
    for name, each in zip(names_of(operators), operators, strict=True):
        dropped = each["numRowsDroppedByWatermark"]
        exact = not dropped or each["operatorName"] not in AGGREGATIONS
        late.append(LateRows(name, dropped, exact=exact))
    return tuple(late)


def kept_in(operators: Sequence[Mapping[str, Any]]) -> tuple[KeptState, ...]:
    """What each operator keeps."""
    named = zip(names_of(operators), operators, strict=True)
    return tuple(
        KeptState(name, each["numRowsTotal"], each["memoryUsedBytes"]) for name, each in named
    )


def names_of(operators: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the operators are called; several of one name are numbered, from the last one on."""
    names = [OPERATORS.get(each["operatorName"], each["operatorName"]) for each in operators]
    several, found = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        found[name] += 1
        numbered.append(f"{name} {found[name]}" if several[name] > 1 else name)
    return numbered
