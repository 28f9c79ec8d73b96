"""The same streams on a master with two workers, which are real and run on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.cluster import Place, standalone_cluster

ESSENTIAL = [
    "test_rows_come_out_as_they_went_in_and_in_order",
    "test_functions_run_on_rows_and_what_they_make_are_rows_for_the_next",
]

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as place:
        yield place
    assert place.left() == []


@pytest.mark.full
def test_streams_go_through_a_cluster_and_outlive_the_loss_of_an_executor(cluster: Place) -> None:
    said = cluster.run_tests(
        *(f"tests/spark/test_spark_flow.py::{name}" for name in ESSENTIAL),
        "tests/spark/on_cluster.py",
    )
    assert f"{len(ESSENTIAL) + 2} passed" in said


@pytest.mark.full
def test_all_that_holds_for_an_embedded_spark_holds_on_a_cluster_and_without_a_worker(
    cluster: Place,
) -> None:
    cluster.run_tests(
        "--full",
        "tests/spark/test_spark_flow.py",
        "tests/spark/test_stateful.py",
        "tests/spark/test_flights.py",
        "tests/spark/on_cluster.py",
    )


@pytest.mark.full
def test_a_driver_that_is_killed_goes_on_with_the_same_rows(cluster: Place) -> None:
    assert "2 passed" in cluster.run_tests("tests/spark/on_cluster_kills.py")


@pytest.mark.full
def test_a_stream_whose_workers_are_all_gone_does_not_wait_for_ever(cluster: Place) -> None:
    assert "1 passed" in cluster.run_tests("tests/spark/on_lost_workers.py")


@pytest.mark.full
def test_sources_and_sinks_on_the_executors_have_each_row_once(cluster: Place) -> None:
    assert "3 passed" in cluster.run_tests("tests/spark/on_cluster_partitions.py")
