"""Every example runs, and shows something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dev import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_and_shows_something(example: Path) -> None:
    done = subprocess.run([sys.executable, example], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
