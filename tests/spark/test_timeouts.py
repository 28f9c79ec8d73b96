"""Keys that time out, by the clock and by the watermark, against plain Python."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark import SparkFlow
from penstock.spark.stateful_stage import PROVIDER, ROCKSDB
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.spark.capabilities import has_state_of_rows
from tests.spark.sessions import (
    COUNTED,
    EVENTS,
    LAST,
    SCHEMA,
    SessionProcess,
    by_clock,
    by_watermark,
    expected_sessions,
    kill_again_and_again,
    require_counts,
    require_exact,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 240.0
UNBOUNDED = 1 << 40

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _other_tests_have_their_store(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset(PROVIDER)


def batches_done(checkpoint: Path) -> set[str]:
    return {each.name for each in (checkpoint / "spark" / "commits").glob("[0-9]*")}


def await_done(checkpoint: Path, batch: str) -> None:
    """Wait until Spark has written down that it is done with a batch."""
    looking = threading.Event()
    while batch not in batches_done(checkpoint):
        looking.wait(0.01)


if has_state_of_rows():

    def test_sessions_by_event_time_are_exact_over_a_stop(tmp_path: Path) -> None:
        events = EVENTS[:900]

        def run(wanted: int) -> ManualSubscriber[Any]:
            subscriber: ManualSubscriber[Any] = ManualSubscriber(request=wanted)
            flow = Flow.from_iterable([*events, LAST]).on_spark(
                SCHEMA, checkpoint=tmp_path / "checkpoint", batch_rows=300
            )
            by_watermark(flow).subscribe(subscriber)
            return subscriber

        first = run(3)
        first.await_elements(3, PATIENCE)
        first.cancel()
        second = run(UNBOUNDED)
        second.await_end(PATIENCE)
        second.assert_completed()
        # What came of the batch in which it was stopped comes again.
        found = {tuple(each) for each in [*first.elements, *second.elements]}
        assert sorted(found) == expected_sessions(events)
        assert len(second.elements) >= len(found) - 3

    def test_by_the_clock_keys_time_out_while_no_row_comes_and_also_after_a_restart(
        tmp_path: Path,
    ) -> None:
        checkpoint = tmp_path / "checkpoint"

        def run() -> tuple[ManualPublisher[Any], ManualSubscriber[Any]]:
            source: ManualPublisher[Any] = ManualPublisher()
            subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
            flow = Flow.from_publisher(source).on_spark(
                SCHEMA, checkpoint=checkpoint, resume="none"
            )
            by_clock(flow).subscribe(subscriber)
            source.await_requested(1, PATIENCE)
            return source, subscriber

        source, subscriber = run()
        source.next(*EVENTS[:4])
        subscriber.await_elements(6, PATIENCE)  # with those of the two keys, which time out
        source.next(*EVENTS[4:8])
        subscriber.await_elements(10, PATIENCE)
        before = [tuple(each) for each in subscriber.elements[:10]]
        number = max(map(int, batches_done(checkpoint)))
        await_done(checkpoint, str(number + 1))
        subscriber.cancel()
        after = [tuple(each) for each in subscriber.elements[10:]]
        source, subscriber = run()
        while len({tuple(each) for each in [*after, *subscriber.elements]}) < 2:
            subscriber.await_elements(len(subscriber.elements) + 1, PATIENCE)
        source.complete()
        subscriber.await_end(PATIENCE)
        subscriber.assert_completed()
        last = {tuple(each) for each in [*after, *subscriber.elements]}
        assert last == {(key, None, 2) for key in (0, 1)}
        assert require_counts([*before, *last], EVENTS[:8]) == 4

    def test_a_finite_stream_completes_and_leaves_the_keys_that_have_not_timed_out(
        tmp_path: Path,
    ) -> None:
        def run(wanted: int) -> ManualSubscriber[Any]:
            subscriber: ManualSubscriber[Any] = ManualSubscriber(request=wanted)
            flow = Flow.from_iterable(EVENTS[:90]).on_spark(
                SCHEMA, batch_rows=40, checkpoint=tmp_path
            )

            def forever(key: int, rows: Iterable[Any], state: Any) -> Iterator[Any]:
                state.time_out_at(datetime(9999, 1, 1, tzinfo=UTC))
                yield from ((key, row.number, 0) for row in rows)

            flow.stateful(
                forever, key="key", schema=COUNTED, state="n long", timeouts="processing_time"
            ).subscribe(subscriber)
            return subscriber

        subscriber = run(1)
        subscriber.await_elements(1, PATIENCE)
        assert not batches_done(tmp_path)  # the first one waits, and the others after it
        subscriber.request(UNBOUNDED)
        subscriber.await_end(PATIENCE)
        subscriber.assert_completed()
        assert sorted(row.number for row in subscriber.elements) == [*range(90)]

    def test_moments_that_are_kept_have_their_zone() -> None:
        def zones(key: int, rows: Iterable[Any], state: Any) -> Iterator[Any]:
            if state.timed_out:
                at, several, struct = state.value
                yield key, at, at == several[0] == struct.at
                state.remove()
                return
            (row,) = rows
            state.update((row.at, [row.at], (row.at,)))
            state.time_out_at(row.at)  # which is over: it comes in the same batch

        flow = Flow.from_iterable(EVENTS[:1]).on_spark(SCHEMA)
        kept = "at timestamp, several array<timestamp>, nested struct<at: timestamp>"
        options: dict[str, Any] = {"key": "key", "state": kept, "timeouts": "processing_time"}
        found = flow.stateful(zones, schema="key long, at timestamp, same boolean", **options)
        assert [tuple(each) for each in found.rows().to_list().run_sync() or ()] == [
            (0, EVENTS[0][2], True)
        ]


# Kills.


@pytest.mark.full
@pytest.mark.timeout(1_500)
@pytest.mark.parametrize("time", ["event_time", "processing_time"])
def test_rows_are_exact_over_kills(tmp_path: Path, time: str) -> None:
    kill_again_and_again(tmp_path, time, kills=6)
    for _ in range(2):
        SessionProcess(tmp_path, time).end()
        assert require_exact(tmp_path, time) > 10
    assert "TransformWithState" not in (tmp_path / "said").read_text()


# Refusals.


def orders() -> SparkFlow:
    return Flow.from_iterable(EVENTS[:9]).on_spark(SCHEMA)


def nothing(key: int, rows: Iterable[Any], state: Any) -> None:
    """Keeps nothing."""


def stateful(flow: SparkFlow, timeouts: Any) -> SparkFlow:
    return flow.stateful(nothing, key="key", schema=COUNTED, state="n long", timeouts=timeouts)


if has_state_of_rows():

    def test_a_time_that_is_none_is_refused_at_once() -> None:
        with pytest.raises(ValueError, match="timeouts must be one of 'processing_time', 'event_t"):
            stateful(orders(), "by_clock")

    def test_what_is_read_until_the_end_has_no_timeouts_by_the_clock(
        spark: SparkSession, tmp_path: Path
    ) -> None:
        spark.conf.set(PROVIDER, ROCKSDB)
        files = spark.readStream.schema("key long").option("maxFilesPerTrigger", 1)
        flow = SparkFlow.from_stream(files.json(str(tmp_path)), until_end=True)
        with pytest.raises(ValueError, match="would never end"):
            stateful(flow, "processing_time")

    def test_event_time_needs_a_watermark() -> None:
        with pytest.raises(ValueError, match="timeouts='event_time' needs a watermark upstream"):
            stateful(orders(), "event_time").rows().to_list().run_sync()

    def test_a_moment_has_a_zone_and_lies_ahead_of_a_key_that_has_timed_out() -> None:
        from penstock.spark.workers.stateful import KeyState

        now = EVENTS[0][2]
        with pytest.raises(ValueError, match="time_out_at needs a datetime with a zone, not datet"):
            KeyState(None, now).time_out_at(now.replace(tzinfo=None))
        with pytest.raises(TypeError, match="time_out_at needs a datetime, not 7"):
            KeyState(None, now).time_out_at(7)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"time_out_at needs stateful\(timeouts=\)"):
            KeyState(None).time_out_at(now)
        with pytest.raises(ValueError, match=r"only do so again after 2024.*, not at 2024"):
            KeyState(None, now, timed_out=True).time_out_at(now)
