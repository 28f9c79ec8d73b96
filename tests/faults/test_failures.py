"""Which failures of Spark the query is started again for, by the texts that Spark has for them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock import Flow
from penstock.spark import SparkFailed, SparkFlow, UserError, WorkerLost
from penstock.spark.egress.query import PAUSES, Retries
from penstock.spark.failures import OutOfSpace, explained
from penstock.spark.run import SparkRun

KILLED_WORKER = """An error occurred while calling o97.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 \
failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1) (localhost executor \
driver): org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
"""
KILLED_DAEMON = """An error occurred while calling o162.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: java.io.IOException: Stream closed
\tat java.base/java.io.DataOutputStream.flush(DataOutputStream.java:128)
\tat org.apache.spark.api.python.PythonWorkerFactory.stopWorker(PythonWorkerFactory.scala:523)
\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala:174)
"""
LOST_CONNECTION_OF_THE_USER = """An exception was thrown from the Python worker.
Traceback (most recent call last):
  File "/lib/pyspark/worker.py", line 2000, in main
    process()
  File "/app/prices.py", line 12, in look_up
    answer = connection.read()
ConnectionResetError: [Errno 104] Connection reset by peer

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read(PythonRunner.scala:600)
"""
DAMAGED_JOURNAL = """An exception was thrown from the Python worker.
Traceback (most recent call last):
  File "/lib/pyspark/worker.py", line 2000, in main
    process()
  File "/lib/penstock/spark/journal/reader.py", line 80, in read
    raise damage
penstock.spark.journal.errors.JournalDamaged: 0.segment is damaged at byte 7: it is torn
"""


FULL = "No space left on device"
DAMAGED_CHECKPOINT = """org.apache.hadoop.fs.ChecksumException: Checksum error: \
file:/checkpoint/spark/offsets/1 at 0 exp: 7 got: 8
\tat org.apache.hadoop.fs.FSInputChecker.verifySums(FSInputChecker.java:347)
"""


class OfQuery(Exception):
    """As pyspark has it: the cause of the JVM is not in the text."""

    def __init__(self, text: str, cause: Exception) -> None:
        super().__init__(text)
        self._cause = cause


@pytest.mark.parametrize("text", [KILLED_WORKER, KILLED_DAEMON])
def test_a_killed_worker_and_a_killed_parent_of_workers_are_lost_workers(text: str) -> None:
    assert isinstance(explained(RuntimeError(text)), WorkerLost)


def test_a_killed_reader_of_the_source_is_a_lost_worker_by_its_cause() -> None:
    query = OfQuery("[STREAM_FAILED] (no cause message)", RuntimeError("java.io.EOFException"))
    assert isinstance(explained(query), WorkerLost)


def test_a_connection_that_a_users_function_lost_is_the_users_error() -> None:
    found = explained(RuntimeError(LOST_CONNECTION_OF_THE_USER))
    assert isinstance(found, UserError)
    assert "ConnectionResetError" in str(found)
    assert str(found).endswith("(at /app/prices.py:12, in look_up)")


def test_damage_that_our_own_code_found_is_no_error_of_the_user() -> None:
    found = explained(RuntimeError(DAMAGED_JOURNAL))
    assert type(found) is SparkFailed
    assert "0.segment is damaged at byte 7" in str(found)


def test_a_file_of_spark_that_differs_from_its_checksum_is_told_with_what_to_do() -> None:
    query = OfQuery("[STREAM_FAILED] Checksum error", RuntimeError(DAMAGED_CHECKPOINT))
    found = explained(query)
    assert type(found) is SparkFailed
    assert "spark/offsets/1" in str(found)
    assert str(found).endswith("restore the file from a backup, or start with a new checkpoint")


@pytest.mark.parametrize(
    "reason", ["No space left on device", "Disk quota exceeded", "File too large"]
)
def test_a_disk_on_which_spark_cannot_write_is_told_from_all_else(reason: str) -> None:
    text = f"org.apache.hadoop.fs.FSError: java.io.IOException: {reason}\n\tat java.io.Write(8)"
    query = OfQuery("[STREAM_FAILED] Broken pipe", RuntimeError(text))
    found = explained(query)
    assert type(found) is OutOfSpace
    assert str(found).startswith("there is no space where Spark writes: ")


def test_a_disk_that_a_users_function_found_full_is_the_users_error() -> None:
    text = LOST_CONNECTION_OF_THE_USER.replace("Connection reset by peer", FULL)
    assert isinstance(explained(RuntimeError(text)), UserError)


class Waited(threading.Event):
    """Remembers how long somebody wanted to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[tuple[bool, float | None]] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append((self.is_set(), timeout))
        return self.is_set()


def test_the_pauses_between_two_tries_grow_and_are_not_cut_short_by_what_was_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flow: SparkFlow = Flow.of((1,)).on_spark("number long")
    host: Any = None
    run = SparkRun(flow._plan, host, None)
    woken = Waited()
    monkeypatch.setattr(run, "_woken", woken)
    for _ in PAUSES:
        woken.set()
        run._pause(run._retries.pause_after(WorkerLost("gone")))
    assert woken.waits == [(False, pause) for pause in PAUSES]
    assert sorted(PAUSES) == [*PAUSES]
    with pytest.raises(WorkerLost, match="gone"):
        run._retries.pause_after(WorkerLost("gone"))


def test_a_full_disk_is_waited_for_without_end_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    retries = Retries("numbers")
    for _ in range(10 * len(PAUSES)):
        assert retries.pause_after(OutOfSpace("there is no space")) > 0
    assert retries.is_out_of_space
    assert retries.restarts == 0
    retries.progressed()
    assert not retries.is_out_of_space
    assert [record.getMessage() for record in caplog.records] == [
        "numbers: there is no space; goes on when there is",
        "numbers: there is space again",
    ]
