"""Rows of a Python program on Spark: ours, and what people do instead, files and Kafka.

``python -m benchmarks "into spark"``. Each way takes the same rows from the same generator, and
brings half of them back. All of it is counted: the program, its JVM, Spark's workers, the broker.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer

from benchmarks.through_spark import project
from penstock import Flow, ThreadPool
from penstock.spark.ingest.schema import Schema
from penstock.spark.session.spark_session import SparkSettings, spark_session
from tests.servers.kafka import Kafka, broker, prepare_spark_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["report"]

SCHEMA: Final = "number long, name string, value double"
ARROW: Final = Schema.of(SCHEMA).arrow
BATCH: Final = 1 << 16
FILES: Final = (BATCH, 8_192)
"""The rows of a file: until it has them, they wait."""
ROWS: Final = 30 * BATCH
ROUNDS: Final = 3
ONE_BY_ONE: Final = 15
FILES_BAR: Final = 3.0
KAFKA_BAR: Final = 1.0
"""How many times as fast ours is to be."""
OURS: Final = "on_spark"
LIMIT: Final = 120.0
TICKS: Final = os.sysconf("SC_CLK_TCK")

Row = tuple[int, str, float]


class Sent(NamedTuple):
    """Rows that are to be sent, at most so many ``at_once``, and who takes what comes back."""

    rows: Iterator[Row]
    at_once: int
    take: Callable[[pa.Table], object]


class Way(NamedTuple):
    """A way onto Spark, which returns when all has come back."""

    name: str
    run: Callable[[Sent], None]
    at_once: int = BATCH
    bar: float | None = None


class Speed(NamedTuple):
    """Rows per second by the wall clock, and by the CPU time of all processes."""

    wall: float
    cpu: float


def report() -> None:
    """Print the speed of each way, and how long a row takes that is alone."""
    settings = SparkSettings(options={"spark.jars": prepare_spark_reader()})
    session = spark_session(settings)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, broker(Path(folder)) as kafka:
        by_files = partial(through_files, session, Path(folder))
        by_kafka = partial(through_kafka, session, kafka)
        ours, by_topic = Way(OURS, through_journal), Way("Kafka", by_kafka, bar=KAFKA_BAR)
        files = [Way(f"files of {rows:,} rows", by_files, rows, FILES_BAR) for rows in FILES]
        there = partial(through_old_files, session, Path(folder, "there"))
        print_speeds([ours, *files, by_topic, Way("files that were there", there)])
        print_delays([ours, Way("a file for each", by_files), by_topic])


def print_speeds(ways: list[Way]) -> None:
    """The best of some interleaved rounds, after one that is not counted."""
    best = {way.name: Speed(0.0, 0.0) for way in ways}
    for number in range(ROUNDS + 1):
        for way in ways:
            found = speed(way)
            if number:
                best[way.name] = Speed(*map(max, best[way.name], found))
    ours = best[OURS]
    print(f"{ROWS:,} rows of (long, string, double) from Python onto Spark, half of them back")
    print(f"{'':22} {'M rows/s':>9} {'M rows/CPU s':>13}  ours is so many times as fast, bar")
    for way in ways:
        each = best[way.name]
        line = f"{way.name:22} {each.wall / 1e6:9.2f} {each.cpu / 1e6:13.2f}"
        if way.bar is not None:
            missed = "" if ours.wall / each.wall >= way.bar else "  MISSED"
            line += f"  {ours.wall / each.wall:5.2f} by CPU {ours.cpu / each.cpu:5.2f}"
            line += f"  {way.bar:g}{missed}"
        print(line)
    print()


def speed(way: Way) -> Speed:
    """Rows that went in per second."""
    came = 0

    def take(table: pa.Table) -> None:
        nonlocal came
        came += table.num_rows

    cpu, wall = cpu_of_all(), time.perf_counter()
    rows = ((number, f"n{number}", number / 2) for number in range(ROWS))
    way.run(Sent(rows, way.at_once, take))
    assert came == ROWS // 2, came
    return Speed(ROWS / (time.perf_counter() - wall), ROWS / (cpu_of_all() - cpu))


def print_delays(ways: list[Way]) -> None:
    """From a row that is handed in until it has come back, one after the other."""
    for way in ways:
        print(f"{way.name:22} one row there and back, p50: {delay(way) * 1e3:.0f} ms")
    print()


def delay(way: Way) -> float:
    """Seconds in the middle, without the first rows."""
    arrived, began, delays = threading.Event(), list[float](), list[float]()

    def one_by_one() -> Iterator[Row]:
        for number in range(ONE_BY_ONE):
            began.append(time.perf_counter())
            yield (2 * number, "n", 1.0)
            arrived.wait(LIMIT)
            arrived.clear()

    def take(table: pa.Table) -> None:
        if table.num_rows:
            delays.append(time.perf_counter() - began[-1])
            arrived.set()

    way.run(Sent(one_by_one(), 1, take))
    return statistics.median(delays[3:])


def cpu_of_all() -> float:
    """The seconds of CPU time of this process and its descendants, those that ended included."""
    spent, children = dict[int, int](), dict[int, list[int]]()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        number = int(process.name)
        spent[number] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(number)
    total, rest = 0, [os.getpid()]
    while rest:
        number = rest.pop()
        total += spent.get(number, 0)
        rest += children.get(number, [])
    return total / TICKS


# Ours.


def through_journal(sent: Sent) -> None:
    """Rows as elements; what comes back are batches."""
    with ThreadPool() as pool:  # so that a source that waits does so on a thread of its own
        flow = Flow.from_iterable(sent.rows).subscribe_on(pool).on_spark(SCHEMA, batch_rows=BATCH)
        flow.frame(project).batches().do_on_next(sent.take).count().run_sync()


# What people do instead.


@contextmanager
def running(
    frame: DataFrame, take: Callable[[pa.Table], object]
) -> Iterator[Callable[[int], None]]:
    """A query by hand; what it gives waits until so many rows have come back, and ends it."""
    changed, came = threading.Condition(), 0

    def sink(batch: DataFrame, number: int) -> None:
        nonlocal came
        table = batch.toArrow()
        take(table)
        with changed:
            came += table.num_rows
            changed.notify_all()

    def wait_for(rows: int) -> None:
        with changed:
            assert changed.wait_for(lambda: came >= rows, LIMIT)

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        writer = project(frame).writeStream.foreachBatch(sink)
        query = writer.option("checkpointLocation", folder).start()
        try:
            yield wait_for
        finally:
            query.stop()


def through_files(session: SparkSession, place: Path, sent: Sent) -> None:
    """Parquet files, each of which is on the disk before it is seen; a batch has so many rows."""
    folder = Path(tempfile.mkdtemp(dir=place))
    with running(files_in(session, folder, sent.at_once), sent.take) as wait_for:
        wait_for(write_files(folder, sent))


def through_old_files(session: SparkSession, folder: Path, sent: Sent) -> None:
    """Files that were there before: what Spark takes for rows that get to it for nothing."""
    if not folder.exists():
        folder.mkdir()
        write_files(folder, sent)
    with running(files_in(session, folder, sent.at_once), sent.take) as wait_for:
        wait_for(ROWS // 2)


def files_in(session: SparkSession, folder: Path, rows: int) -> DataFrame:
    """Files of so many rows as a stream."""
    reader = session.readStream.schema(SCHEMA)
    return reader.option("maxFilesPerTrigger", max(BATCH // rows, 1)).parquet(str(folder))


def write_files(folder: Path, sent: Sent) -> int:
    """Write files as rows come; how many of these are to come back."""
    even = 0
    for number in count():
        part = list(islice(sent.rows, sent.at_once))
        if not part:
            break
        columns = zip(zip(*part, strict=True), ARROW, strict=True)
        arrays = [pa.array(values, field.type) for values, field in columns]
        hidden = folder / f".{number}"
        pq.write_table(pa.Table.from_arrays(arrays, schema=ARROW), hidden)
        with hidden.open("rb") as file:
            os.fsync(file.fileno())
        hidden.rename(folder / f"{number:06}.parquet")
        even += sum(1 for row in part if not row[0] % 2)
    return even


def through_kafka(session: SparkSession, kafka: Kafka, sent: Sent) -> None:
    """A message of JSON for each row, in a topic of one partition."""
    topic = kafka.create()
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.servers)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    messages = reader.option("maxOffsetsPerTrigger", BATCH).load()
    frame = messages.selectExpr(f"from_json(CAST(value AS string), '{SCHEMA}') AS row")
    with running(frame.selectExpr("row.*"), sent.take) as wait_for:
        producer = Producer({"bootstrap.servers": kafka.servers, "linger.ms": 5, "acks": "all"})
        even = 0
        for number, name, value in sent.rows:
            message = json.dumps({"number": number, "name": name, "value": value}).encode()
            while True:
                try:
                    producer.produce(topic, message)
                    break
                except BufferError:
                    producer.poll(0.01)
            even += not number % 2
            if sent.at_once == 1:
                producer.flush(LIMIT)
        producer.flush(LIMIT)
        wait_for(even)
