"""``penstock init`` writes a pipeline that runs, with a test that passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import penstock
from penstock.cli.application import application
from tests.cli.processes import RunningCommand, penstock_command

FILES = {"README.md", "penstock.toml", "pipeline.py", "readings.jsonl", "test_pipeline.py"}
RUN = ("run", "pipeline:pipeline", "--config", "penstock.toml")


def init(*arguments: str) -> Result:
    return CliRunner().invoke(application, ["init", *arguments])


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    source = Path(penstock.__path__[0]).parent
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        check=False,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(source)},
    )


@pytest.mark.parametrize("kind", ["--plain", ""])
def test_the_files_are_there_and_bear_the_name(tmp_path: Path, kind: str) -> None:
    done = init("warmth", "--into", str(tmp_path), *kind.split())
    assert done.exit_code == 0
    assert "penstock run pipeline:pipeline --config penstock.toml" in done.stdout
    folder = tmp_path / "warmth"
    assert {path.name for path in folder.iterdir()} == FILES
    assert '    "warmth",\n' in (folder / "pipeline.py").read_text()
    assert (folder / "README.md").read_text().startswith("# warmth\n")


def test_the_plain_pipeline_runs_and_its_tests_pass(tmp_path: Path) -> None:
    init("warmth", "--into", str(tmp_path), "--plain")
    folder = tmp_path / "warmth"
    checked = penstock_command("check", *RUN[1:], folder=folder)
    assert checked.code == 0, checked.out
    ended = penstock_command(*RUN, folder=folder)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "kitchen   67.1 F"
    lines = (folder / "warm.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"room": "kitchen", "fahrenheit": 67.1}
    tested = pytest_in(folder)
    assert tested.returncode == 0, tested.stdout
    assert "4 passed" in tested.stdout


def test_the_functions_of_the_spark_pipeline_are_tested_without_spark(tmp_path: Path) -> None:
    init("warmth", "--into", str(tmp_path))
    tested = pytest_in(tmp_path / "warmth", "-k", "not spark_computes")
    assert tested.returncode == 0, tested.stdout
    assert "4 passed, 1 deselected" in tested.stdout


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_spark_pipeline_runs_and_its_tests_pass(tmp_path: Path) -> None:
    init("warmth", "--into", str(tmp_path))
    folder = tmp_path / "warmth"
    with RunningCommand(*RUN, folder=folder) as command:
        command.out.wait_for("kitchen   21.0 from 4 readings")
        ended = command.end()
    assert ended.code == 0, ended.err
    rows = [json.loads(line) for line in (folder / "averages.jsonl").read_text().splitlines()]
    assert {row["room"]: row["count"] for row in rows} == {"kitchen": 4, "cellar": 2, "attic": 3}
    tested = pytest_in(folder)
    assert tested.returncode == 0, tested.stdout
    assert "5 passed" in tested.stdout


def test_what_is_there_already_is_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "warmth"
    folder.mkdir()
    (folder / "pipeline.py").write_text("mine")
    done = init("warmth", "--into", str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{folder} is there already" in done.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"pipeline.py": "mine"}


@pytest.mark.parametrize("name", ["", "2fast", "a-b", "../up", "class", "wärme", "a b"])
def test_a_name_that_cannot_be_says_what_is_allowed(tmp_path: Path, name: str) -> None:
    done = init(name, "--into", str(tmp_path))
    assert done.exit_code == 2
    assert "a name is made of letters, digits and _" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = init("warmth", "--into", str(tmp_path / "nowhere"))
    assert done.exit_code == 2
    assert "cannot be written: No such file or directory" in done.stderr
