"""``penstock checkpoint``, on checkpoints that real runs have written, and while one has them."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from penstock import Flow
from penstock.cli.application import application
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from tests.archives import unpack
from tests.pipeline.stream_process import run_of, write

PATIENCE = 240

pytestmark = pytest.mark.timeout(300)


def called(*arguments: object) -> Result:
    return CliRunner().invoke(application, ["checkpoint", *map(str, arguments)])


def shown(place: Path) -> Any:
    result = called("show", place, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def pipeline_of(numbers: Flow[int], sink: Any, checkpoint: Path) -> PipelineRun:
    pipeline = Pipeline(
        "upkeep",
        sources={"numbers": lambda settings: numbers},
        transform=lambda numbers: numbers.map(lambda number: (number,)).on_spark(
            "number long", batch_rows=10
        ),
        sinks={"list": lambda settings: sink},
    )
    return PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(checkpoint)))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a journaled pipeline that was stopped amid its rows, and is at rest."""
    place = tmp_path_factory.mktemp("upkeep") / "checkpoint"
    taken: list[int] = []
    stopped = threading.Event()

    def take(row: Any) -> None:
        taken.append(row.number)
        if len(taken) == 25:
            run.stop()
            stopped.set()

    run = pipeline_of(Flow.range(100), take, place)
    run.start()
    assert run.wait(PATIENCE)
    assert stopped.wait(PATIENCE)  # the run is over before the call has returned that stops it
    while shown(place)["user"]:  # who stops it does not wait until Spark has let go
        assert not threading.Event().wait(0.01)
    return place


def test_it_says_whose_it_is_how_far_it_has_come_and_what_waits(done: Path) -> None:
    found = shown(done)
    assert (found["pipeline"], found["starts"], found["user"]) == ("upkeep", 1, "")
    (journal,) = found["journals"]
    assert journal["end"] >= 25
    assert journal["waiting"] == journal["end"] - 10 * (found["done"] + 1)
    (run,) = found["runs"]
    assert (run["state"], run["lost"]) == ("stopped", 0)
    text = called("show", done).stdout
    assert ", stopped after 00:0" in text
    assert f"batch {found['done']} is done" in text
    assert f"{journal['waiting']} rows wait, up to row {journal['end']}" in text
    assert "in use     no" in text


def test_a_backup_is_a_checkpoint_from_which_the_pipeline_goes_on(
    done: Path, tmp_path: Path
) -> None:
    file = tmp_path / "backup.tar.gz"
    assert called("export", done, file).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    refused = called("export", done, file)
    assert (refused.exit_code, "File exists" in refused.stderr) == (2, True)
    unpack(file, tmp_path / "restored")
    (restored,) = (tmp_path / "restored").iterdir()
    before = shown(done)
    assert {**shown(restored), "place": before["place"]} == before
    taken: list[int] = []
    run = pipeline_of(Flow.range(100), lambda row: taken.append(row.number), restored)
    run.start()
    assert run.wait(PATIENCE)
    assert (run.state, run.error) == ("completed", None)
    assert taken == list(range(10 * (before["done"] + 1), 100))
    assert shown(done) == before


def test_rows_of_a_journal_that_are_done_do_not_come_again(done: Path) -> None:
    before = shown(done)
    for batch in (before["done"] + 1, before["oldest"] - 1):
        refused = called("rewind", done, "--to", batch, "--yes")
        assert refused.exit_code == 2
        assert f"can be rewound to batch {before['oldest']} at the earliest" in refused.stderr
        assert f"not to {batch}" in refused.stderr
    assert shown(done) == before


def test_while_a_run_has_it_nothing_is_changed_and_all_can_look(tmp_path: Path) -> None:
    place, entered, let_on = tmp_path / "checkpoint", threading.Event(), threading.Event()

    def take(row: Any) -> None:
        entered.set()
        assert let_on.wait(PATIENCE)

    run = pipeline_of(Flow.range(20), take, place)
    run.start()
    assert entered.wait(PATIENCE)
    assert shown(place)["user"] == f"the process {os.getpid()} has it"
    for arguments in (
        ["reset", place, "--yes"],
        ["rewind", place, "--to", "-1", "--yes"],
        ["export", place, tmp_path / "backup"],
    ):
        refused = called(*arguments)
        assert (refused.exit_code, "is in use" in refused.stderr) == (2, True)
    assert not (tmp_path / "backup").exists()
    let_on.set()
    assert run.wait(PATIENCE)
    assert run.state == "completed"


def test_a_reset_asks_and_sets_the_checkpoint_aside(done: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    called("export", done, file)
    unpack(file, tmp_path)
    place = tmp_path / done.name
    asked = CliRunner().invoke(application, ["checkpoint", "reset", str(place)], input="n\n")
    assert (asked.exit_code, place.exists()) == (1, True)
    assert "sinks would get everything again" in asked.stderr
    assert called("reset", place, "--yes").exit_code == 0
    (aside,) = tmp_path.glob(f"{done.name}.2*")
    assert not place.exists()
    assert shown(aside)["pipeline"] == "upkeep"


def test_what_spark_reads_itself_comes_again_after_a_rewind(tmp_path: Path) -> None:
    for file in range(3):
        write(tmp_path / "in", file, list(range(10 * file, 10 * file + 10)))
    run = run_of(tmp_path, until_end=True)
    run.start()
    assert run.wait(PATIENCE)
    place = tmp_path / "checkpoint"
    assert (shown(place)["done"], shown(place)["oldest"]) == (2, 0)
    nothing = called("rewind", place, "--to", 2)  # which need not be asked
    assert (nothing.exit_code, "sinks get no batch again" in nothing.output) == (0, True)
    again = called("rewind", place, "--to", 0, "--yes")
    assert again.exit_code == 0, again.output
    assert "sinks get batches 1 to 2 again" in again.output
    assert (shown(place)["done"], shown(place)["planned"]) == (0, 0)
    refused = run_of(tmp_path, until_end=True)  # its sink is exactly once, and has more
    refused.start()
    assert refused.wait(PATIENCE)
    assert "the checkpoint only knows batches up to 0 of that time" in str(refused.error)
    for written in tmp_path.glob("out.jsonl*"):
        written.unlink()
    emptied = run_of(tmp_path, until_end=True)  # and now it has less
    emptied.start()
    assert emptied.wait(PATIENCE)
    assert "has no batch of this pipeline, and has had batch 0" in str(emptied.error)
    run = run_of(tmp_path, until_end=True, accept_lost_batches=True)
    run.start()
    assert run.wait(PATIENCE)
    assert (run.state, run.error) == ("completed", None)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(10, 30))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "{place}"], "holds no checkpoint: there is no pipeline.json"),
        (["reset", "{place}", "--yes"], "holds no checkpoint"),
        (["export", "{place}", "{place}/file"], "holds no checkpoint"),
        (["rewind", "{place}", "--to", "1", "--yes"], "holds no checkpoint"),
        (["rewind", "{place}", "--yes"], "Missing option '--to'"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    result = called(*(each.format(place=tmp_path) for each in arguments))
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text("{")
    (tmp_path / "pipeline.json").chmod(0o600)
    tmp_path.chmod(0o700)
    assert "pipeline.json is damaged" in called("show", tmp_path).stderr
