"""Sources that Spark reads itself: their rows in the ledger, drains, kills, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from penstock import Flow
from penstock.connectors import write_json_lines
from penstock.observe.ledger import figure
from penstock.pipeline import AssemblyError, NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import SparkFlow, for_each_batch
from tests.pipeline.stream_process import KEPT, PUBLISHED, publishing, reading, run_of, write

PATIENCE: Final = 240

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of ten numbers each."""
    for file in range(3):
        write(tmp_path / "in", file, list(range(10 * file, 10 * file + 10)))
    return tmp_path


def ended(run: PipelineRun) -> PipelineRun:
    run.start()
    assert run.wait(PATIENCE)
    assert run.error is None, run.error
    return run


def written(folder: Path) -> list[int]:
    lines = (folder / "out.jsonl").read_text().splitlines()
    return [json.loads(line)["number"] for line in lines]


def source_in(run: PipelineRun) -> Any:
    return next(each for each in run.status().stages if each.kind == "source")


def test_the_ledger_takes_what_spark_says_it_has_read(folder: Path) -> None:
    run = ended(run_of(folder, until_end=True))
    ledger = run.status().ledger
    assert written(folder) == list(range(30))
    assert (run.state, ledger.taken, ledger.delivered, ledger.filtered) == ("completed", 30, 30, 0)
    assert (ledger.lost, ledger.duplicated, ledger.in_flight) == (0, 0, 0)
    assert (ledger.difference, ledger.at_least) == (0, ())
    batch = run.status().batch
    assert batch is not None
    assert (batch.number, batch.rows) == (2, 10)
    source = source_in(run)
    assert (source.name, source.passed) == ("files", 30)
    assert source.detail.startswith("Spark reads json ")
    assert source.detail.endswith("/in")


def test_rows_that_a_function_leaves_out_are_counted(folder: Path) -> None:
    run = run_of(folder, until_end=True, through=lambda files: files.filter(lambda row: row[0] % 3))
    ledger = ended(run).status().ledger
    assert written(folder) == [number for number in range(30) if number % 3]
    assert (ledger.taken, ledger.delivered, ledger.filtered) == (30, 20, 10)
    assert (ledger.lost, ledger.difference) == (0, 0)


def test_what_spark_does_not_say_is_not_known_and_not_0(folder: Path) -> None:
    """A filter that the source does itself: Spark has read all files, and says that it read 0."""
    through = lambda files: files.frame(lambda frame: frame.where("number < 0"))  # noqa: E731
    ledger = ended(run_of(folder, until_end=True, through=through)).status().ledger
    assert figure(ledger, "taken") == "not known"
    assert (ledger.delivered, ledger.difference) == (0, None)


def test_a_pipeline_that_is_drained_goes_on_with_the_next_batch(folder: Path) -> None:
    def drain_at(row: Any) -> None:
        if row.number in (3, 17):
            run.drain()

    for whole in (10, 20):
        run = run_of(folder, probe=drain_at)
        ended(run)
        assert run.state == "stopped"
        assert written(folder) == list(range(whole))
        ledger = run.status().ledger
        assert (ledger.taken, ledger.delivered) == (whole, whole)
        assert (ledger.lost, ledger.difference, ledger.at_least) == (0, 0, ())
    run = run_of(folder, probe=drain_at, until_end=True)
    ended(run)
    assert written(folder) == list(range(30))
    ledger = run.status().ledger
    assert (ledger.taken, ledger.delivered, ledger.restarts) == (30, 30, 2)
    assert (ledger.lost, ledger.duplicated, ledger.possibly_duplicated) == (0, 0, 0)
    assert (ledger.replayed, ledger.difference, ledger.at_least) == (0, 0, ())


def test_a_pipeline_is_drained_while_nothing_comes(folder: Path) -> None:
    def drain_at(row: Any) -> None:
        if row.number == 29:
            run.drain()

    run = run_of(folder, probe=drain_at)
    ended(run)
    assert (run.state, written(folder)) == ("stopped", list(range(30)))


