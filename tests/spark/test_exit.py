"""A program that ends while Spark waits for its answer, and the JVM ends with it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import threading
import time
import traceback

from penstock import Flow
from penstock.testing import ManualSubscriber
from pyspark import SparkContext


class EndsTheJvm:
    # Called when Python takes its modules down, and no thread may run Python any more.
    def __del__(self):
        SparkContext._gateway.proc.kill()
        time.sleep(1)


def take_for_ever(row):
    threading.Event().wait()


def reads_a_batch():
    return any(
        "/pyspark/" in frame.f_code.co_filename and frame.f_code.co_name == "load_stream"
        for innermost in sys._current_frames().values()
        for frame, _ in traceback.walk_stack(innermost)
    )


sys.modules["goes last"] = EndsTheJvm()
rows = Flow.range(10).map(lambda number: (number,)).on_spark("number long")
rows.filter(take_for_ever).rows().subscribe(ManualSubscriber(request=1))
while not reads_a_batch():
    time.sleep(0.01)
print("ends")
"""


def test_a_program_that_ends_amid_a_batch_is_not_aborted() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=280, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "ends\n"), ended.stderr
