"""A sink that no longer has what it had is refused: else its rows would be lost in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from penstock import Flow
from penstock.cli.application import application
from penstock.connectors import (
    write_csv,
    write_delta,
    write_duckdb,
    write_json_lines,
    write_parquet,
    write_sqlite,
)
from penstock.delivery import BatchesLost, DeliveryRefused
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import write_with_spark

PATIENCE: Final = 300
SINKS: Final[dict[str, Callable[[Path], Any]]] = {
    "lines": lambda folder: write_json_lines(folder / "rows.jsonl"),
    "csv": lambda folder: write_csv(folder / "rows.csv", ["n"]),
    "parquet": lambda folder: write_parquet(folder / "rows"),
    "sqlite": lambda folder: write_sqlite(folder / "rows.db", "rows"),
    "duckdb": lambda folder: write_duckdb(folder / "rows.duckdb", "rows"),
    "delta": lambda folder: write_delta(folder / "rows"),
    "spark": lambda folder: write_with_spark("parquet", path=str(folder / "rows")),
}
FORGETS: Final = {"parquet", "spark"}
"""Whose folder may be emptied by whoever takes the files from there."""

pytestmark = pytest.mark.timeout(900)


def numbers(count: int) -> Flow[Any]:
    """So many, of which a later run takes those that it has not had."""

    def after(position: int | None) -> Flow[Any]:
        return Flow.range(0 if position is None else position + 1, count).map(lambda n: (n,))

    return Flow.resumable(after, position=lambda row: row[0])


def pipeline_of(count: int, sinks: dict[str, Callable[[], Any]]) -> Pipeline:
    def made(make: Callable[[], Any], settings: object) -> Any:
        return make()

    return Pipeline(
        "numbers",
        sources={"numbers": lambda settings: numbers(count)},
        transform=lambda numbers: numbers.on_spark("n long", batch_rows=3),
        sinks={name: partial(made, make) for name, make in sinks.items()},
    )


def ended(
    folder: Path, count: int, *, accept: bool = False, **sinks: Callable[[], Any]
) -> PipelineRun:
    """A run until ``count`` numbers have come, three in each batch."""
    target = RunTarget(checkpoint=str(folder / "checkpoint"), accept_lost_batches=accept)
    run = PipelineRun(pipeline_of(count, sinks), NoSettings(), target)
    run.start()
    assert run.wait(PATIENCE)
    return run


def numbers_in(place: Path) -> list[int]:
    return [json.loads(line)["n"] for line in (place / "rows.jsonl").read_text().splitlines()]


def state_of(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", [*SINKS])
def test_one_that_was_restored_from_a_backup_is_refused_and_left_as_it_is(
    tmp_path: Path, name: str
) -> None:
    place, backup = tmp_path / "sink", tmp_path / "backup"
    place.mkdir()
    make = partial(SINKS[name], place)
    assert ended(tmp_path, 6, sink=make).state == "completed"
    shutil.copytree(place, backup)
    assert ended(tmp_path, 12, sink=make).state == "completed"
    shutil.rmtree(place)
    shutil.copytree(backup, place)
    before = state_of(place)
    refused = ended(tmp_path, 15, sink=make)
    assert isinstance(refused.error, BatchesLost)
    assert "has batch 1 as its last, and has had batch" in str(refused.error)
    assert before.items() <= state_of(place).items()  # SQLite adds files that are empty


@pytest.mark.parametrize("name", sorted(SINKS.keys() - FORGETS))
def test_one_that_was_emptied_is_refused_and_not_made_again(tmp_path: Path, name: str) -> None:
    place = tmp_path / "sink"
    place.mkdir()
    make = partial(SINKS[name], place)
    assert ended(tmp_path, 6, sink=make).state == "completed"
    shutil.rmtree(place)
    place.mkdir()
    refused = ended(tmp_path, 9, sink=make)
    assert "has no batch of this pipeline, and has had batch 1" in str(refused.error)
    assert state_of(place) == {}


@pytest.mark.parametrize("name", sorted(FORGETS))
def test_a_folder_from_which_others_have_taken_the_files_is_begun_anew(
    tmp_path: Path, name: str
) -> None:
    place = tmp_path / "sink"
    place.mkdir()
    make = partial(SINKS[name], place)
    assert ended(tmp_path, 6, sink=make).state == "completed"
    shutil.rmtree(place / "rows")
    again = ended(tmp_path, 9, sink=make)
    assert (again.state, again.error) == ("completed", None)
    assert sorted(parquet.read_table(place / "rows").column("n").to_pylist()) == [6, 7, 8]


@pytest.mark.parametrize("name", ["lines", "sqlite", "spark"])
def test_a_checkpoint_that_a_sink_refuses_is_not_made(tmp_path: Path, name: str) -> None:
    """Else the right one, moved back, would lie within the wrong one."""
    place, checkpoint = tmp_path / "sink", tmp_path / "checkpoint"
    place.mkdir()
    make = partial(SINKS[name], place)
    assert ended(tmp_path, 6, sink=make).state == "completed"
    moved = checkpoint.rename(tmp_path / "moved")
    refused = ended(tmp_path, 9, sink=make)
    assert isinstance(refused.error, DeliveryRefused)
    assert "was written from another checkpoint" in str(refused.error)
    ledger = refused.status().ledger
    assert (ledger.taken, ledger.delivered, ledger.lost, ledger.duplicated) == (0, 0, 0, 0)
    assert not checkpoint.exists()
    moved.rename(checkpoint)
    again = ended(tmp_path, 9, sink=make)
    assert (again.state, again.status().ledger.taken) == ("completed", 9)


def test_it_is_accepted_once_and_the_ledger_says_that_nobody_knows_what_is_lost(
    tmp_path: Path,
) -> None:
    make = partial(SINKS["lines"], tmp_path)
    assert ended(tmp_path, 6, sink=make).status().ledger.at_least == ()
    for written in tmp_path.glob("rows.jsonl*"):
        written.unlink()
    run = ended(tmp_path, 6, accept=True, sink=make)
    assert (run.state, "lost" in run.status().ledger.at_least) == ("completed", True)
    (line,) = [each.text for each in run.status().ledger.lines if "accepted" in each.text]
    assert line.endswith("rows.jsonl has no batch of this pipeline, and has had batch 1")
    again = ended(tmp_path, 9, sink=make)
    assert (again.state, "lost" in again.status().ledger.at_least) == ("completed", True)
    assert numbers_in(tmp_path) == [6, 7, 8]
    shown = CliRunner().invoke(application, ["checkpoint", "show", str(tmp_path / "checkpoint")])
    assert "lost 0 or more" in shown.output


def test_to_accept_what_is_whole_changes_nothing(tmp_path: Path) -> None:
    make = partial(SINKS["lines"], tmp_path)
    assert ended(tmp_path, 6, sink=make).state == "completed"
    run = ended(tmp_path, 9, accept=True, sink=make)
    assert (run.state, run.status().ledger.at_least) == ("completed", ())


def test_a_sink_that_joins_a_pipeline_has_lost_nothing_and_neither_has_one_without_rows(
    tmp_path: Path,
) -> None:
    places = {name: tmp_path / name for name in ("old", "new")}
    for place in places.values():
        place.mkdir()
    old, new = (partial(SINKS["lines"], place) for place in places.values())
    assert ended(tmp_path, 6, old=old).state == "completed"
    assert ended(tmp_path, 6, old=old, new=new).state == "completed"
    assert ended(tmp_path, 9, old=old, new=new).state == "completed"
    assert numbers_in(places["new"]) == [6, 7, 8]


def test_check_says_so_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = partial(SINKS["lines"], tmp_path)
    assert ended(tmp_path, 6, sink=make).state == "completed"
    for written in tmp_path.glob("rows.jsonl*"):
        written.unlink()
    (tmp_path / "lost.py").write_text(
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from tests.pipeline.test_lost_batches import SINKS, pipeline_of\n"
        f"place = Path({str(tmp_path)!r})\n"
        "pipeline = pipeline_of(9, {'sink': partial(SINKS['lines'], place)})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ["check", "lost:pipeline", "--no-spark", "--checkpoint"]
    checked = CliRunner().invoke(application, [*arguments, str(tmp_path / "checkpoint")])
    assert checked.exit_code == 1
    (line,) = [each for each in checked.output.splitlines() if each.startswith("problem")]
    assert "has no batch of this pipeline, and has had batch 1" in line
