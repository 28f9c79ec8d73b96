"""A program that ends while Spark waits for its answer, and the JVM ends with it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import threading

from penstock import Flow
from penstock.testing import ManualSubscriber
from pyspark import SparkContext
from pyspark.sql.pandas.serializers import ArrowStreamSerializer

reads = threading.Event()
load_stream = ArrowStreamSerializer.load_stream


def tell_and_load(*arguments):
    reads.set()
    yield from load_stream(*arguments)


class EndsTheJvm:
    # Called when Python takes its modules down, and no thread may run Python any more. The one that
    # reads wants to when the JVM has ended, before that can be waited for.
    def __del__(self):
        SparkContext._gateway.proc.kill()
        SparkContext._gateway.proc.wait()


def take_for_ever(row):
    threading.Event().wait()


ArrowStreamSerializer.load_stream = tell_and_load
sys.modules["goes last"] = EndsTheJvm()
rows = Flow.range(10).map(lambda number: (number,)).on_spark("number long")
rows.filter(take_for_ever).rows().subscribe(ManualSubscriber(request=1))
assert reads.wait(250)
print("ends")
"""


def test_a_program_that_ends_amid_a_batch_is_not_aborted() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=280, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "ends\n"), ended.stderr
