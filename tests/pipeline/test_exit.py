"""A program that ends as soon as its pipeline has failed, while the sinks are being closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit
import sys
import threading

import duckdb
from penstock import Flow
from penstock.pipeline import NoSettings, Pipeline, PipelineRun

leaving = threading.Event()


class SlowToClose:
    level = "exactly once"

    def check(self, epoch):
        return "writes"

    def open(self, epoch):
        self.database = duckdb.connect()

    def begin(self, batch):
        return True

    def __call__(self, element):
        pass

    def commit(self, batch):
        pass

    def close(self):
        assert leaving.wait(60)
        self.database.execute("SELECT count(*) FROM range(20000000)").fetchall()
        print("closed", flush=True)


def refuse(element):
    raise OSError("no space left")


atexit.register(leaving.set)
pipeline = Pipeline(
    "ends",
    sources={"numbers": lambda settings: Flow.range(10)},
    sinks={"slow": lambda settings: SlowToClose(), "bad": lambda settings: refuse},
)
run = PipelineRun(pipeline, NoSettings())
run.start()
assert run.wait(60)
sys.exit(run.state == "failed")
"""


def test_a_program_that_leaves_a_failed_pipeline_lets_its_sinks_close_and_is_not_aborted() -> None:
    """From within C++, a thread that comes back into a Python that is ending aborts it."""
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert (ended.returncode, ended.stdout) == (1, "closed\n"), ended.stderr


THROUGH_SPARK = """
import sys
from penstock import Flow
from penstock.connectors import write_duckdb  # which lists what is held when Python ends
from penstock.pipeline import NoSettings, Pipeline, PipelineRun

pipeline = Pipeline(
    "ends",
    sources={"numbers": lambda settings: Flow.range(3).map(lambda number: (number,))},
    transform=lambda numbers: numbers.on_spark("number long"),
    sinks={"table": lambda settings: write_duckdb(sys.argv[1], "numbers")},
)
run = PipelineRun(pipeline, NoSettings())
run.start()
assert run.wait(200)
print(run.state)
"""


@pytest.mark.full
@pytest.mark.timeout(300)
def test_what_spark_has_called_is_let_go_when_python_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", THROUGH_SPARK, str(tmp_path / "numbers.duckdb")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == "completed\n"
    assert "leaked" not in ended.stderr
