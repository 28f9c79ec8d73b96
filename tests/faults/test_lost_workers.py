"""A process of Spark's own is killed: the query goes on from the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark import SparkFailed
from penstock.testing import ManualSubscriber
from tests.faults.lost_workers import COUNT, KINDS, interrupt
from tests.faults.numbers import PATIENCE, SCHEMA, as_row, join_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(600)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_process_of_spark_costs_time_and_no_row(kind: str, tmp_path: Path) -> None:
    found = interrupt(tmp_path, kind)
    assert found.error is None
    assert found.numbers == [*range(COUNT)]


def test_a_query_that_somebody_else_stops_is_an_error_and_no_silence(
    spark: SparkSession, tmp_path: Path
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=100)
    source: Flow[Any] = Flow.concat(Flow.range(3).map(as_row), Flow.never())
    source.on_spark(SCHEMA, name="stopped", checkpoint=tmp_path / "checkpoint").subscribe(
        subscriber
    )
    subscriber.await_elements(3, PATIENCE)
    for query in spark.streams.active:
        query.stop()
    subscriber.await_end(PATIENCE)
    subscriber.assert_failed(SparkFailed, match="somebody else has stopped the query of stopped")
    join_runs()
