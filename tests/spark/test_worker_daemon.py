"""The process from which the workers of an embedded Spark are forked."""

from __future__ import annotations

import io
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.spark.session.worker_python import worker_python
from penstock.spark.temporary_folder import PREFIX
from penstock.spark.workers.worker_daemon import PromptReceipts
from tests.spark.capabilities import has_sockets_in_folders

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


def sockets_of_worker(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import os

    for _ in batches:
        yield pa.record_batch({"place": [os.environ.get("PYTHON_WORKER_FACTORY_SOCK_DIR", "")]})


@pytest.mark.timeout(300)
def test_workers_are_reached_where_nobody_else_can_and_by_no_port(spark: SparkSession) -> None:
    question = spark.range(1, numPartitions=1).mapInArrow(sockets_of_worker, "place string")
    place = Path(question.collect()[0].place)
    assert place.name.startswith(PREFIX) is has_sockets_in_folders()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700 or not has_sockets_in_folders()


@pytest.mark.full
@pytest.mark.timeout(300)
def test_where_a_folder_can_have_no_sockets_spark_takes_ports(tmp_path: Path) -> None:
    program = """if True:
        from penstock import Flow
        from penstock.spark.session.spark_session import spark_session

        print(spark_session().conf.get("spark.python.unix.domain.socket.enabled", "ports"))
        rows = Flow.range(3).map(lambda number: (number,)).on_spark("number long").rows()
        print(rows.map(lambda row: row.number).to_list().run_sync())
    """
    place = tmp_path / ("of a path that is longer than those of sockets may be " * 3)
    place.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines() == ["ports", "[0, 1, 2]"], ended.stderr
    assert [*place.iterdir()] == []


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
    """The daemon as the JVM starts it; it ends when its standard input is closed.

    ``sockets``  a folder for them, or ports are taken
    """

    def __init__(self, *started: str, sockets: Path | None = None) -> None:
        own = (sys.executable, "-m", "penstock.spark.workers.worker_daemon", "pyspark.worker")
        environment = {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": SECRET.decode()}
        if sockets is not None:
            environment["PYTHON_UNIX_DOMAIN_ENABLED"] = "true"
            environment["PYTHON_WORKER_FACTORY_SOCK_DIR"] = str(sockets)
            environment["PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE"] = "1"  # as Spark has it
        self._process = subprocess.Popen(
            started or own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert self._process.stdout is not None
        (said,) = NUMBER.unpack(self._process.stdout.read(NUMBER.size))
        self._port = said if sockets is None else self._process.stdout.read(said).decode()
        self.process = self._process.pid

    def worker(self) -> tuple[socket.socket, int]:
        """A connection to a new worker, and which process that is."""
        if isinstance(self._port, int):
            connection = socket.create_connection(("127.0.0.1", self._port))
        else:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self._port)
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


ASKED = "pyspark.sql.worker.create_data_source"


def test_one_that_is_asked_about_a_source_ends_without_a_word_where_the_jvm_has_hung_up() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        sockets = Path(folder) if has_sockets_in_folders() else None
        daemon = Daemon(worker_python(), "-m", "pyspark.daemon", ASKED, sockets=sockets)
        connection, worker = daemon.worker()
        watched = os.pidfd_open(worker)
        connection.close()  # so that it can neither read nor say that
        select.select([watched], [], [])  # it has ended; the daemon would not let it speak
        os.close(watched)
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
