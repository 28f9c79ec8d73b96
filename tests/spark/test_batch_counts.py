"""What Spark reports of its batches is added up: no batch twice, and none missed unseen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import Row

from penstock.spark.egress.batch_counts import (
    OBSERVED,
    ROWS,
    BatchCount,
    BatchCounts,
    LateRows,
    SparkCounts,
    counted,
    position,
)
from penstock.spark.egress.batch_phases import BatchReport


def report(number: int, start: int, end: int, *late: tuple[str, int], executed: bool = True) -> Any:
    """As Spark reports a batch."""
    return {
        "batchId": number,
        "durationMs": {"addBatch": 5} if executed else {"latestOffset": 1},
        "observedMetrics": {OBSERVED: Row(**{ROWS: end - start})} if executed else {},
        "sources": [
            {"startOffset": place(start), "endOffset": place(end), "numInputRows": end - start}
        ],
        "stateOperators": [
            {
                "operatorName": name,
                "numRowsDroppedByWatermark": rows,
                "numRowsTotal": 7,
                "memoryUsedBytes": 512,
            }
            for name, rows in late
        ],
    }


def place(position: int) -> str:
    """Before the first batch Spark writes that there is none."""
    return json.dumps({"journal": "a", "position": position} if position else None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("null", 0),
        ('{"journal": "a", "position": 7}', 7),
        ("None", 0),  # as older releases have it
        ("{'journal': 'a', 'position': 7}", 7),
    ],
)
def test_a_position_is_read_however_spark_writes_it(text: str, found: int) -> None:
    assert position(text) == found


class Query:
    """A query whose reports the test writes."""

    def __init__(self) -> None:
        self.reports: list[Any] = []
        self.late: Mapping[int, int] = {}
        self.asked = 0

    def counted_after(self, batch: int) -> Sequence[BatchCount]:
        return counted(self.reports, batch)

    def late_rows(self) -> Mapping[int, int]:
        self.asked += 1
        return self.late


def test_batches_are_added_up_once_however_often_spark_reports_them() -> None:
    query, counts = Query(), BatchCounts()
    counts.arrived(query, 0, 10)
    query.reports = [report(0, 0, 10)]
    for _ in range(3):
        counts.update(query)
    counts.arrived(query, 1, 4)
    counts.arrived(query, 1, 5)  # Spark gave it once more
    query.reports += [report(1, 10, 15), report(2, 15, 15, executed=False)]
    counts.update(query)
    assert dict(counts.totals.phases)["compute"] == 0.005
    assert replace(counts.totals, phases=()) == SparkCounts(
        1, planned=15, read=15, left=15, arrived=15, last_planned=5
    )


def test_what_spark_connect_reports_is_read_as_well() -> None:
    """There the sum of all sources is missing, and a row comes as its values and its schema."""
    theirs = report(0, 0, 10)
    theirs["numInputRows"] = None
    theirs["observedMetrics"] = {OBSERVED: Row(values=[7], schema={"type": "struct"})}
    report_of_time = BatchReport({"addBatch": 5})
    assert counted([theirs], -1) == [
        BatchCount(0, planned=10, read=10, left=7, late=(), report=report_of_time)
    ]


@pytest.mark.parametrize(
    ("start", "end", "rows", "counted_rows"),
    [
        (None, '{"logOffset": 0}', 4, 4),
        ('{"logOffset": 0}', '{"logOffset": 0}', 0, 0),  # a journal was read beside it
        ('{"logOffset": 0}', '{"logOffset": 1}', 0, None),  # Spark does not say
        (None, "0", 0, 0),  # a rate that has not begun
        ("7", "not JSON", 3, 3),
    ],
)
def test_rows_of_a_stream_are_those_that_spark_has_read(
    start: str | None, end: str, rows: int, counted_rows: int | None
) -> None:
    mixed = report(0, 0, 10)
    mixed["sources"] += [{"startOffset": start, "endOffset": end, "numInputRows": rows}]
    (found,) = counted([mixed], -1)
    assert (found.planned, found.read, found.streamed) == (10 + rows, 10 + rows, (counted_rows,))


@pytest.mark.parametrize(
    ("start", "taken", "counted_rows"),
    [(0, 9, 9), (0, None, None), (1, 9, 0)],
    ids=["functions have left rows out", "nobody knows", "a batch without new rows"],
)
def test_rows_of_publishers_are_those_that_tasks_took_before_functions(
    start: int, taken: int | None, counted_rows: int | None
) -> None:
    asked: list[object] = []

    def tell(end: object) -> int | None:
        asked.append(end)
        return taken

    begin, end = ({"batches": batches, "began": [[None, False]]} for batches in (start, 1))
    batch = report(0, 0, 0)
    source = {"startOffset": json.dumps(begin), "endOffset": json.dumps(end), "numInputRows": 4}
    batch["sources"] = [source]
    (found,) = counted([batch], -1, tell)
    assert found.streamed == (counted_rows,)
    assert found.planned == (counted_rows or 0)
    assert found.read == 4
    assert asked == ([] if start else [end])


def test_batches_of_which_spark_does_not_say_what_it_has_read_are_counted() -> None:
    query, counts = Query(), BatchCounts()
    for number, rows in enumerate((4, 0, 5)):
        batch = report(number, 0, 0)
        stream = {"startOffset": f"{number}", "endOffset": f"{number + 1}", "numInputRows": rows}
        batch["sources"] += [stream]
        query.reports.append(batch)
    counts.update(query)
    assert (counts.totals.streamed, counts.totals.uncounted) == ((9,), 1)
    assert counts.totals.last_planned == 5


def test_a_report_that_spark_waits_is_none_of_a_batch() -> None:
    query, counts = Query(), BatchCounts()
    query.reports = [report(0, 0, 10, executed=False)]
    counts.update(query)
    assert counts.totals.batch == -1
    query.reports += [report(0, 0, 10)]
    counts.update(query)
    assert (counts.totals.batch, counts.totals.planned) == (0, 10)


def test_rows_that_did_not_arrive_are_seen() -> None:
    query, counts = Query(), BatchCounts()
    counts.arrived(query, 0, 7)
    query.reports = [report(0, 0, 10)]
    counts.update(query)
    assert (counts.totals.left, counts.totals.arrived) == (10, 7)


def test_batches_that_nobody_saw_are_counted_as_missed() -> None:
    query, counts = Query(), BatchCounts()
    counts.go_on_after(4)
    query.reports = [report(8, 10, 20)]
    counts.update(query)
    assert (counts.totals.batch, counts.totals.missed) == (8, 3)


def test_late_rows_are_counted_for_each_operator() -> None:
    query, counts = Query(), BatchCounts()
    operators = [("dedupe", 2), ("symmetricHashJoin", 1), ("symmetricHashJoin", 0)]
    query.reports = [report(0, 0, 10, *operators), report(1, 10, 20, *operators)]
    counts.update(query)
    assert counts.totals.late == {
        "dropDuplicates": LateRows("dropDuplicates", 4),
        "join 1": LateRows("join 1", 2),
        "join 2": LateRows("join 2", 0),
    }


def test_an_aggregation_counts_groups_unless_its_rows_were_counted() -> None:
    query, counts = Query(), BatchCounts()
    query.reports = [report(0, 0, 10, ("stateStoreSave", 0))]
    counts.update(query)
    assert counts.totals.late["aggregation"] == LateRows("aggregation", 0)
    query.late = {0: 300}
    counts.arrived(query, 1, 1)
    query.reports += [report(1, 10, 400, ("stateStoreSave", 3))]
    counts.update(query)
    assert counts.totals.late["aggregation"] == LateRows("aggregation", 300)
    query.late = {}
    counts.arrived(query, 2, 1)
    query.reports += [report(2, 400, 500, ("stateStoreSave", 2))]
    counts.update(query)
    assert counts.totals.late["aggregation"] == LateRows("aggregation", 302, exact=False)


def test_nobody_looks_for_late_rows_where_there_is_no_state() -> None:
    query, counts = Query(), BatchCounts()
    counts.go_on_after(2)
    counts.arrived(query, 3, 1)
    assert query.asked == 1  # it is not known yet
    query.reports = [report(3, 10, 11)]
    counts.arrived(query, 4, 1)
    assert query.asked == 1


def test_a_query_that_is_gone_leaves_the_counts_as_they_are() -> None:
    class Gone(Query):
        def counted_after(self, batch: int) -> Sequence[BatchCount]:
            raise ConnectionError("the JVM is gone")

    counts = BatchCounts()
    counts.update(Gone())
    assert counts.totals == SparkCounts()


def test_what_nobody_reads_is_not_counted() -> None:
    query, counts = Query(), BatchCounts(enabled=False)
    query.reports = [report(0, 0, 10)]
    counts.arrived(query, 0, 10)
    assert (counts.totals, query.asked) == (SparkCounts(), 0)


def test_a_listener_is_told_when_something_was_counted() -> None:
    query, counts, told = Query(), BatchCounts(), list[int]()
    counts.listener = lambda: told.append(counts.totals.batch)
    counts.update(query)
    query.reports = [report(0, 0, 10), report(1, 10, 20)]
    counts.update(query)
    counts.update(query)
    assert told == [1]
