"""What Spark remembers between batches, against the exact answer, which plain Python computes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from penstock import Flow
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.spark.capabilities import has_state_of_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = "at timestamp, key string"
PATIENCE = 240.0
UNBOUNDED = 1 << 40
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def at(minutes: float) -> datetime:
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)


END = at(1_000_000)
"""So long after all others that it closes their windows."""


def window_of(moment: datetime) -> datetime:
    """The beginning of its ten minutes."""
    return moment.replace(minute=moment.minute // 10 * 10, second=0, microsecond=0)


def counted_by_window(frame: DataFrame) -> DataFrame:
    from pyspark.sql.functions import window

    counts = (
        frame.withWatermark("at", "10 minutes").groupBy(window("at", "10 minutes"), "key").count()
    )
    return counts.select("window.start", "key", "count")


def result(flow: Flow[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in flow.to_list().run_sync() or []]


class Live:
    """A stream that a test feeds by hand, so that it knows what Spark has done before."""

    def __init__(
        self,
        function: Callable[[DataFrame], DataFrame],
        output_mode: Literal["append", "update"] = "append",
    ) -> None:
        self._source: ManualPublisher[Any] = ManualPublisher()
        self._subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
        flow = Flow.from_publisher(self._source).on_spark(EVENTS, output_mode=output_mode)
        flow.frame(function).subscribe(self._subscriber)
        self._source.await_requested(1, PATIENCE)

    def feed(self, *events: tuple[datetime, str], rows: int) -> None:
        """Send the events, and wait until so many rows have come out in all."""
        self._source.next(*events)
        self._subscriber.await_elements(rows, PATIENCE)

    def completed(self) -> list[tuple[Any, ...]]:
        """All rows."""
        self._source.complete()
        self._subscriber.await_end(PATIENCE)
        self._subscriber.assert_completed()
        return [tuple(row) for row in self._subscriber.elements]


# Windows.


def disordered_events(count: int) -> list[tuple[datetime, str]]:
    """Events of which none comes more than five minutes after a later one."""
    dice = random.Random(count)
    return [(at(place / 4 + dice.uniform(0, 5)), dice.choice("abc")) for place in range(count)]


def test_each_window_comes_out_once_with_the_count_of_its_rows() -> None:
    events = disordered_events(500)
    flow = Flow.from_iterable([*events, (END, "end")]).on_spark(EVENTS, batch_rows=90)
    expected = Counter((window_of(moment), key) for moment, key in events)
    assert sorted(result(flow.frame(counted_by_window).rows())) == sorted(
        (start, key, count) for (start, key), count in expected.items()
    )


def test_in_update_mode_the_last_count_of_each_window_is_that_of_its_rows() -> None:
    events = disordered_events(400)
    flow = Flow.from_iterable(events).on_spark(EVENTS, batch_rows=90, output_mode="update")
    updates = result(flow.frame(counted_by_window).rows())
    last = {(start, key): count for start, key, count in updates}
    assert last == Counter((window_of(moment), key) for moment, key in events)
    assert len(updates) > len(last)


def test_a_row_of_a_window_that_has_come_out_is_dropped() -> None:
    live = Live(counted_by_window)
    live.feed((at(0), "a"), (at(9), "a"), (at(61), "b"), rows=1)
    # The watermark is at 51 minutes, where the window of the first is over, of the last not.
    live.feed((at(1), "a"), (at(55), "c"), (at(200), "z"), rows=3)
    rows = live.completed()
    assert rows[0] == (at(0), "a", 2)
    assert sorted(rows[1:]) == [(at(50), "c", 1), (at(60), "b", 1)]


def test_in_update_mode_a_row_before_the_watermark_is_dropped_and_one_after_it_counts() -> None:
    live = Live(counted_by_window, output_mode="update")
    live.feed((at(0), "a"), (at(60), "b"), rows=2)
    # Spark drops by the watermark with which the batch before began: one batch lies between.
    live.feed((at(60), "b"), rows=3)
    live.feed((at(1), "a"), (at(55), "c"), rows=4)
    last = {(start, key): count for start, key, count in live.completed()}
    assert last == {(at(0), "a"): 1, (at(50), "c"): 1, (at(60), "b"): 2}


def test_windows_that_the_last_batch_has_closed_come_out_after_a_restart(tmp_path: Path) -> None:
    def run(wanted: int) -> ManualSubscriber[Any]:
        subscriber: ManualSubscriber[Any] = ManualSubscriber(request=wanted)
        events = [(at(1), "a"), (at(2), "a"), (END, "end")]
        flow = Flow.from_iterable(events).on_spark(EVENTS, checkpoint=tmp_path / "checkpoint")
        flow.frame(counted_by_window).subscribe(subscriber)
        return subscriber

    first = run(1)
    first.await_end(PATIENCE)
    plans = tmp_path / "checkpoint" / "spark"
    # As if it had been killed before Spark planned the batch in which the window comes out.
    for file in [*plans.glob("*/1"), *plans.glob("*/.1.crc")]:
        file.unlink()
    second = run(1)
    second.await_end(PATIENCE)
    assert [tuple(each) for each in second.elements] == [(at(0), "a", 2)]


# Duplicates.


def test_each_key_comes_once_over_all_batches() -> None:
    flow = Flow.range(500).map(lambda number: (number % 37,)).on_spark("key long", batch_rows=90)
    rows = result(flow.frame(lambda frame: frame.dropDuplicates(["key"])).rows())
    assert sorted(rows) == [(key,) for key in range(37)]


def test_a_duplicate_is_dropped_within_the_watermark_and_comes_again_after_it() -> None:
    live = Live(
        lambda frame: (
            frame.withWatermark("at", "10 minutes")
            .dropDuplicatesWithinWatermark(["key"])
            .select("key")
        )
    )
    live.feed((at(0), "a"), (at(0), "b"), rows=2)
    live.feed((at(5), "a"), (at(60), "c"), rows=3)
    live.feed((at(60), "d"), rows=4)  # with this batch, at the latest, the first are forgotten
    live.feed((at(61), "a"), (at(61), "d"), (at(61), "e"), rows=6)
    keys = [key for (key,) in live.completed()]
    assert [sorted(keys[:2]), keys[2:4], sorted(keys[4:])] == [["a", "b"], ["c", "d"], ["a", "e"]]


# Joins.


@pytest.mark.parametrize("how", ["inner", "left"])
def test_each_row_is_joined_with_a_table(spark: SparkSession, how: str) -> None:
    names = {key: f"name {key}" for key in range(0, 50, 2)}
    table = spark.createDataFrame([*names.items()], "key long, name string")
    flow = Flow.range(500).map(lambda number: (number, number % 50))
    rows = result(
        flow.on_spark("number long, key long", batch_rows=120)
        .frame(lambda frame: frame.join(table, "key", how).select("number", "name"))
        .rows()
    )
    everything = [(number, names.get(number % 50)) for number in range(500)]
    assert sorted(rows) == [row for row in everything if how == "left" or row[1] is not None]


def test_two_streams_are_joined_by_key_and_time_and_who_finds_nobody_comes_alone() -> None:
    from pyspark.sql.functions import expr

    dice = random.Random(7)
    shown = [(at(place / 2), dice.randrange(20)) for place in range(200)]
    clicked = [(at(place), dice.randrange(20)) for place in range(100)]
    views = Flow.from_iterable([*shown, (END, -1)]).on_spark(
        "shown timestamp, view long", batch_rows=60
    )
    clicks = Flow.from_iterable([*clicked, (END, -2)]).on_spark("clicked timestamp, click long")
    together = views.frame(lambda frame: frame.withWatermark("shown", "1 minute")).join(
        clicks.frame(lambda frame: frame.withWatermark("clicked", "2 minutes")),
        on=expr("view = click AND clicked BETWEEN shown AND shown + INTERVAL 10 MINUTES"),
        how="left",
    )
    expected: list[tuple[Any, ...]] = []
    for moment, view in shown:
        found = [
            (moment, view, when, click)
            for when, click in clicked
            if view == click and moment <= when <= moment + timedelta(minutes=10)
        ]
        expected += found or [(moment, view, None, None)]
    assert Counter(result(together.rows())) == Counter(expected)


# State, and what is left of it after a stop.


@pytest.fixture
def _rocksdb(spark: SparkSession) -> Iterator[None]:
    """The state store that ``transformWithState`` needs."""
    option = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(option, ROCKSDB)
    yield
    spark.conf.unset(option)


def counted(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").count()


def totalled(frame: DataFrame) -> DataFrame:
    """The same by a function of the user, which keeps its state itself."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Total(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.total = handle.getValueState("total", "total long")

        def handleInputRows(  # noqa: N802 - Spark's name
            self, key: tuple[str], rows: Iterable[Any], timer: Any
        ) -> Iterator[Any]:
            before = self.total.get()[0] if self.total.exists() else 0
            total = before + sum(1 for _ in rows)
            self.total.update((total,))
            yield Row(key=key[0], count=total)

    return frame.groupBy("key").transformWithState(
        Total(), "key string, count long", "Update", "None"
    )


