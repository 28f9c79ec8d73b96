"""The process from which the workers of an embedded Spark are forked."""

from __future__ import annotations

import io
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.spark.workers.worker_daemon import PromptReceipts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tcp_connection() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        return sender, server.accept()[0]


@pytest.mark.parametrize("connect", [tcp_connection, socket.socketpair])
def test_what_comes_by_a_connection_is_read_as_it_was_sent(
    connect: Callable[[], tuple[socket.socket, socket.socket]],
) -> None:
    sent = bytes(range(256)) * 100
    sender, receiver = connect()
    with sender, receiver, io.BufferedReader(PromptReceipts(receiver)) as stream:
        sender.sendall(sent)
        sender.shutdown(socket.SHUT_WR)
        assert stream.read(3) + stream.read() == sent


@pytest.mark.full
@pytest.mark.timeout(300)
def test_spark_may_take_sockets_of_the_file_system() -> None:
    program = """if True:
        from penstock import Flow
        from penstock.spark.session.spark_session import SparkSettings, spark_session

        options = {"spark.python.unix.domain.socket.enabled": "true"}
        spark_session(SparkSettings(options=options))
        rows = Flow.range(3).map(lambda number: (number,)).on_spark("number long").rows()
        print(rows.map(lambda row: row.number).to_list().run_sync())
    """
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "[0, 1, 2]", ended.stderr


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


# In the place of the JVM.

SECRET = b"secret"
NUMBER = struct.Struct(">i")


class Daemon:
    """The daemon as the JVM starts it; it ends when its standard input is closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.spark.workers.worker_daemon", "pyspark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHON_WORKER_FACTORY_SECRET": SECRET.decode()},
        )
        assert self._process.stdout is not None
        (self._port,) = NUMBER.unpack(self._process.stdout.read(NUMBER.size))
        self.process = self._process.pid

    def worker(self) -> tuple[socket.socket, int]:
        """A connection to a new worker, and which process that is."""
        connection = socket.create_connection(("127.0.0.1", self._port))
        (process,) = NUMBER.unpack(read(connection, NUMBER.size))
        return connection, process

    def end(self) -> str:
        """What it and its workers have printed when the last of them has ended."""
        _, said = self._process.communicate()
        return said.decode()


def read(connection: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        parts += connection.recv(size - len(parts)) or pytest.fail("the worker has hung up")
    return parts


def introduce(connection: socket.socket) -> None:
    """Say the secret, and hear that it is right."""
    connection.sendall(NUMBER.pack(len(SECRET)) + SECRET)
    assert read(connection, NUMBER.size + 2) == NUMBER.pack(2) + b"ok"


def hang_up_before_a_word(connection: socket.socket) -> None:
    connection.close()


def hang_up_before_a_task(connection: socket.socket) -> None:
    introduce(connection)
    connection.close()


def break_off_amid_a_task(connection: socket.socket) -> None:
    introduce(connection)
    connection.sendall(NUMBER.pack(0))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize(
    "hang_up", [hang_up_before_a_word, hang_up_before_a_task, break_off_amid_a_task]
)
def test_a_worker_to_which_the_jvm_hangs_up_ends_without_a_word(
    hang_up: Callable[[socket.socket], None],
) -> None:
    daemon = Daemon()
    connection, _ = daemon.worker()
    hang_up(connection)
    assert daemon.end() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_of_all_processes_reaches_neither_the_daemon_nor_a_worker(
    number: signal.Signals,
) -> None:
    daemon = Daemon()
    connection, worker = daemon.worker()
    with connection:
        for process in (daemon.process, worker):
            os.kill(process, number)
        introduce(connection)
        os.kill(worker, number)  # which waits for a task now
        other, another_worker = daemon.worker()
        other.close()
        assert another_worker != worker
        assert os.waitpid(daemon.process, os.WNOHANG) == (0, 0)
        assert daemon.end() == ""
        assert connection.recv(1) == b""


def how_signals_are_handled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import multiprocessing
    import signal
    import subprocess
    import sys

    question = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    for _ in batches:
        started = subprocess.check_output([sys.executable, "-c", question], encoding="utf-8")
        forked = multiprocessing.get_context("fork").Process(target=signal.pause)
        forked.start()
        forked.terminate()
        forked.join()
        yield pa.record_batch({"started": [started.strip()], "forked": [forked.exitcode]})


@pytest.mark.timeout(300)
def test_what_a_function_starts_in_a_worker_can_be_stopped(spark: SparkSession) -> None:
    question = spark.range(1, numPartitions=1).mapInArrow(
        how_signals_are_handled, "started string, forked long"
    )
    assert question.first() == ("True", -signal.SIGTERM)
