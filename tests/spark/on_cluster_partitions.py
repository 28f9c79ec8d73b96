"""Sources and sinks on the executors of a cluster that runs tasks again, and twice at a time.

``test_cluster.py`` runs it, in a process of its own.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import TaskContext

from penstock import Flow, Publisher
from penstock.spark import SparkFlow
from penstock.spark.session.spark_session import SparkSettings, spark_session
from penstock.testing import ManualSubscriber
from tests.spark.cluster import MASTER
from tests.spark.on_cluster import EXECUTOR, PATIENCE, UNBOUNDED, WORKER, ancestor, await_file
from tests.spark.test_spark_flow import result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("spark")]

AGAIN_AND_TWICE = {
    "spark.task.maxFailures": "4",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "100ms",
}
SCHEMA = "partition long, number long"
PARTITIONS = 2
EACH = 100
ALL = [(partition, number) for partition in range(PARTITIONS) for number in range(EACH)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """On the cluster; a task that fails is run again, and a slow one has a second attempt."""
    options = {"spark.sql.shuffle.partitions": "2", **AGAIN_AND_TWICE}
    session = spark_session(SparkSettings(master=os.environ[MASTER], options=options))
    yield session
    session.stop()


def attempt() -> int:
    task = TaskContext.get()
    assert task is not None
    return int(task.attemptNumber())


def touch(file: str) -> None:
    Path(file).touch()


def wait_for(file: str) -> None:
    pause = threading.Event()
    while not Path(file).exists():
        pause.wait(0.02)


def resumable(partition: int, reading: Any) -> Publisher[Any]:
    """Numbers, each of which passes ``reading`` in the task that reads it."""

    def after(position: int | None) -> Flow[Any]:
        first = 0 if position is None else position + 1
        return Flow.range(first, EACH).map(lambda number: reading((partition, number)))

    return Flow.resumable(after, position=lambda row: row[1])


# Sinks.


class TableOnce:
    """Stores the rows of a partition and its numbers in one transaction: all of them, or none."""

    def __init__(self, place: str, batch: int, partition: int) -> None:
        self.part = (batch, partition)
        self._place = place
        self._rows: list[Any] = []

    def on_subscribe(self, subscription: Any) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, row: Any) -> None:
        self._rows.append(tuple(row))

    def on_error(self, error: Exception) -> None:
        pass

    def on_complete(self) -> None:
        with closing(sqlite3.connect(self._place, timeout=PATIENCE)) as table, table:
            table.execute("BEGIN IMMEDIATE")
            known = table.execute("SELECT 1 FROM parts WHERE (batch, part) = (?, ?)", self.part)
            if known.fetchone() is None:
                table.execute("INSERT INTO parts VALUES (?, ?)", self.part)
                table.executemany("INSERT INTO rows VALUES (?, ?)", self._rows)


def test_a_table_has_each_row_once_although_tasks_are_run_again_and_twice(tmp_path: Path) -> None:
    place, folder = str(tmp_path / "table.db"), str(tmp_path)
    with closing(sqlite3.connect(place)) as table, table:
        table.execute("CREATE TABLE parts (batch INT, part INT, PRIMARY KEY (batch, part))")
        table.execute("CREATE TABLE rows (partition INT, number INT)")

    class Disturbed(TableOnce):
        """Fails once after it has stored its rows, and is slow once until another has stored."""

        def on_complete(self) -> None:
            touch(f"{folder}/{self.part[0]}-{self.part[1]}-{attempt()}.began")
            if self.part == (1, 1) and attempt() == 0:
                wait_for(f"{folder}/1-1-1.stored")
            super().on_complete()
            touch(f"{folder}/{self.part[0]}-{self.part[1]}-{attempt()}.stored")
            if self.part == (0, 0) and attempt() == 0:
                raise ConnectionError("the answer of the table was lost")

    def numbers(partition: int) -> Publisher[Any]:
        return resumable(partition, lambda row: row)

    flow = SparkFlow.partitioned(numbers, partitions=PARTITIONS, schema=SCHEMA, batch_rows=60)
    result(flow.for_each_partition(lambda *part: Disturbed(place, *part)))
    with closing(sqlite3.connect(place)) as table:
        assert sorted(table.execute("SELECT partition, number FROM rows")) == ALL
    assert (tmp_path / "0-0-1.stored").exists()  # it was run again
    assert (tmp_path / "1-1-1.stored").exists()  # a second attempt was faster


# Sources.


@pytest.mark.parametrize("victim", [EXECUTOR, WORKER])
def test_a_process_killed_while_it_reads_loses_no_row_and_repeats_none(
    tmp_path: Path, victim: str
) -> None:
    reading, go_on = str(tmp_path / "reading"), str(tmp_path / "go-on")

    def wait_once(row: Any) -> Any:
        if row == (1, 45) and not Path(go_on).exists():
            Path(reading + ".new").write_text(str(os.getpid()))
            Path(reading + ".new").rename(reading)
            wait_for(go_on)
        return row

    flow = SparkFlow.partitioned(
        lambda partition: resumable(partition, wait_once),
        partitions=PARTITIONS,
        schema=SCHEMA,
        batch_rows=40,
        checkpoint=tmp_path / "checkpoint",
    )
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    flow.rows().subscribe(subscriber)
    await_file(Path(reading), subscriber)
    os.kill(ancestor(int(Path(reading).read_text()), victim), signal.SIGKILL)
    touch(go_on)
    subscriber.await_end(PATIENCE)
    subscriber.assert_completed()
    assert sorted(map(tuple, subscriber.elements)) == ALL
