"""The runs of a pipeline, kept with its checkpoint: how they ended, and one that was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.pipeline.run_log import FILE, KEPT, SHOWN, RunLog, RunTotals, logged_runs
from penstock.spark.checkpoint import Checkpoint
from tests.servers.s3 import S3Server

PATIENCE = 240


def totals(number: int) -> RunTotals:
    return RunTotals(number, number, 0, 0)


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "checkpoint")
    Checkpoint(place).claim("log", [])
    return place


def test_a_run_is_kept_with_what_it_did_itself(place: str) -> None:
    first = RunLog(place)
    first.begin(totals(0))
    first.end("completed", None, totals(7))
    second = RunLog(place)
    second.begin(totals(7))
    assert [run.state for run in second.recent] == ["completed", "running"]
    second.end("failed", OSError("no space left"), RunTotals(9, None, 1, 0))
    before, after = second.recent
    assert (before.taken, before.delivered, before.state) == (7, 7, "completed")
    assert (after.taken, after.delivered, after.dead_letters) == (2, None, 1)
    assert (after.state, after.error) == ("failed", "OSError: no space left")
    assert after.began >= before.began


def test_a_run_that_never_wrote_down_its_end_was_killed(place: str) -> None:
    RunLog(place).begin(totals(3))
    log = RunLog(place)
    log.begin(totals(12))
    killed, running = log.recent
    assert (killed.state, killed.taken, running.state) == ("killed", 9, "running")
    assert [run.state for run in logged_runs(Checkpoint(place))] == ["killed", "running"]


def test_a_run_that_ends_when_the_next_one_has_begun_takes_nothing_away(place: str) -> None:
    first, second = RunLog(place), RunLog(place)
    first.begin(totals(0))
    second.begin(totals(5))
    first.end("stopped", None, totals(6))
    kept = logged_runs(Checkpoint(place))
    assert [(run.state, run.shown.taken) for run in kept] == [("stopped", 6), ("running", 0)]
    second.end("completed", None, totals(9))
    states = [run.state for run in logged_runs(Checkpoint(place))]
    assert states == ["stopped", "completed"]


def test_only_the_last_runs_are_kept_and_the_last_of_these_shown(place: str) -> None:
    for number in range(KEPT + 5):
        log = RunLog(place)
        log.begin(totals(number))
        log.end("stopped", None, totals(number + 1))
    kept = logged_runs(Checkpoint(place))
    assert (len(kept), len(log.recent)) == (KEPT, SHOWN)
    assert (kept[0].before.taken, kept[-1].after.taken) == (5, KEPT + 5)
    assert Path(place, FILE).stat().st_size < 50_000
    assert Path(place, FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"runs": [{"began": 1}]}', '{"runs": 7}'])
def test_a_log_that_cannot_be_read_begins_again(place: str, damage: str) -> None:
    Checkpoint(place).remember(FILE, damage)
    log = RunLog(place)
    log.begin(totals(0))
    assert [run.state for run in log.recent] == ["running"]


def test_a_log_that_cannot_be_written_ends_no_run(place: str, caplog: Any) -> None:
    Path(place, FILE).mkdir()
    log = RunLog(place)
    log.begin(totals(0))
    log.end("completed", None, totals(1))
    assert "cannot be written down" in caplog.text
    assert [run.state for run in log.recent] == ["completed"]


def test_without_a_checkpoint_there_is_no_log() -> None:
    log = RunLog(None)
    log.begin(totals(0))
    log.seen()
    log.end("completed", None, totals(1))
    assert log.recent == ()


@pytest.mark.s3
def test_a_checkpoint_on_s3_has_its_runs_as_well(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    place = f"{s3_server.create()}/some/checkpoint"
    first = RunLog(place)
    first.begin(totals(0))
    first.end("completed", None, totals(7))
    second = RunLog(place)
    second.begin(totals(7))
    assert [(run.state, run.taken) for run in second.recent] == [("completed", 7), ("running", 0)]


def numbers(count: int, sink: Any) -> Pipeline:
    return Pipeline(
        "runs",
        sources={"numbers": lambda settings: Flow.range(count).map(lambda number: (number,))},
        transform=lambda numbers: numbers.on_spark(
            "number long", batch_rows=10, resume="from_start"
        ),
        sinks={"list": lambda settings: sink},
    )


KILLED = """
import os, signal, sys
from penstock.pipeline import NoSettings, PipelineRun, RunTarget
from tests.pipeline.test_run_log import numbers

taken = []

def take(row):
    taken.append(row)
    if len(taken) == 25:
        os.kill(os.getpid(), signal.SIGKILL)

run = PipelineRun(numbers(100, take), NoSettings(), RunTarget(checkpoint=sys.argv[1]))
run.start()
run.wait()
"""


def run_on_spark(checkpoint: Path, sink: Any) -> PipelineRun:
    run = PipelineRun(numbers(100, sink), NoSettings(), RunTarget(checkpoint=str(checkpoint)))
    run.start()
    assert run.wait(PATIENCE)
    return run


def refuse(row: Any) -> None:
    raise OSError("no space left")


@pytest.mark.timeout(300)
def test_a_real_run_that_fails_and_one_that_completes_are_in_the_log(tmp_path: Path) -> None:
    assert isinstance(run_on_spark(tmp_path / "checkpoint", refuse).error, OSError)
    failed, completed = run_on_spark(tmp_path / "checkpoint", lambda row: None).status().runs
    assert (failed.state, failed.error) == ("failed", "OSError: no space left")
    assert (completed.state, completed.delivered, completed.lost) == ("completed", 100, 0)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_real_run_that_is_killed_fails_and_completes_is_in_the_log(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(checkpoint)], check=False)
    assert ended.returncode == -signal.SIGKILL
    (found,) = json.loads((checkpoint / FILE).read_text())["runs"]
    assert found["state"] == "running"
    assert isinstance(run_on_spark(checkpoint, refuse).error, OSError)
    rows: list[int] = []
    run = run_on_spark(checkpoint, lambda row: rows.append(row.number))
    assert run.error is None
    killed, failed, completed = run.status().runs
    assert [each.state for each in (killed, failed, completed)] == ["killed", "failed", "completed"]
    assert killed.delivered == 20
    assert failed.error == "OSError: no space left"
    assert (completed.delivered, completed.lost) == (80, 0)
    assert sum(each.taken or 0 for each in run.status().runs) == 100
    assert rows == list(range(20, 100))
