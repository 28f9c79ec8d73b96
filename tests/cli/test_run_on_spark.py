"""``penstock run`` on Spark: what was interrupted goes on where it was."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock.spark.journal import JournalReader
from tests.cli.processes import RunningCommand, penstock_command

PIPELINES = "tests.cli.pipelines"


@pytest.mark.full
@pytest.mark.timeout(300)
def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    arguments = (
        "run",
        f"{PIPELINES}:resumes",
        *("--checkpoint", str(tmp_path / "checkpoint")),
        *("--set", f"ledger={ledger}", "--set", "every=0.005"),
    )
    options = ("--set", "count=1_000_000", "--drain-timeout", "250")
    with RunningCommand(*arguments, *options) as command:
        command.out.wait_for("100")
        command.interrupt()
        stopped = command.end()
    before = numbers_in(ledger)
    assert stopped.code == 3, stopped.err
    assert "draining" in stopped.err
    assert before == list(range(len(before)))
    assert len(before) > 100
    assert f"taken {len(before):,}, delivered {len(before):,}, lost 0" in stopped.err

    count = len(before) + 1_000
    completed = penstock_command(*arguments, "--set", f"count={count}")
    assert completed.code == 0, completed.err
    assert numbers_in(ledger) == list(range(count))
    assert f"taken {count:,}" in completed.err
    assert json.loads((tmp_path / "checkpoint" / "books.json").read_text())["restarts"] == 1


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_ledger_goes_on_over_a_kill(tmp_path: Path) -> None:
    ledger, checkpoint = tmp_path / "ledger", tmp_path / "checkpoint"
    arguments = (
        "run",
        f"{PIPELINES}:resumes",
        *("--checkpoint", str(checkpoint)),
        *("--set", f"ledger={ledger}", "--set", "every=0.02"),
    )
    with RunningCommand(*arguments, "--set", "count=1_000_000") as command:
        command.out.wait_for("400")
        command.kill()
        killed = command.end()
    assert killed.code == -signal.SIGKILL

    count = JournalReader(checkpoint / "journal-0").end() + 300
    completed = penstock_command(*arguments, "--set", f"count={count}")
    assert completed.code == 0, completed.err
    after = numbers_in(ledger)
    assert sorted({*after}) == list(range(count))
    assert f"taken {count:,}, delivered {count:,}" in completed.err
    history = json.loads((checkpoint / "books.json").read_text())
    possibly = history["sinks"]["terminal"]["possibly_duplicated"]
    assert f"lost 0, duplicated 0, possibly duplicated {possibly:,} at terminal" in completed.err
    assert len(after) - count <= possibly <= history["replayed"]
    assert len(after) - count <= history["replayed"]
    assert (history["restarts"], history["lost"]) == (1, 0)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_temporary_files_of_killed_runs_are_removed_by_the_next_one(tmp_path: Path) -> None:
    place, blocks = tmp_path / "a place", tmp_path / "blocks"
    place.mkdir()
    environment = {"TMPDIR": str(place)}
    for _ in range(2):
        with RunningCommand("run", f"{PIPELINES}:stream_of_spark", environment=environment) as run:
            run.out.wait_for("12")
            run.kill()
            wait_for_no_process(run)
        assert len([*place.iterdir()]) == 2  # of Spark, and for the checkpoint: of this kill alone
        assert kinds_of(place.glob("*/*")) >= {"blockmgr", "spark"}

    environment["SPARK_LOCAL_DIRS"] = str(blocks)
    with RunningCommand("run", f"{PIPELINES}:stream_of_spark", environment=environment) as run:
        run.out.wait_for("12")
        assert kinds_of(blocks.iterdir()) == {"blockmgr", "spark"}
        run.interrupt()
        wait_for_no_process(run)
    assert [*place.iterdir()] == [*blocks.iterdir()] == []


def wait_for_no_process(command: RunningCommand) -> None:
    command.end()
    command.wait_for_processes(lambda: not command.processes())


def kinds_of(files: Iterable[Path]) -> set[str]:
    """What Spark calls them, without their numbers."""
    return {path.name.partition("-")[0] for path in files}


@pytest.mark.timeout(300)
def test_a_sink_that_never_asks_again_does_not_hold_up_a_stop_for_ever(tmp_path: Path) -> None:
    arguments = (
        *("run", f"{PIPELINES}:rows_asked_once", "--checkpoint", str(tmp_path / "checkpoint")),
        *("--set", "count=1_000", "--drain-timeout", "0.3"),
    )
    with RunningCommand(*arguments) as command:
        command.out.wait_for("1")
        command.interrupt()
        ended = command.end()
    assert ended.code == 3, ended.err
    assert "not drained within 0.3 s, and stopped\n  left: 1,000 rows in the journal" in ended.err
    assert "with which the next run goes on" in ended.err
    assert "  left: the sink terminal does not ask for more" in ended.err
    assert "Traceback" not in ended.err
    assert JournalReader(tmp_path / "checkpoint" / "journal-0").end() == 1_000


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_sink_that_wants_to_end_the_program_fails_like_any_other() -> None:
    ended = penstock_command("run", f"{PIPELINES}:rows_exit", "--set", "count=1_000")
    assert ended.code == 1, ended.err
    assert "failed: SinkExited: it raised SystemExit(4)" in ended.err
    assert "in the sink terminal, for Row(number=0)" in ended.err
    assert "Traceback" not in ended.err


def test_a_source_that_cannot_go_on_is_refused_in_one_line(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    ended = penstock_command("run", f"{PIPELINES}:spark_ticks", "--checkpoint", str(place))
    assert (ended.code, ended.out) == (2, "")
    assert "the pipeline 'spark-ticks' has a checkpoint and could not go on" in ended.err
    assert 'resume="none" goes on live' in ended.err
    assert ended.err.count("\n") == 1
    assert not place.exists()


def test_a_checkpoint_of_another_pipeline_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text(
        '{"format": 1, "name": "other-rows", "inputs": ["number long"]}'
    )
    ended = penstock_command(
        "run", f"{PIPELINES}:spark_rows", "--checkpoint", str(tmp_path), "--set", "count=1"
    )
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Error: the checkpoint ")
    assert "belongs to the pipeline 'other-rows', not to 'spark-rows'" in ended.err
    assert ended.err.count("\n") == 1


def numbers_in(ledger: Path) -> list[int]:
    return [int(line) for line in ledger.read_text().splitlines()]


def test_what_is_wrong_with_the_first_lines_of_a_source_is_one_line(tmp_path: Path) -> None:
    """The journal is at work on the row before when the program ends."""
    (tmp_path / "in.jsonl").write_text('{"n": 1}\nbad\n')
    (tmp_path / "broken.py").write_text(
        "from penstock.connectors import read_json_lines, write_json_lines\n"
        "from penstock.pipeline import Pipeline\n"
        "pipeline = Pipeline(\n"
        "    'broken',\n"
        "    sources={'lines': lambda settings: read_json_lines('in.jsonl')},\n"
        "    transform=lambda lines: lines.on_spark('n long'),\n"
        "    sinks={'file': lambda settings: write_json_lines('out.jsonl')},\n"
        ")\n"
    )
    ended = penstock_command("run", "broken:pipeline", "--checkpoint", "place", folder=tmp_path)
    assert ended.code == 1
    assert "in.jsonl, line 2: Expecting value at column 1" in ended.err
    assert "Traceback" not in ended.err, ended.err
