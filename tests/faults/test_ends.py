"""Every source to every sink, killed: each sink has each row once, as other programs read it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.faults.ends.lives import FAULTS, finish, suffer
from tests.faults.ends.series import run_series


@pytest.mark.timeout(600)
def test_each_sink_keeps_its_promise_over_a_kill(tmp_path: Path) -> None:
    # That a pipeline gives nothing when it is run again, tests/pipeline/test_batches.py shows.
    faults = ["kill -9 of the process group"]
    series = run_series(tmp_path, faults, 200, Random(1), again=False)
    assert series.passed, series


@pytest.mark.full
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_sink_keeps_its_promise_over_each_kind_of_fault(tmp_path: Path, fault: str) -> None:
    series = run_series(tmp_path, [fault] * 5, 4_000, Random(2))
    assert series.passed, series


@pytest.mark.full
@pytest.mark.kafka
@pytest.mark.postgres
@pytest.mark.timeout(1_800)
def test_servers_at_both_ends_have_each_row_once_over_all_kinds_of_faults(tmp_path: Path) -> None:
    from tests.faults.ends.servers import SERVERS, running_servers

    random = Random(3)
    with running_servers(tmp_path, 3_000) as servers:
        struck = 0
        for fault in [*FAULTS.values()] * 2:
            struck += suffer(tmp_path, servers.settings, fault, random, SERVERS)
        for _ in range(2):
            finish(tmp_path, servers.settings, SERVERS)
            for verdict in servers.verdicts():
                assert verdict.is_exact, verdict
        assert struck >= 6
