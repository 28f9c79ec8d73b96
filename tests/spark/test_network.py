"""A cluster whose master, workers and driver are on hosts of their own, each with its address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.cluster import connect_server, standalone_cluster
from tests.spark.network import can_make_hosts, hosts

pytestmark = [pytest.mark.full, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("tests", ["on_cluster_partitions", "on_network", "on_cut_driver"])
def test_streams_go_from_host_to_host(tmp_path: Path, tests: str) -> None:
    assert can_make_hosts(), "network namespaces are made by root, with the program ip"
    with (
        hosts("master", "one", "two", "driver") as (master, one, two, driver),
        standalone_cluster(tmp_path, master, (one, two), driver) as place,
    ):
        place.run_tests(f"tests/spark/{tests}.py")
    assert place.left() == []


@pytest.mark.openssl
@pytest.mark.spark_connect
def test_a_program_is_cut_off_from_its_server(tmp_path: Path) -> None:
    assert can_make_hosts(), "network namespaces are made by root, with the program ip"
    with (
        hosts("server", "driver") as (server, driver),
        connect_server(server, driver) as place,
    ):
        place.run_tests("tests/spark/on_cut_driver.py")
    assert place.left() == []
