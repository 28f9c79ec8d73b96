"""What goes through the driver, and what more workers bring, on a cluster with workers of one core.

``python -m benchmarks scale`` starts a master and two workers for it, each in a process of its own.
They share the cores of this machine with the driver; so it starts them once more with half a core
each, as if they were elsewhere. That takes a user who may make control groups.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from penstock import UNBOUNDED, Flow, Publisher, Subscription
from penstock.spark import SparkFlow
from penstock.spark.session.spark_session import SparkSettings, spark_session
from tests.spark.cluster import MASTER, WORKERS, Host, standalone_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["report"]

SCHEMA: Final = "number long, value double"
ELEMENT: Final = 10_000
"""The rows of an element, which is an Arrow batch."""
ROWS: Final = 2_000_000
BATCH_ROWS: Final = 200_000
PARTITIONS: Final = 2
HEAVY_BATCH: Final = 300_000
HEAVY_ROWS: Final = 16 * HEAVY_BATCH
COLD_BATCHES: Final = 6
"""Those that are not counted: processes start, and the JVM has yet to compile what it runs."""
MANY: Final = (1, 4, 16, 64)
FEW_BATCHES: Final = 10
MORE_BAR: Final = 1.7
SHARE: Final = 0.5
GROUPS: Final = Path("/sys/fs/cgroup/cpu")
TICKS: Final = os.sysconf("SC_CLK_TCK")


def report() -> None:
    """Print all tables."""
    with tempfile.TemporaryDirectory() as folder, standalone_cluster(Path(folder)) as place:
        os.environ.update(place.environment)
        with on_cores(2) as session:
            print_driver(session, Path(folder))
            two = heavy_speed(Path(folder))
            by_hand = heavy_by_hand(session, Path(folder))
            print_partitions(session)
        with on_cores(1):
            one = heavy_speed(Path(folder))
    print_more("1 core", one, two)
    print(f"the same by hand, on 2 cores: {by_hand:,.0f} rows/s; ours is {two / by_hand:.2f} of it")
    print_shares()


def print_more(what: str, one: float, two: float) -> None:
    """What the second of two brings."""
    missed = "" if two / one >= MORE_BAR else "  MISSED"
    print(
        f"a function that takes long: {one:,.0f} rows/s on {what}, {two:,.0f} on two: "
        f"{two / one:.2f}, bar {MORE_BAR:g}{missed}"
    )


def print_shares() -> None:
    """The same on workers that leave the driver a core, however many there are."""
    if not os.access(GROUPS, os.W_OK):
        print(f"workers with a share of a core: {GROUPS} cannot be written to\n")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        sharing(SHARE) as workers,
        standalone_cluster(Path(folder), workers=workers) as place,
    ):
        os.environ.update(place.environment)
        speeds = {}
        for cores in (2, 1):
            with on_cores(cores):
                speeds[cores] = heavy_speed(Path(folder))
    print_more(f"{SHARE:g} of a core", speeds[1], speeds[2])
    print()


@contextmanager
def sharing(share: float) -> Iterator[list[Host]]:
    """Hosts whose processes, and what these start, have so much of a core each, and no more."""
    groups = [GROUPS / f"penstock-{each.address}" for each in WORKERS]
    try:
        for group in groups:
            group.mkdir()
            period = int((group / "cpu.cfs_period_us").read_text())
            (group / "cpu.cfs_quota_us").write_text(str(int(period * share)))
        yield [
            Host(each.address, ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"))
            for each, group in zip(WORKERS, groups, strict=True)
        ]
    finally:
        for group in groups:
            group.rmdir()  # whose processes have ended


@contextmanager
def on_cores(cores: int) -> Iterator[SparkSession]:
    """A session on that many cores of the cluster."""
    options = {"spark.cores.max": str(cores), "spark.sql.shuffle.partitions": "2"}
    session = spark_session(SparkSettings(master=os.environ[MASTER], options=options))
    try:
        yield session
    finally:
        session.stop()


# Where rows come from, and go to.


def arrow(first: int) -> pa.RecordBatch:
    numbers = pa.array(range(first, first + ELEMENT), pa.int64())
    return pa.RecordBatch.from_arrays([numbers, numbers.cast(pa.float64())], ["number", "value"])


def shard(partition: int, rows: int = ROWS, partitions: int = PARTITIONS) -> Publisher[Any]:
    """A part of all rows, made where it is read."""
    elements = rows // partitions // ELEMENT

    def after(position: int | None) -> Flow[Any]:
        first = 0 if position is None else position + 1
        return Flow.range(first, elements).map(
            lambda n: arrow((partition * elements + n) * ELEMENT)
        )

    return Flow.resumable(
        after, position=lambda batch: batch["number"][0].as_py() // ELEMENT % elements
    )


class Counting:
    """A subscriber on an executor, which takes all that there is."""

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, row: Any) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        pass

    def on_complete(self) -> None:
        pass


def through_journal() -> SparkFlow:
    return Flow.range(ROWS // ELEMENT).map(lambda n: arrow(n * ELEMENT)).on_spark(
        SCHEMA, batch_rows=BATCH_ROWS
    )  # fmt: skip


def on_executors() -> SparkFlow:
    return SparkFlow.partitioned(shard, partitions=PARTITIONS, schema=SCHEMA, batch_rows=BATCH_ROWS)


def read_by_spark(session: SparkSession, folder: Path) -> SparkFlow:
    """The same rows out of files, which are there already."""
    if not folder.exists():
        folder.mkdir()
        for file in range(ROWS // BATCH_ROWS):
            parts = [arrow(file * BATCH_ROWS + n) for n in range(0, BATCH_ROWS, ELEMENT)]
            pq.write_table(pa.Table.from_batches(parts), folder / f"{file}.parquet")
    files = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return SparkFlow.from_stream(files.parquet(str(folder)), until_end=True)


@dataclass
class Out:
    """A way out, and how many rows of it come to this program."""

    name: str
    run: Callable[[SparkFlow], int]


def ways_out(folder: Path) -> list[Out]:
    def write(flow: SparkFlow) -> int:
        out = tempfile.mkdtemp(dir=folder)  # a folder that no other query has written to
        flow.write("parquet", path=out).run_sync()
        return 0

    def executors(flow: SparkFlow) -> int:
        flow.for_each_partition(lambda batch, partition: Counting()).run_sync()
        return 0

    def batches(flow: SparkFlow) -> int:
        return sum(batch.num_rows for batch in flow.batches().blocking())

    return [Out("batches()", batches), Out("for_each_partition", executors), Out("write", write)]


# What the driver does.


def print_driver(session: SparkSession, folder: Path) -> None:
    """Rows and CPU time of the driver, its program and its JVM, for each way in and out."""
    print(f"{'per million rows':44} {'rows here':>10} {'CPU, s':>7} {'its JVM':>8} {'M rows/s':>9}")
    ways_in: dict[str, Callable[[], SparkFlow]] = {
        "on_spark, a journal": through_journal,
        "from_stream, files": lambda: read_by_spark(session, folder / "in"),
        "partitioned": on_executors,
    }
    jvm = jvm_of(session)
    for entrance, make in ways_in.items():
        for out in ways_out(folder):
            out.run(make())  # once to warm up
            here, there, began = cpu(os.getpid()), cpu(jvm), time.perf_counter()
            rows = out.run(make())
            seconds = time.perf_counter() - began
            here, there = cpu(os.getpid()) - here, cpu(jvm) - there
            # What goes through a journal is in this program on its way in.
            passed = rows + (ROWS if make is through_journal else 0)
            millions = ROWS / 1e6
            print(
                f"{entrance + ', ' + out.name:44} {passed / millions:10,.0f} "
                f"{here / millions:7.2f} {there / millions:8.2f} {millions / seconds:9.2f}"
            )
    print()


def jvm_of(session: SparkSession) -> int:
    """The process of the driver's JVM."""
    gateway: Any = session.sparkContext._gateway
    return int(gateway.jvm.java.lang.ProcessHandle.current().pid())


