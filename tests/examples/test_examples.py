"""Every example runs, and shows something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dev import ROOT
from tests.quick import quick

WITH_TESTS_OF_THEIR_OWN = {"kafka_to_postgres", "web_service"}
"""A pipeline between two servers, which ``tests/cli`` starts; a web service, which never ends."""
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.stem not in WITH_TESTS_OF_THEIR_OWN
]
SAID_BY_JAVA = re.compile(
    r"^WARNING: (Using incubator modules|package \S+ not in java.base).*\n", re.MULTILINE
)
"""When Spark starts it, in whatever program; which of both depends on its version."""


SAID_BY_SPARK = re.compile(
    r"^.*FutureWarning: PySpark does not yet fully support pandas >= 3.*\n(  .*\n)?", re.MULTILINE
)
"""Where no older pandas has wheels."""

EVERY_TIME = [path for path in EXAMPLES if path.stem != "spark_restart"]


@pytest.mark.timeout(300)  # some start Spark
@pytest.mark.parametrize("example", quick(EXAMPLES, EVERY_TIME), ids=lambda path: path.stem)
def test_every_example_runs_and_shows_something(example: Path) -> None:
    done = subprocess.run([sys.executable, example], check=False, capture_output=True, text=True)
    said_by_us = SAID_BY_SPARK.sub("", SAID_BY_JAVA.sub("", done.stderr))
    assert (done.returncode, said_by_us) == (0, "")
    assert done.stdout
