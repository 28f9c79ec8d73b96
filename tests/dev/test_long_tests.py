"""Long tests run on request only, and their absence is always shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dev import ROOT

SUITE = """
import pytest

def test_one():
    pass

@pytest.mark.full
def test_two():
    pass
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


def run_suite(folder: Path, *options: str) -> list[str]:
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = full\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # the fixtures that conftest.py shares
    done = subprocess.run(
        command, check=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout.splitlines()
