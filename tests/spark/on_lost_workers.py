"""A cluster that loses all its workers; ``test_cluster.py`` runs it, on a cluster of its own."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.spark import SparkLost
from penstock.spark.session.executors import TIMEOUT
from penstock.testing import ManualSubscriber
from tests.faults.processes import command_of, running
from tests.spark.cluster import MASTER
from tests.spark.on_cluster import PATIENCE, UNBOUNDED, WORKER, await_file


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("spark")
def test_a_batch_for_which_nobody_works_any_more_ends_the_stream_with_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMEOUT, "5")
    working = str(tmp_path / "working")

    def wait_for_ever(row: Any) -> Any:
        if row.number == 75:
            Path(working).touch()
            threading.Event().wait()
        return row

    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    flow = Flow.range(200).map(lambda number: (number,)).on_spark("number long", batch_rows=20)
    flow.map(wait_for_ever).subscribe(subscriber)
    await_file(Path(working), subscriber)
    for process in running():
        command = command_of(process)
        if WORKER in command and os.environ[MASTER] in command:
            os.kill(process, signal.SIGKILL)
    subscriber.await_end(PATIENCE)
    said = r"lost all executors at spark://.* and for 5 seconds none has come while a batch waits"
    subscriber.assert_failed(SparkLost, match=said)
    assert [row.number for row in subscriber.elements] == [*range(60)]
