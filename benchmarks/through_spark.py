"""Streams through Spark, against the same query written by hand on a source of Spark itself.

Wall-clock time, since most of the work is done by other processes, on one session; the middle one
of interleaved rounds, which differ by a fifth. What a query needs to start, and its first batches,
are not counted.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from benchmarks import dataframe, journal, spark_delays
from benchmarks.operators import Taker
from penstock import UNBOUNDED, Flow, Subscription
from penstock.spark import SparkFlow, spark_session
from penstock.spark.failures import Stopped
from penstock.spark.journal.reader import PART_ROWS

__all__ = ["report"]

ELEMENT: Final = 1 << 16
"""The rows of an element, which is an Arrow batch."""
SIZES: Final = (1 << 16, 1 << 17)
"""The rows of Spark's batches; the second is what ``on_spark`` takes unless it is told."""
BATCHES: Final = 30
FIRST: Final = 8
"""So many batches are not counted: the JVM has yet to compile what it runs."""
MAPPED_ROWS: Final = 1 << 14
MAPPED_BATCHES: Final = 16
ROUNDS: Final = 7
SCHEMA: Final = "number long, name string, value double"
RATE: Final = "rate-micro-batch"
LIMIT: Final = 120.0


def report() -> None:
    """Print all bars."""
    session = spark_session()
    print(f"{'through Spark':50} {'M rows/s':>9}  ratio  bar")
    for size in SIZES:
        compare(
            f"batches of {size:,} rows, toArrow",
            partial(by_hand, session, size, lambda table: None),
            partial(batch_speed, size),
            0.9,
        )
    for what, take in (("to_pylist", pa.Table.to_pylist), ("each to a function", to_a_function)):
        compare(
            f"batches of {SIZES[-1]:,} rows, {what}",
            partial(by_hand, session, SIZES[-1], take),
            partial(row_speed, SIZES[-1]),
            0.9,
        )
    compare(
        f"batches of {MAPPED_ROWS:,} rows, map and filter in Python",
        lambda: mapped_speed(lambda flow: flow.frame(mapped_by_hand)),
        lambda: mapped_speed(mapped),
        0.95,
    )
    print()
    spark_delays.report()
    journal.report()
    dataframe.report()


def compare(what: str, hand: Callable[[], float], own: Callable[[], float], bar: float) -> None:
    """Two lines: by hand, and with ours."""
    rounds = [(hand(), own()) for _ in range(ROUNDS)]
    theirs, ours = map(statistics.median, zip(*rounds, strict=True))
    ratio = ours / theirs
    print(f"{'by hand: ' + what:50} {theirs / 1e6:9.2f}")
    print(f"{'on_spark: the same':50} {ours / 1e6:9.2f}  {ratio:5.2f}  {bar}{missed(ratio >= bar)}")


def missed(is_met: bool) -> str:
    """How a line ends whose bar is missed."""
    return "" if is_met else "  MISSED"


class Meter:
    """Counts rows, after those of the first batches."""

    def __init__(self, batch: int, batches: int = 0) -> None:
        self.batch = batch
        self._batches = batches
        self._rows = 0
        self._times: list[float] = []
        self.done = threading.Event()

    def take(self, rows: int) -> None:
        """Rows have come."""
        self._rows += rows
        if self._rows >= self.batch * (len(self._times) + 1):
            self._times.append(time.perf_counter())
            if len(self._times) == self._batches:
                self.done.set()

    @property
    def speed(self) -> float:
        """Rows per second that came."""
        times = self._times[FIRST - 1 :]
        return self.batch * (len(times) - 1) / (times[-1] - times[0])


# By hand.