@pytest.mark.usefixtures("_rocksdb")
@pytest.mark.parametrize(
    "function",
    # The state of rows is also that of `stateful`, whose tests show the same every time.
    [counted, pytest.param(totalled, marks=pytest.mark.full)],
)
def test_state_is_exact_over_a_stop_in_the_middle_of_a_batch(
    tmp_path: Path, function: Callable[[DataFrame], DataFrame]
) -> None:
    elements = [(at(number), f"key {number % 5}") for number in range(253)]

    def run(wanted: int) -> ManualSubscriber[Any]:
        subscriber: ManualSubscriber[Any] = ManualSubscriber(request=wanted)
        flow = Flow.from_iterable(elements).on_spark(
            EVENTS,
            name="counts",
            checkpoint=tmp_path / "checkpoint",
            batch_rows=100,
            output_mode="update",
        )
        flow.frame(function).subscribe(subscriber)
        return subscriber

    first = run(7)  # of the five keys in each batch
    if function is totalled and not has_state_of_rows():
        first.await_end(PATIENCE)
        assert "transformWithState" in str(first.error)
        return
    first.await_elements(7, PATIENCE)
    first.cancel()
    second = run(UNBOUNDED)
    second.await_end(PATIENCE)
    second.assert_completed()
    assert {row.key: row.count for row in second.elements} == Counter(key for _, key in elements)
    assert first.elements[0].count < second.elements[0].count
