"""How long things take through Spark, what a cancel leaves behind, and what memory it needs."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.dataframe import resident_megabytes
from penstock import Flow, Subscription, ThreadPool
from penstock.java import java_home
from penstock.spark import spark_session
from penstock.spark.failures import Stopped
from penstock.testing import ManualSubscriber

__all__ = ["report"]

SCHEMA: Final = "number long, name string, value double"
ROUNDS: Final = 3
COLD_ROUNDS: Final = 4
"""Before the JVM has compiled what it runs for a small batch, for either side."""
WARM_ROUNDS: Final = 9
SMALL: Final = 20
SLOW_ROWS: Final = 10_000
AT_ONCE: Final = 500
DELAY_BAR: Final = 1.2
CANCEL_BAR: Final = 1.0
GROWTH_BAR: Final = 0.05
LOOK: Final = 0.005
LIMIT: Final = 60.0


def report() -> None:
    """Print all bars."""
    rounds = [
        (small_by_hand(), small_by_hand(source_in_python()), small())
        for _ in range(COLD_ROUNDS + WARM_ROUNDS)
    ]
    hand, python, own = map(statistics.median, zip(*rounds[COLD_ROUNDS:], strict=True))
    print_line("by hand: from one batch of 1 row to the next, p50", f"{hand * 1e3:.0f} ms")
    name = "on_spark: 1 row there and back, p50"
    print_line(name, f"{own * 1e3:.0f} ms", f"{own / hand:.2f}", DELAY_BAR, own / hand)
    name = "by hand, on a source that is in Python as well"
    print_line(name, f"{python * 1e3:.0f} ms", f"{own / python:.2f}")
    plain = float(subprocess.check_output([sys.executable, "-m", __name__], text=True))
    name = "by hand, in a session with Spark's own options"
    print_line(name, f"{plain * 1e3:.0f} ms", f"{own / plain:.2f}")
    worst = max(cancelled() for _ in range(ROUNDS))
    print_line("cancel until nothing is left, worst", f"{worst:.2f} s", "", CANCEL_BAR, worst)
    few, many = memory_of_a_slow_subscriber()
    growth = many / few - 1
    name = f"memory after {SLOW_ROWS:,} rows to a slow subscriber"
    print_line(name, f"{few:.0f} MB")
    print_line(
        "memory after ten times as many", f"{many:.0f} MB", f"{growth:+.2f}", GROWTH_BAR, growth
    )
    print()


def print_line(
    name: str, value: str, ratio: str = "", bar: float | None = None, reached: float = 0.0
) -> None:
    """One line; the bar is the most that may be reached."""
    verdict = "" if bar is None else f"{bar:4.2f}{'' if reached <= bar else '  MISSED'}"
    print(f"{name:50} {value:>9}  {ratio:>5}  {verdict}")


def in_a_plain_session() -> float:
    """What the query by hand takes in a session as Spark makes it; for a process of its own."""
    from pyspark.sql import SparkSession

    with java_home("Spark"):
        session = SparkSession.Builder().getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # of which the end of each query would be an error
    rounds = [small_by_hand() for _ in range(COLD_ROUNDS + WARM_ROUNDS)]
    return statistics.median(rounds[COLD_ROUNDS:])


def source_in_python() -> str:
    """A source by hand that has another row whenever it is asked, and its format."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    class Reader(DataSourceStreamReader):
        """Made here, so that Spark's processes are sent all of it."""

        rows = 0

        def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's names
            return {"row": 0}

        def getDefaultReadLimit(self) -> Any:  # noqa: N802
            return ReadAllAvailable()

        def latestOffset(self, *asked: Any) -> dict[str, int]:  # noqa: N802
            self.rows += 1
            return {"row": self.rows}

        def partitions(self, start: Any, end: Any) -> list[Any]:
            return [InputPartition(end["row"])]

        def read(self, partition: Any) -> Iterator[Any]:
            yield (partition.value, "n", 1.0)

        def commit(self, end: Any) -> None:
            pass

    class Source(DataSource):
        """The same for Spark."""

        @classmethod
        def name(cls) -> str:
            return "by-hand"

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: Any) -> Any:  # noqa: N802
            return Reader()

    spark_session().dataSource.register(Source)
    return Source.name()


