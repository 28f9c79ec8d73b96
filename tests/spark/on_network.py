"""What holds when hosts cannot reach each other; ``test_network.py`` runs it, on a host."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow, Publisher
from penstock.spark import SparkFlow
from penstock.spark.session.spark_session import SparkSettings, spark_session
from penstock.testing import ManualSubscriber
from tests.spark.cluster import MASTER
from tests.spark.network import cut_off
from tests.spark.on_cluster import PATIENCE, UNBOUNDED, await_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(900)

SCHEMA = "partition long, number long"
CUT = 30.0
PARTITIONS = 2
EACH = 200
ALL = [(partition, number) for partition in range(PARTITIONS) for number in range(EACH)]


SHORT_TIMEOUTS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "2s",
}
"""A worker that says nothing for ten seconds is given up."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """On the cluster."""
    session = spark_session(SparkSettings(master=os.environ[MASTER], options=SHORT_TIMEOUTS))
    yield session
    session.stop()


def shards(reading: str) -> Any:
    """Numbers; says when it reads the fiftieth of the second shard."""

    def shard(partition: int) -> Publisher[Any]:
        def after(position: int | None) -> Flow[Any]:
            first = 0 if position is None else position + 1
            return Flow.range(first, EACH).map(lambda number: told(partition, number))

        def told(partition: int, number: int) -> tuple[int, int]:
            if (partition, number) == (1, 50):
                Path(reading).touch()
            return partition, number

        return Flow.resumable(after, position=lambda row: row[1])

    return shard


@pytest.mark.parametrize("host", ["one", "two"])
@pytest.mark.parametrize("way", ["rows", "write", "on_spark"])
def test_a_network_that_is_cut_for_half_a_minute_loses_no_row_and_repeats_none(
    spark: SparkSession, tmp_path: Path, host: str, way: str
) -> None:
    reading, out = tmp_path / "reading", tmp_path / "out"
    shard = shards(str(reading))
    if way == "on_spark":
        flow = Flow.concat(*map(shard, range(PARTITIONS))).on_spark(
            SCHEMA, batch_rows=20, checkpoint=tmp_path / "checkpoint"
        )
    else:
        flow = SparkFlow.partitioned(
            shard,
            partitions=PARTITIONS,
            schema=SCHEMA,
            batch_rows=20,
            checkpoint=tmp_path / "checkpoint",
        )
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    ended = flow.write("parquet", path=str(out)) if way == "write" else flow.rows()
    ended.subscribe(subscriber)
    await_file(reading, subscriber)
    with cut_off(host):
        threading.Event().wait(CUT)  # no time is asserted: this is what is tried
    subscriber.await_end(3 * PATIENCE)
    subscriber.assert_completed()
    came = subscriber.elements
    if way == "write":
        # As its log has it: a task that was given up may have left a file, which is not in there.
        came = spark.read.parquet(str(out)).collect()
    assert sorted(map(tuple, came)) == ALL
