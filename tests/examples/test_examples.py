"""Every example runs, and shows something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dev import ROOT
from tests.quick import quick

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAID_BY_JAVA = "WARNING: Using incubator modules: jdk.incubator.vector\n"
"""When Spark starts it, in whatever program."""


EVERY_TIME = [path for path in EXAMPLES if path.stem != "spark_restart"]


@pytest.mark.timeout(300)  # some start Spark
@pytest.mark.parametrize("example", quick(EXAMPLES, EVERY_TIME), ids=lambda path: path.stem)
def test_every_example_runs_and_shows_something(example: Path) -> None:
    done = subprocess.run([sys.executable, example], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.replace(SAID_BY_JAVA, "")) == (0, "")
    assert done.stdout