COMMAND: Final = [sys.executable, "-m", "tests.pipeline.stream_process"]


def kill_at(number: int, command: list[str]) -> None:
    """Run the program until a sink has got that number, and kill it with all its children."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == f"{number}\n":
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "number",
    [pytest.param(0, marks=pytest.mark.full), 14, pytest.param(29, marks=pytest.mark.full)],
)
def test_after_a_kill_each_row_is_there_once(folder: Path, number: int) -> None:
    command = [*COMMAND, str(folder)]
    kill_at(number, command)
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    *rows, last = again.stdout.splitlines()
    assert last.startswith("completed 0 ")
    assert [int(row) for row in rows] == list(range(number // 10 * 10, 30))
    assert written(folder) == list(range(30))


@pytest.mark.full
@pytest.mark.read_limits
@pytest.mark.parametrize(
    "numbers", [(1,), (7,), (8, 17, 29), (25,), (31, 34, 41, 44), (53,), (58,), (59,)]
)
def test_after_kills_each_row_of_publishers_is_there_once(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    command = [*COMMAND, str(tmp_path), "publishers"]
    for number in numbers:
        kill_at(number, command)
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert again.stdout.splitlines()[-1].startswith("completed 0 0 ")
    assert sorted(written(tmp_path)) == KEPT


@pytest.mark.read_limits
def test_what_functions_leave_out_as_publishers_are_read_is_counted(tmp_path: Path) -> None:
    def drain_at(row: Any) -> None:
        if row.number == 17:
            run.drain()

    run = run_of(tmp_path, probe=drain_at, source=publishing)
    ledger = ended(run).status().ledger
    assert (run.state, ledger.taken, ledger.delivered, ledger.filtered) == ("stopped", 20, 13, 7)
    assert (ledger.lost, ledger.difference, ledger.at_least) == (0, 0, ())
    run = run_of(tmp_path, source=publishing)
    ledger = ended(run).status().ledger
    assert sorted(written(tmp_path)) == KEPT
    assert (run.state, ledger.taken) == ("completed", len(PUBLISHED))
    assert (ledger.delivered, ledger.filtered) == (len(KEPT), len(PUBLISHED) - len(KEPT))
    assert (ledger.lost, ledger.duplicated, ledger.difference) == (0, 0, 0)
    assert ledger.at_least == ()
    assert source_in(run).passed == len(PUBLISHED) - 20


def test_a_batch_whose_commit_was_lost_is_done_again_and_counted_once(folder: Path) -> None:
    ended(run_of(folder, until_end=True))
    commits = folder / "checkpoint" / "spark" / "commits"
    for file in (commits / "2", commits / ".2.crc"):
        file.unlink(missing_ok=True)
    write(folder / "in", 3, [30, 31])
    ledger = ended(run_of(folder, until_end=True)).status().ledger
    assert written(folder) == list(range(32))
    assert (ledger.taken, ledger.delivered, ledger.recognised) == (32, 32, 10)
    assert (ledger.lost, ledger.duplicated, ledger.at_least) == (0, 0, ("replayed",))
    assert ledger.lines[-1].text == "restarted; batch 2 is done once more"


def test_a_lost_worker_costs_no_row(folder: Path) -> None:
    killed = folder / "killed"

    def dies_once(row: Any) -> bool:
        if row.number == 17 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    run = run_of(folder, until_end=True, through=lambda files: files.filter(dies_once))
    ledger = ended(run).status().ledger
    assert killed.exists()
    assert written(folder) == list(range(30))
    assert (ledger.taken, ledger.delivered, ledger.lost) == (30, 30, 0)


def test_sinks_of_spark_get_each_batch_and_are_drained(folder: Path) -> None:
    batches: list[tuple[int, int]] = []

    def take(frame: Any, number: int) -> None:
        batches.append((number, frame.count()))
        if number == 0:
            run.drain()

    def made(**options: Any) -> PipelineRun:
        pipeline = Pipeline(
            "batches",
            sources={
                "files": lambda settings: SparkFlow.from_stream(reading(folder / "in"), **options)
            },
            sinks={"function": lambda settings: for_each_batch(take)},
        )
        place = RunTarget(checkpoint=str(folder / "checkpoint"))
        return PipelineRun(pipeline, NoSettings(), place)

    run = made()
    ended(run)
    assert (run.state, batches) == ("stopped", [(0, 10)])
    run = made(until_end=True)
    ledger = ended(run).status().ledger
    assert batches == [(0, 10), (1, 10), (2, 10)]
    assert (ledger.taken, ledger.delivered, ledger.lost) == (30, None, 0)
    assert (ledger.possibly_duplicated, ledger.at_least) == (0, ())


def test_late_rows_of_a_stream_are_counted(folder: Path) -> None:
    def windows(frame: Any) -> Any:
        timed = frame.selectExpr("CAST(number * 100 + 100 AS timestamp) AS time")
        counts = timed.withWatermark("time", "1 second").groupBy("time").count()
        return counts.selectExpr("CAST(time AS long) DIV 100 - 1 AS number")

    write(folder / "in", 3, [1, 2, 2])
    write(folder / "in", 4, [40])
    run = run_of(folder, until_end=True, through=lambda files: files.frame(windows))
    ledger = ended(run).status().ledger
    assert sorted(written(folder)) == list(range(30))
    assert (ledger.taken, ledger.late, ledger.lost) == (34, 3, 0)


def test_a_journal_and_a_stream_share_a_pipeline(folder: Path) -> None:
    seen: list[int] = []

    def drain_after_all(row: Any) -> None:
        seen.append(row.number)
        if len(seen) == 80:
            run.drain()

    pipeline = Pipeline(
        "both",
        sources={
            "files": lambda settings: SparkFlow.from_stream(reading(folder / "in")),
            "numbers": lambda settings: Flow.range(100, 150).map(lambda number: (number,)),
        },
        transform=lambda files, numbers: numbers.on_spark("number long").union(files).rows(),
        sinks={
            "lines": lambda settings: write_json_lines(folder / "out.jsonl"),
            "probe": lambda settings: drain_after_all,
        },
    )
    run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(folder / "checkpoint")))
    ended(run)
    assert sorted(written(folder)) == [*range(30), *range(100, 150)]
    status = run.status()
    assert (run.state, status.ledger.taken, status.ledger.delivered) == ("stopped", 80, 80)
    assert status.ledger.lost == 0
    passed = {each.name: each.passed for each in status.stages}
    assert (passed["files"], passed["numbers"], passed["spark"]) == (30, 50, 80)
    edges = {(each.giver, each.taker) for each in status.edges}
    assert {("files", "spark"), ("numbers", "journal"), ("journal", "spark")} <= edges


def test_a_stream_stays_in_the_session_that_made_it(folder: Path) -> None:
    pipeline = Pipeline(
        "files",
        sources={"files": lambda settings: SparkFlow.from_stream(reading(folder / "in"))},
        sinks={"nowhere": lambda settings: print},
    )
    with pytest.raises(AssemblyError, match="which the option master cannot move"):
        PipelineRun(pipeline, NoSettings(), RunTarget(master="local[2]"))


def test_the_checkpoint_of_other_inputs_is_refused_before_the_start(folder: Path) -> None:
    ended(run_of(folder, until_end=True))
    pipeline = Pipeline(
        "files",
        sources={"files": lambda settings: Flow.range(3).map(lambda number: (number,))},
        transform=lambda files: files.on_spark("number long").rows(),
        sinks={"nowhere": lambda settings: print},
    )
    run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(folder / "checkpoint")))
    with pytest.raises(AssemblyError, match="was made for the stream of json"):
        run.require_own_checkpoint()
