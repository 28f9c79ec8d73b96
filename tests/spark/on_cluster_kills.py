"""A driver on a cluster that is killed with ``kill -9``; ``test_cluster.py`` runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.sessions import SessionProcess, kill_again_and_again, require_exact


@pytest.mark.timeout(900)
@pytest.mark.parametrize("time", ["event_time", "processing_time"])
def test_a_driver_that_is_killed_goes_on_with_the_same_rows(tmp_path: Path, time: str) -> None:
    kill_again_and_again(tmp_path, time, kills=2)
    SessionProcess(tmp_path, time).end()
    assert require_exact(tmp_path, time) > 10
