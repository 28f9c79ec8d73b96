"""Streams through Spark, against the same query written by hand on a source of Spark itself.

Wall-clock time, since most of the work is done by other processes; the best of interleaved rounds
on one session. What a query needs to start is not counted: time runs from its first batch on.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock import UNBOUNDED, Flow, Subscription
from penstock.runtime import SystemClock
from penstock.spark import SparkFlow, spark_session
from penstock.testing import ManualSubscriber

__all__ = ["report"]

ROWS: Final = 1 << 16
BATCHES: Final = 24
ROUNDS: Final = 3
HALF: Final = ROWS // 2
"""So many rows of a batch pass the filter."""
SMALL: Final = 20
SCHEMA: Final = "number long, name string, value double"
RATE: Final = "rate-micro-batch"


def report() -> None:
    """Print all bars."""
    session = spark_session()
    speeds: dict[str, Callable[[], float]] = {
        "by hand: rate-micro-batch, toArrow": lambda: by_hand(session, lambda table: None),
        "on_spark, batches()": lambda: 2 * batch_speed(source()),
        "by hand: rate-micro-batch, to_pylist": lambda: by_hand(session, pa.Table.to_pylist),
        "on_spark, rows()": lambda: 2 * row_speed(source()),
        "by hand: mapInArrow": lambda: batch_speed(source().frame(mapped_by_hand)),
        "on_spark, map and filter": lambda: batch_speed(mapped(source())),
    }
    best = dict.fromkeys(speeds, 0.0)
    for _ in range(ROUNDS):
        for name, measure in speeds.items():
            best[name] = max(best[name], measure())
    print(f"{'through Spark':42} {'M rows/s':>9}  ratio  bar")
    for hand, own, bar in zip(list(best)[::2], list(best)[1::2], (0.9, 0.9, 0.95), strict=True):
        print(f"{hand:42} {best[hand] / 1e6:9.2f}")
        ratio = best[own] / best[hand]
        missed = "" if ratio >= bar else "  MISSED"
        print(f"{own:42} {best[own] / 1e6:9.2f}  {ratio:5.2f}  {bar:4.2f}{missed}")
    hand_delay = min(small_by_hand(session) for _ in range(ROUNDS))
    own_delay = min(small() for _ in range(ROUNDS))
    ratio = own_delay / hand_delay
    print(f"{'by hand: a batch of 1 row, p50':42} {hand_delay * 1e3:6.0f} ms")
    name = "on_spark: 1 row there and back, p50"
    missed = "" if ratio <= 1.3 else "  MISSED"
    print(f"{name:42} {own_delay * 1e3:6.0f} ms  {ratio:5.2f}  1.30{missed}")
    seconds = max(cancelled() for _ in range(ROUNDS))
    missed = "" if seconds <= 1 else "  MISSED"
    print(f"{'cancel to everything stopped, worst':42} {seconds:8.2f} s         1.00{missed}\n")


# By hand.


def by_hand(session: Any, take: Callable[[pa.Table], object]) -> float:
    """Rows per second of the query that people write."""
    frame = (
        session.readStream.format(RATE)
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", 1)
        .load()
        .selectExpr("value AS number", "concat('n', value) AS name", "value / 2.0D AS value")
    )
    clock = Stopwatch(BATCHES)

    def sink(batch: Any, number: int) -> None:
        table = batch.toArrow()
        take(table)
        clock.take(table.num_rows)

    return run_query(project(frame), sink, clock).speed * 2  # half of the rows pass the filter


def run_query(frame: Any, sink: Callable[[Any, int], None], clock: Stopwatch) -> Stopwatch:
    """Run a query until the clock has enough."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", folder)
        query = writer.start()
        clock.done.wait(120)
        query.stop()
    return clock


def project(frame: Any) -> Any:
    """Half of the rows, and two of the columns."""
    return frame.where("number % 2 = 0").selectExpr("number", "name", "value * 2 AS value")


