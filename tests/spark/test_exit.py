"""A program that ends while Spark waits for its answer, and the JVM ends with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os
import sys
import threading

from penstock import Flow
from penstock.testing import ManualSubscriber
from pyspark import SparkContext

place = sys.argv[1]
os.mkfifo(place)


class EndsTheJvm:
    # Called when Python takes its modules down, and no thread may run Python any more. The one that
    # reads wants to when the JVM has ended, before that can be waited for.
    def __del__(self):
        SparkContext._gateway.proc.kill()
        SparkContext._gateway.proc.wait()


def take_for_ever(row):
    with open(place, "w") as told:
        told.write("computes")
    threading.Event().wait()


sys.modules["goes last"] = EndsTheJvm()
rows = Flow.range(10).map(lambda number: (number,)).on_spark("number long")
rows.filter(take_for_ever).rows().subscribe(ManualSubscriber(request=1))
with open(place) as told:
    assert told.read() == "computes"  # and the call of Spark's waits for it
print("ends")
"""


def test_a_program_that_ends_amid_a_batch_is_not_aborted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "told")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert (ended.returncode, ended.stdout) == (0, "ends\n"), ended.stderr
