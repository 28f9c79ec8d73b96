"""A program whose own cable is cut; ``test_network.py`` runs it, on a host."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark import SparkFlow, SparkLost
from penstock.spark.session.executors import TIMEOUT
from penstock.spark.session.spark_session import SparkSettings, spark_session
from penstock.testing import ManualSubscriber
from tests.faults.numbers import join_runs
from tests.spark.cluster import MASTER, REMOTE
from tests.spark.network import cut_off
from tests.spark.on_cluster import PATIENCE, UNBOUNDED, await_file
from tests.spark.on_network import ALL, CUT, PARTITIONS, SCHEMA, SHORT_TIMEOUTS, shards

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.spark import NumberedBatch

pytestmark = pytest.mark.timeout(600)


def session() -> SparkSession:
    """On the cluster, or on the server."""
    if master := os.environ.get(MASTER):
        return spark_session(SparkSettings(master=master, options=SHORT_TIMEOUTS))
    return spark_session(SparkSettings(remote=os.environ[REMOTE]))


def partitioned(spark: SparkSession, reading: str, checkpoint: Path) -> SparkFlow:
    return SparkFlow.partitioned(
        shards(reading),
        partitions=PARTITIONS,
        schema=SCHEMA,
        batch_rows=20,
        checkpoint=checkpoint,
        session=spark,
    )


def journaled(spark: SparkSession, reading: str, checkpoint: Path) -> SparkFlow:
    def told(row: Any) -> Any:
        if tuple(row) == (1, 50):
            Path(reading).touch()
        return row

    elements = Flow.from_iterable(ALL)
    rows = elements.on_spark(SCHEMA, batch_rows=20, checkpoint=checkpoint, session=spark)
    return rows.map(told)  # where Spark works: it has come that far


@pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")  # by a client of Spark Connect
@pytest.mark.parametrize("make", [partitioned, journaled])
def test_a_driver_that_is_cut_off_for_half_a_minute_goes_on_or_ends_and_the_next_one_has_the_rest(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[SparkSession, str, Path], SparkFlow],
) -> None:
    monkeypatch.setenv(TIMEOUT, "10")
    reading, checkpoint = tmp_path / "reading", tmp_path / "checkpoint"
    came: dict[int, NumberedBatch] = {}
    for is_cut in (True, False):
        spark = session()
        subscriber: ManualSubscriber[NumberedBatch] = ManualSubscriber(request=UNBOUNDED)
        make(spark, str(reading), checkpoint).numbered_batches().subscribe(subscriber)
        if is_cut:
            await_file(reading, subscriber)
            with cut_off("driver"):
                threading.Event().wait(CUT)  # no time is asserted: this is what is tried
        subscriber.await_end(PATIENCE)
        if not (is_cut and subscriber.error):
            subscriber.assert_completed()
        else:
            subscriber.assert_failed(SparkLost, match="start it again|reached")
        came |= {batch.batch_id: batch for batch in subscriber.elements}
        join_runs()
        spark.stop()
    rows = [tuple(row.values()) for batch in came.values() for row in batch.table.to_pylist()]
    assert sorted(rows) == ALL