def cpu(process: int) -> float:
    """The seconds of CPU time that a process has taken, without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


# More workers.


def heavy(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Takes some microseconds for a row, in Python."""
    total = 0.0
    values = batch.column("number").to_pylist()
    sums = []
    for value in values:
        for step in range(60):
            total += (value ^ step) & 7
        sums.append(total)
    return pa.RecordBatch.from_arrays([batch.column("number"), pa.array(sums)], ["number", "value"])


def each_heavy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, as Spark calls it for a partition."""
    return map(heavy, batches)


def heavy_speed(folder: Path) -> float:
    """Rows per second of ours, from publishers on the executors into files."""
    make = partial(shard, rows=HEAVY_ROWS)
    flow = SparkFlow.partitioned(make, partitions=PARTITIONS, schema=SCHEMA, batch_rows=HEAVY_BATCH)
    best = 0.0
    for attempt in range(2):
        out = folder / f"heavy-{time.monotonic_ns()}-{attempt}"
        flow.map_batches(heavy).write("parquet", path=str(out)).run_sync()
        best = max(best, steady_speed(out))
    return best


def heavy_by_hand(session: SparkSession, folder: Path) -> float:
    """The same by a query of Structured Streaming on a source of Spark."""
    best = 0.0
    for attempt in range(2):
        out = folder / f"hand-{attempt}"
        frame = session.readStream.format("rate-micro-batch").option("rowsPerBatch", HEAVY_BATCH)
        rows = frame.option("numPartitions", PARTITIONS).load()
        named = rows.selectExpr("value AS number", "CAST(value AS double) AS value")
        query = (
            named.mapInArrow(each_heavy, SCHEMA)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(folder / f"hand-{attempt}-checkpoint"))
            .start(str(out))
        )
        while len(times_of_batches(out)) < HEAVY_ROWS // HEAVY_BATCH:
            assert query.isActive, query.exception()
            time.sleep(0.1)
        query.stop()
        best = max(best, steady_speed(out))
    return best


def steady_speed(out: Path) -> float:
    """Rows per second once all processes have warmed up."""
    times = times_of_batches(out)[COLD_BATCHES - 1 : HEAVY_ROWS // HEAVY_BATCH]
    return HEAVY_BATCH * (len(times) - 1) / (times[-1] - times[0])


def times_of_batches(out: Path) -> list[float]:
    """When Spark has noted the files of each batch, in order."""
    notes = (out / "_spark_metadata").glob("[0-9]*")
    found = {int(note.name.partition(".")[0]): note.stat().st_mtime for note in notes}
    return [found[batch] for batch in sorted(found)]


# More partitions.


def few(partition: int) -> Publisher[Any]:
    """A row for each batch, and no waiting for more."""

    def after(position: int | None) -> Flow[Any]:
        first = 0 if position is None else position + 1
        return Flow.range(first, FEW_BATCHES).map(lambda n: (n, 0.0))

    return Flow.resumable(after, position=lambda row: row[0])


def print_partitions(session: SparkSession) -> None:
    """The seconds of a batch with one row in each of so many partitions, and of the driver."""
    print("partitions: seconds of a batch with one row in each, and CPU time of the driver's JVM")
    jvm = jvm_of(session)
    for count in MANY:
        flow = SparkFlow.partitioned(few, partitions=count, schema=SCHEMA, batch_rows=count)
        came: list[float] = []
        spent: list[float] = []
        for _ in flow.numbered_batches().blocking():
            came.append(time.perf_counter())
            spent.append(cpu(jvm))
        driver = (spent[-1] - spent[1]) / (len(spent) - 2)
        gaps = sorted(after - before for before, after in pairwise(came[1:]))
        middle = gaps[len(gaps) // 2]
        print(f"{count:10} {gaps[0]:8.3f} at best, {middle:.3f} in the middle, {driver:.3f} of CPU")
    print()