def small_by_hand(source: str = "rate-micro-batch") -> float:
    """Seconds from one batch of a single row to the next."""
    times: list[float] = []

    def sink(batch: Any, number: int) -> None:
        if len(times) == SMALL:
            raise Stopped("enough")
        batch.toArrow()
        times.append(time.perf_counter())

    frame = spark_session().readStream.format(source).option("rowsPerBatch", 1)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        stream = frame.option("numPartitions", 1).load().writeStream
        query = stream.foreachBatch(sink).option("checkpointLocation", folder).start()
        wait_until_not(lambda: query.isActive)
    return statistics.median(b - a for a, b in pairwise(times))


def small() -> float:
    """Seconds from an element that is handed in to the row that comes out."""
    arrived = threading.Event()
    started: list[float] = []
    delays: list[float] = []

    def one_by_one() -> Iterator[tuple[int, str, float]]:
        for number in range(SMALL):
            started.append(time.perf_counter())
            yield (number, "n", 1.0)
            arrived.wait(LIMIT)
            arrived.clear()

    def take(row: Any) -> None:
        delays.append(time.perf_counter() - started[-1])
        arrived.set()

    with ThreadPool() as pool:  # so that the source waits on a thread of its own
        flow = Flow.from_iterable(one_by_one()).subscribe_on(pool).on_spark(SCHEMA)
        flow.rows().do_on_next(take).count().run_sync()
    return statistics.median(delays[1:])


def cancelled() -> float:
    """Seconds from cancel until no thread, process, query or folder of the stream is left."""
    before = leftovers()
    came = threading.Event()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    flow = Flow.range(1_000).map(lambda number: (number, "n", 1.0)).on_spark(SCHEMA)
    flow.rows().do_on_next(lambda _: came.set()).subscribe(subscriber)
    came.wait(LIMIT)
    started = time.perf_counter()
    subscriber.cancel()
    wait_until_not(lambda: leftovers() - before)
    return time.perf_counter() - started


def leftovers() -> set[str]:
    """All that a stream may leave behind."""
    threads = {t.name for t in threading.enumerate() if t.name.startswith("penstock-")}
    folders = {str(folder) for folder in Path(tempfile.gettempdir()).glob("penstock-*")}
    return threads | folders | readers() | {query.id for query in spark_session().streams.active}


def readers() -> set[str]:
    """The processes in which Spark asks for offsets."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if b"python_streaming_source_runner" in command:
            found.add(process.name)
    return found


def memory_of_a_slow_subscriber() -> tuple[float, float]:
    """Megabytes of this process after some rows, and after ten times as many."""
    flow = Flow.range(1 << 40).map(lambda number: (number, "n", 1.0))
    subscriber = SlowSubscriber()
    flow.on_spark(SCHEMA, max_rows=SLOW_ROWS, batch_rows=SLOW_ROWS // 5).subscribe(subscriber)
    used = [subscriber.memory_after(rows) for rows in (SLOW_ROWS, 10 * SLOW_ROWS)]
    subscriber.subscription.cancel()
    return used[0], used[1]


class SlowSubscriber:
    """Asks for a few rows at a time, and keeps none of them."""

    def __init__(self) -> None:
        self._came = 0

    def memory_after(self, rows: int) -> float:
        """Megabytes of this process when so many rows have come."""
        while self._came < rows:
            target = self._came + AT_ONCE
            self.subscription.request(AT_ONCE)
            wait_until_not(partial(self._lacks, target))
        return resident_megabytes()

    def _lacks(self, rows: int) -> bool:
        return self._came < rows

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription

    def on_next(self, row: Any) -> None:
        self._came += 1

    def on_error(self, error: Exception) -> None:
        raise error

    def on_complete(self) -> None:
        pass


def wait_until_not(holds: Callable[[], object]) -> None:
    """Wait until something no longer holds."""
    until = time.monotonic() + LIMIT
    while holds() and time.monotonic() < until:
        time.sleep(LOOK)


if __name__ == "__main__":
    print(in_a_plain_session())
