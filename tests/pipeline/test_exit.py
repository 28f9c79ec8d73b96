"""A program that ends as soon as its pipeline has failed, while the sinks are being closed."""

from __future__ import annotations

import subprocess
import sys

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
