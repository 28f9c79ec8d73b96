"""The suite: long tests on request only, fast ones first, each failure told at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dev import ROOT
from tests.order import LONGEST, ON_SPARK, SLOW, in_shares
from tests.style.project import python_files

SUITE = """
import pytest

def test_one():
    pass

@pytest.mark.full
def test_two():
    pass
"""

AFTER_AN_ERROR_OF_A_QUERY = """
import logging

def test_spark_logs_an_error_of_a_query():
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").propagate = False  # as it does itself

def test_other_logs_are_read_as_ever(caplog):
    logging.getLogger("other").warning("words")
    assert caplog.text.endswith(" words\\n")
"""


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_long_tests_that_are_left_out_are_counted(tmp_path: Path, processes: str) -> None:
    lines = run_suite(tmp_path, processes)
    assert "long tests left out: 1 (--full runs them, too)" in lines
    assert "1 passed" in lines[-1]


def test_full_runs_the_long_tests_too(tmp_path: Path) -> None:
    lines = run_suite(tmp_path, "-n0", "--full")
    assert not any("left out" in line for line in lines)
    assert "2 passed" in lines[-1]


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_failure_is_told_before_the_end(tmp_path: Path, processes: str) -> None:
    (tmp_path / "test_wrong.py").write_text("def test_it():\n    assert False\n")
    lines = run_suite(tmp_path, processes, code=1)
    told = lines.index("FAILED test_wrong.py::test_it")
    assert told < next(at for at, line in enumerate(lines) if "= FAILURES =" in line)


def test_what_spark_does_to_its_loggers_reaches_no_other_test(tmp_path: Path) -> None:
    (tmp_path / "test_after.py").write_text(AFTER_AN_ERROR_OF_A_QUERY)
    assert "3 passed" in run_suite(tmp_path, "-n0")[-1]


def test_each_process_begins_with_fast_tests_but_one_with_the_longest() -> None:
    names = [
        "tests/core/a", "tests/core/b", "tests/demo/test_story.py", "tests/rules/a",
        "tests/rules/b", "tests/spark/a", "tests/spark/b", "tests/tck/unit/a",
    ]  # fmt: skip
    assert in_shares(names, names, 2) == [
        "tests/demo/test_story.py", "tests/core/a", "tests/core/b", "tests/tck/unit/a",
        "tests/rules/a", "tests/rules/b", "tests/spark/a", "tests/spark/b",
    ]  # fmt: skip


@pytest.mark.parametrize("processes", range(1, 9))
def test_whatever_the_number_of_processes_each_test_runs_once(processes: int) -> None:
    names = [path.as_posix() for path in python_files("tests")]
    assert sorted(in_shares(names, names, processes)) == names


def test_all_that_is_said_to_be_slow_is_there() -> None:
    assert all((ROOT / name).exists() for name in (*LONGEST, *ON_SPARK, *SLOW))


def run_suite(folder: Path, *options: str, code: int = 0) -> list[str]:
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = full\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # the fixtures that conftest.py shares
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout
    return done.stdout.splitlines()
