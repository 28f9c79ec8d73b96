"""What holds on a cluster only; ``test_cluster.py`` runs it, in a process of its own."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.testing import ManualSubscriber
from tests.faults.processes import command_of, parent_of
from tests.spark.cluster import MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTOR = "CoarseGrainedExecutorBackend"
WORKER = "deploy.worker.Worker"
PATIENCE = 120.0
UNBOUNDED = 1 << 40


def test_the_tests_run_on_the_cluster(spark: SparkSession) -> None:
    assert spark.sparkContext.master == os.environ[MASTER]


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("victim", [EXECUTOR, pytest.param(WORKER, marks=pytest.mark.full)])
def test_a_process_killed_in_the_middle_of_a_batch_loses_no_row_and_repeats_none(
    tmp_path: Path, victim: str
) -> None:
    working, go_on = str(tmp_path / "working"), str(tmp_path / "go-on")

    def wait_once(row: Any) -> Any:
        """Say which process is at work, and stay there until it is to go on."""
        if row.number == 75 and not Path(go_on).exists():
            Path(working + ".new").write_text(str(os.getpid()))
            Path(working + ".new").rename(working)
            while not Path(go_on).exists():
                threading.Event().wait(0.05)
        return row

    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    flow = Flow.range(200).map(lambda number: (number,)).on_spark("number long", batch_rows=20)
    flow.map(wait_once).subscribe(subscriber)
    await_file(Path(working), subscriber)
    os.kill(ancestor(int(Path(working).read_text()), victim), signal.SIGKILL)
    Path(go_on).touch()
    subscriber.await_end(PATIENCE)
    subscriber.assert_completed()
    assert [row.number for row in subscriber.elements] == [*range(200)]


def await_file(file: Path, subscriber: ManualSubscriber[Any]) -> None:
    pause = threading.Event()
    while not file.exists():
        assert not subscriber.ended, subscriber.error
        pause.wait(0.05)


def ancestor(process: int, command: str) -> int:
    """The process with that command which has started this one, itself or by another."""
    while command not in command_of(process):
        process = parent_of(process)
        assert process > 1, f"nobody runs {command}"
    return process