class Stopwatch:
    """Time from the first batch on."""

    def __init__(self, batches: int) -> None:
        self._left = batches
        self._rows = 0
        self._times: list[float] = []
        self.done = threading.Event()

    def take(self, rows: int) -> None:
        """A batch has come."""
        self._times.append(time.perf_counter())
        if len(self._times) > 1:
            self._rows += rows
        self._left -= 1
        if self._left <= 0:
            self.done.set()

    @property
    def speed(self) -> float:
        """Rows per second."""
        return self._rows / (self._times[-1] - self._times[0])

    @property
    def gap(self) -> float:
        """The usual time between two batches."""
        return statistics.median(b - a for a, b in zip(self._times, self._times[1:], strict=False))


def small_by_hand(session: Any) -> float:
    """Seconds from one batch of a single row to the next."""
    frame = session.readStream.format(RATE).option("rowsPerBatch", 1).option("numPartitions", 1)
    clock = Stopwatch(SMALL)

    def sink(batch: Any, number: int) -> None:
        clock.take(batch.toArrow().num_rows)

    return run_query(frame.load(), sink, clock).gap


# Ours.


def elements() -> Iterator[pa.RecordBatch]:
    """Batches of rows, as fast as they are wanted."""
    numbers = pa.array(range(ROWS))
    names = pa.array([f"n{number}" for number in range(ROWS)])
    values = pa.array([number / 2 for number in range(ROWS)])
    batch = pa.RecordBatch.from_arrays([numbers, names, values], names=["number", "name", "value"])
    for _ in range(BATCHES + 4):
        yield batch


def source() -> SparkFlow:
    """The same query as by hand, on elements of our own."""
    return Flow.from_iterable(elements()).on_spark(SCHEMA).frame(project)


def batch_speed(flow: SparkFlow) -> float:
    """Rows that went in per second, where batches come out."""
    clock = Stopwatch(0)
    for batch in flow.batches().blocking():
        clock.take(batch.num_rows)
    return clock.speed


def row_speed(flow: SparkFlow) -> float:
    """The same where rows come out, to a subscriber that asks for all of them."""
    counter = Counter()
    flow.subscribe(counter)
    counter.clock.done.wait(120)
    return counter.clock.speed


class Counter:
    """A subscriber that looks at the clock once for each of Spark's batches."""

    def __init__(self) -> None:
        self.clock = Stopwatch(BATCHES)
        self._came = 0

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, row: Any) -> None:
        self._came += 1
        if not self._came % HALF:
            self.clock.take(HALF)

    def on_error(self, error: Exception) -> None:
        raise error

    def on_complete(self) -> None:
        pass


def mapped(flow: SparkFlow) -> SparkFlow:
    """Two functions of a row."""
    return flow.map(lambda row: row._replace(value=row.value + 1)).filter(
        lambda row: row.number % 3
    )


def mapped_by_hand(frame: Any) -> Any:
    """The same in one pass, as one would write it."""

    def both(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            rows = [(number, name, value + 1) for number, name, value in columns if number % 3]
            made = list(zip(*rows, strict=True)) or [()] * 3
            arrays = [pa.array(c, f.type) for c, f in zip(made, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    return frame.mapInArrow(both, frame.schema)


def small() -> float:
    """Seconds from an element that is handed in to the row that comes out."""
    arrived = threading.Event()
    delays: list[float] = []

    def one_by_one() -> Iterator[tuple[int, str, float]]:
        for number in range(SMALL):
            started.append(time.perf_counter())
            yield (number, "n", 1.0)
            arrived.wait(60)
            arrived.clear()

    started: list[float] = []

    def take(row: Any) -> None:
        delays.append(time.perf_counter() - started[-1])
        arrived.set()

    flow = Flow.from_iterable(one_by_one()).on_spark(SCHEMA)
    flow.rows().do_on_next(take).count().run_sync()
    return statistics.median(delays[1:])


def cancelled() -> float:
    """Seconds from cancel to the end of all threads and queries of a stream."""
    clock = SystemClock()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    came = threading.Event()
    flow = Flow.range(1_000).map(lambda number: (number, "n", 1.0)).on_spark(SCHEMA)
    flow.rows().do_on_next(lambda _: came.set()).subscribe(subscriber)
    came.wait(60)
    started = clock.now()
    subscriber.cancel()
    for thread in threading.enumerate():
        if thread.name.startswith(("penstock-spark", "penstock-journal")):
            thread.join()
    return clock.now() - started
