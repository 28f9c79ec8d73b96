"""The process from which the workers of an embedded Spark are forked."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.spark.worker_daemon import PromptReceipts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_comes_by_a_connection_is_read_as_it_was_sent() -> None:
    sent = bytes(range(256)) * 1_000
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as sender,
    ):
        receiver, _ = server.accept()
        with receiver, io.BufferedReader(PromptReceipts(receiver)) as stream:
            sender.sendall(sent)
            sender.shutdown(socket.SHUT_WR)
            assert stream.read(3) + stream.read() == sent


def about_the_worker(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import gc
    import sys

    for _ in batches:
        yield pa.record_batch({"program": [sys.argv[0]], "frozen": [gc.get_freeze_count()]})


@pytest.mark.timeout(300)
def test_a_worker_is_forked_from_it_and_does_not_look_for_garbage_in_what_it_imported(
    spark: SparkSession,
) -> None:
    question = spark.range(1, numPartitions=1).mapInArrow(
        about_the_worker, "program string, frozen long"
    )
    answers = [question.collect()[0] for _ in range(4)]
    assert all(answer.program.endswith("worker_daemon.py") for answer in answers)
    assert any(answer.frozen > 10_000 for answer in answers)