def by_hand(session: Any, size: int, take: Callable[[pa.Table], object]) -> float:
    """Rows per second that go into the query that people write; half of them come out."""
    frame = (
        session.readStream.format(RATE)
        .option("rowsPerBatch", size)
        .option("numPartitions", max(size // PART_ROWS, 1))  # as many tasks as ours
        .load()
        .selectExpr("value AS number", "concat('n', value) AS name", "value / 2.0D AS value")
    )
    return 2 * run_query(project(frame), Meter(size // 2, BATCHES), take).speed


def run_query(frame: Any, meter: Meter, take: Callable[[pa.Table], object]) -> Meter:
    """Run a query until the meter has enough."""

    def sink(batch: Any, number: int) -> None:
        if meter.done.is_set():
            raise Stopped("enough")
        table = batch.toArrow()
        take(table)
        meter.take(table.num_rows)

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", folder)
        query = writer.start()
        meter.done.wait(LIMIT)
        while query.isActive:
            time.sleep(0.01)
    return meter


def project(frame: Any) -> Any:
    """Half of the rows, and a computed column."""
    return frame.where("number % 2 = 0").selectExpr("number", "name", "value * 2 AS value")


def to_a_function(table: pa.Table) -> None:
    """Hand the rows over, one by one, as they come to a subscriber."""
    take = Taker().on_next
    for row in table.to_pylist():
        take(row)


def mapped_by_hand(frame: Any) -> Any:
    """Two functions in one pass, as one would write it."""

    def both(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            rows = [(number, name, value + 1) for number, name, value in columns if number % 4]
            made = list(zip(*rows, strict=True)) or [()] * 3
            arrays = [pa.array(c, f.type) for c, f in zip(made, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    return frame.mapInArrow(both, frame.schema)


# Ours.


def elements(size: int, count: int) -> Iterator[pa.RecordBatch]:
    """Batches of rows, as fast as they are wanted."""
    numbers = pa.array(range(size))
    names = pa.array([f"n{number}" for number in range(size)])
    values = pa.array([number / 2 for number in range(size)])
    batch = pa.RecordBatch.from_arrays([numbers, names, values], names=["number", "name", "value"])
    for _ in range(count):
        yield batch


def source(size: int) -> SparkFlow:
    """The same query as by hand, on elements of our own."""
    count = BATCHES * size // ELEMENT
    flow = Flow.from_iterable(elements(ELEMENT, count))
    return flow.on_spark(SCHEMA, batch_rows=size).frame(project)


def batch_speed(size: int) -> float:
    """Rows that went in per second, of which half come out, in batches."""
    meter = Meter(size // 2, BATCHES)
    for batch in source(size).batches().blocking():
        meter.take(batch.num_rows)
    return 2 * meter.speed


def row_speed(size: int) -> float:
    """The same where rows come out, to a subscriber that asks for all of them."""
    counter = Counter(Meter(size // 2, BATCHES))
    source(size).subscribe(counter)
    counter.meter.done.wait(LIMIT)
    return 2 * counter.meter.speed


class Counter:
    """A subscriber that looks at the clock once for each of Spark's batches."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._came = 0

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, row: Any) -> None:
        self._came += 1
        if not self._came % self.meter.batch:
            self.meter.take(self.meter.batch)

    def on_error(self, error: Exception) -> None:
        raise error

    def on_complete(self) -> None:
        pass


def mapped(flow: SparkFlow) -> SparkFlow:
    """Two functions of a row."""
    return flow.map(lambda row: row._replace(value=row.value + 1)).filter(
        lambda row: row.number % 4
    )


def mapped_speed(transform: Callable[[SparkFlow], SparkFlow]) -> float:
    """Rows that went in per second, through functions that let three of four pass."""
    flow = Flow.from_iterable(elements(MAPPED_ROWS, MAPPED_BATCHES))
    flow_on_spark = transform(flow.on_spark(SCHEMA, batch_rows=MAPPED_ROWS))
    meter = Meter(MAPPED_ROWS * 3 // 4, MAPPED_BATCHES)
    for batch in flow_on_spark.batches().blocking():
        meter.take(batch.num_rows)
    return meter.speed * 4 / 3
