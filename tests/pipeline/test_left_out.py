"""Rows that do not come out of Spark are counted one by one: late ones, and filtered ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATIENCE = 500
COUNT = 5_000
FUTURE = 500
"""The number of the element whose time lies far in the future."""

pytestmark = pytest.mark.timeout(600)


def with_time(frame: DataFrame) -> DataFrame:
    from pyspark.sql.functions import timestamp_seconds

    return frame.withColumn("time", timestamp_seconds("seconds")).withWatermark(
        "time", "10 seconds"
    )


def windows(frame: DataFrame) -> DataFrame:
    from pyspark.sql.functions import collect_list, window

    found = with_time(frame).groupBy(window("time", "100 seconds"))
    return found.agg(collect_list("number").alias("numbers")).select("numbers")


def distinct(frame: DataFrame) -> DataFrame:
    from pyspark.sql.functions import array

    return (
        with_time(frame).dropDuplicates(["number", "time"]).select(array("number").alias("numbers"))
    )


def on_spark(numbers: Any) -> Any:
    return numbers.on_spark("number long, seconds long", resume="from_start", batch_rows=1_000)


def in_windows(numbers: Any) -> Any:
    return on_spark(numbers).frame(windows)


def in_sql(numbers: Any) -> Any:
    return (
        on_spark(numbers)
        .frame(with_time)
        .sql(
            "SELECT collect_list(number) AS numbers FROM {stream} "
            "GROUP BY window(time, '100 seconds')"
        )
    )


def without_duplicates(numbers: Any) -> Any:
    return on_spark(numbers).frame(distinct)


def only_even(numbers: Any) -> Any:
    return on_spark(numbers).filter(lambda row: row.number % 2 == 0)


def element(number: int) -> tuple[int, int]:
    return number, 2_000_000_000 if number == FUTURE else number


class Accepted:
    """A sink that knows which numbers have come through."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, row: Any) -> None:
        self.numbers.extend(row.numbers)


def ended(through: Any, sink: Any, count: int, **place: Any) -> PipelineRun:
    pipeline = Pipeline(
        "late",
        sources={"numbers": lambda settings: Flow.range(count).map(element)},
        transform=through,
        sinks={"accepted": lambda settings: sink},
    )
    run = PipelineRun(pipeline, NoSettings(), RunTarget(**place))
    run.start()
    assert run.wait(PATIENCE)
    assert run.state == "completed", run.error
    return run


@pytest.mark.parametrize(
    "through", [in_windows, without_duplicates, pytest.param(in_sql, marks=pytest.mark.full)]
)
def test_each_row_that_came_too_late_is_counted(through: Any) -> None:
    accepted = Accepted()
    status = ended(through, accepted, COUNT).status()
    ledger = status.ledger
    # The window of the element from the future is still open; all others are in what came out.
    late = {*range(COUNT)} - {*accepted.numbers} - {FUTURE}
    assert len(accepted.numbers) == len({*accepted.numbers})
    assert len(late) >= 2_999
    assert (ledger.taken, ledger.late, ledger.at_least) == (COUNT, len(late), ())
    (cause,) = ledger.causes
    assert (cause.field, cause.count, cause.place) == ("late", len(late), "spark")
    assert (ledger.lost, ledger.filtered) == (0, None)
    # What is still kept is the element from the future.
    assert [(each.rows, each.late) for each in status.kept] == [(1, len(late))]
    assert all(each.bytes for each in status.kept)


def test_rows_that_a_function_leaves_out_are_counted_as_filtered(tmp_path: Path) -> None:
    """Twice, so that a second run goes on with the history of the first."""
    taken: list[int] = []
    for _ in range(2):
        run = ended(
            only_even,
            lambda row: taken.append(row.number),
            100,
            checkpoint=str(tmp_path / "checkpoint"),
        )
        ledger = run.status().ledger
        assert (ledger.taken, ledger.delivered, ledger.filtered) == (100, 50, 50)
        assert (ledger.lost, ledger.difference, ledger.at_least) == (0, 0, ())
        assert taken == list(range(0, 100, 2))
