"""Streams over Spark Connect, and the way on which their batches come back."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from penstock.spark.egress.batch_transport import (
    HEADER,
    NAME,
    SWITCH,
    SocketTransport,
    certificate_for,
    trusting,
)
from penstock.spark.failures import SparkFailed, SparkLost, Stopped, explained
from penstock.spark.session.reachable import limit_retries
from tests.spark.capabilities import has_call_status
from tests.spark.cluster import REMOTE, connect_server

if TYPE_CHECKING:
    from grpc import StatusCode

PATIENCE = 60.0
ROWS = pa.table({"number": [1, 2, 3]})


class Frame:
    """What Spark gives to ``foreachBatch``, as far as it is used."""

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return ROWS


class Receiver:
    """The user's program: it has taken what is in ``batches``, and raises ``refusal``."""

    def __init__(self, *, encrypted: bool = False) -> None:
        self.batches: list[tuple[int, pa.Table]] = []
        self.came = threading.Event()
        self.taken = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.refusal: Exception | None = None
        certificate = certificate_for("192.0.2.1") if encrypted else None
        self.sending = SocketTransport(self._deliver, "127.0.0.1", certificate=certificate)

    def _deliver(self, number: int, rows: pa.Table) -> None:
        self.came.set()
        assert self.goes_on.wait(PATIENCE)
        if self.refusal is not None:
            raise self.refusal
        self.batches.append((number, rows))
        self.taken.release()

    def connect(self) -> socket.socket:
        """Somebody connects who is not the server of Spark."""
        sink = self.sending.sink
        return socket.create_connection((sink.host, sink.port), PATIENCE)

    def connect_as_server(self) -> socket.socket:
        """The server of Spark connects, and may not be well."""
        certificate = self.sending.sink.certificate
        if not certificate:
            return self.connect()
        return trusting(certificate).wrap_socket(self.connect(), server_hostname=NAME)


@pytest.fixture(params=["clear", pytest.param("encrypted", marks=pytest.mark.openssl)])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    receiver = Receiver(encrypted=request.param == "encrypted")
    yield receiver
    receiver.goes_on.set()
    receiver.sending.hang_up()
    join([each for each in threading.enumerate() if each.name == "penstock-spark-return"])


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def send(sink: Callable[[Any, int], None], number: int) -> None:
    sink(Frame(), number)


def in_background(function: Callable[[], object]) -> tuple[threading.Thread, list[Exception]]:
    """Call it on another thread, and note what it raises."""
    raised: list[Exception] = []

    def call() -> None:
        try:
            function()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    return thread, raised


def test_a_batch_comes_back_with_its_number_and_its_rows(receiver: Receiver) -> None:
    for number in (0, 1, 1 << 40):
        send(receiver.sending.sink, number)
    assert [number for number, _ in receiver.batches] == [0, 1, 1 << 40]
    assert all(rows.equals(ROWS) for _, rows in receiver.batches)


def test_a_batch_with_a_wrong_token_is_not_taken(receiver: Receiver) -> None:
    sink = receiver.sending.sink
    with pytest.raises((Stopped, ConnectionError)):
        send(replace(sink, token=b"x" * len(sink.token)), 0)
    send(sink, 1)
    assert [number for number, _ in receiver.batches] == [1]
    assert receiver.sending.error is None


def test_strangers_who_connect_and_say_nothing_keep_no_batch_from_coming(
    receiver: Receiver,
) -> None:
    with receiver.connect(), receiver.connect():
        send(receiver.sending.sink, 0)
    assert len(receiver.batches) == 1


@pytest.mark.parametrize("said", [0, 20, 32, 40, 48, 100])
def test_a_sender_that_goes_away_in_the_middle_delivers_nothing_and_is_no_error(
    receiver: Receiver, said: int
) -> None:
    """The token has 32 bytes, the header 16."""
    tell(receiver, (receiver.sending.sink.token + HEADER.pack(7, 3) + stream_of(ROWS))[:said])


def test_a_sender_that_goes_away_between_two_parts_delivers_nothing(receiver: Receiver) -> None:
    """For Arrow a stream may end there."""
    two_of_three = stream_of(ROWS.slice(0, 2))
    tell(receiver, receiver.sending.sink.token + HEADER.pack(7, 3) + two_of_three)


def tell(receiver: Receiver, said: bytes) -> None:
    """Say it and go away; a batch after it comes as if nothing had been."""
    with receiver.connect_as_server() as connection:
        connection.sendall(said)
        socket.socket.shutdown(connection, socket.SHUT_WR)  # and what is left to read is encrypted
        # An alert: TLS has an end of its own, which did not come. Or nobody can be told any more.
        with suppress(ssl.SSLError, ConnectionError):
            assert connection.recv(1) == b""
    send(receiver.sending.sink, 8)
    assert [number for number, _ in receiver.batches] == [8]
    assert receiver.sending.error is None


def stream_of(rows: pa.Table) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, rows.schema) as writer:
        writer.write_table(rows)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def test_a_batch_that_is_refused_fails_where_it_was_sent_and_the_reason_is_kept(
    receiver: Receiver,
) -> None:
    receiver.refusal = LookupError("no")
    with pytest.raises(Stopped, match="batch 3 was not delivered"):
        send(receiver.sending.sink, 3)
    assert receiver.sending.error is receiver.refusal


def test_to_hang_up_ends_the_wait_for_a_batch_that_nobody_takes(receiver: Receiver) -> None:
    receiver.goes_on.clear()
    sink = receiver.sending.sink
    sender, raised = in_background(lambda: send(sink, 0))
    assert receiver.came.wait(PATIENCE)
    receiver.sending.hang_up()
    join([sender])
    assert isinstance(raised[0], Stopped | ConnectionError)
    with pytest.raises(ConnectionError, match="Failed to connect to the program at .* refused"):
        send(sink, 1)


def test_a_sender_that_is_killed_while_it_waits_is_no_error(receiver: Receiver) -> None:
    receiver.goes_on.clear()
    sink = receiver.sending.sink
    with receiver.connect_as_server() as connection:
        connection.sendall(sink.token + HEADER.pack(0, 3) + stream_of(ROWS))
        assert receiver.came.wait(PATIENCE)
    receiver.goes_on.set()
    assert receiver.taken.acquire(timeout=PATIENCE)
    send(sink, 0)
    assert [number for number, _ in receiver.batches] == [0, 0]
    assert receiver.sending.error is None


def connect_error(status: StatusCode) -> Exception:
    """As pyspark makes one of a failed call: with its status, or only with the text of it."""
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    error: Exception
    if has_call_status():
        error = SparkConnectGrpcException("no", grpc_status_code=status)
    else:
        error = SparkConnectGrpcException(f"<_InactiveRpcError: status = {status}>")
    return error


@pytest.mark.spark_connect
def test_a_server_that_cannot_be_reached_is_the_loss_of_spark() -> None:
    from grpc import StatusCode

    lost = explained(connect_error(StatusCode.UNAVAILABLE))
    assert type(lost) is SparkLost
    assert str(lost).startswith("the Spark Connect server cannot be reached")
    assert type(explained(connect_error(StatusCode.INTERNAL))) is SparkFailed


@pytest.mark.spark_connect
def test_a_session_asks_a_server_that_does_not_answer_only_for_as_long_as_is_allowed() -> None:
    session: Any = SimpleNamespace(client=SimpleNamespace())
    policies: list[Any] = []
    session.client.set_retry_policies = policies.extend
    limit_retries(session, timeout=5.0)
    (policy,) = policies
    attempts = policy.to_state()
    pauses = list(iter(attempts.next_attempt, None))
    assert sum(pauses) == 5_000


@pytest.mark.full
@pytest.mark.spark_connect
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "encryption"),
    [
        pytest.param((), "auto", id="essential"),
        pytest.param(("--full",), "always", id="all", marks=pytest.mark.openssl),
    ],
)
def test_streams_go_over_spark_connect_and_leave_nothing_behind(
    options: tuple[str, ...], encryption: str
) -> None:
    with connect_server() as server:
        server.environment[SWITCH] = encryption
        server.run_tests("tests/spark/on_connect.py", *options)
    assert server.left() == []


STREAMS = (
    "spark_flow", "for_each_batch", "arrow_batches", "numbered_batches", "stateful",
    "stateful_functions", "timeouts", "from_stream", "dataframe", "partitioned", "slow_sources",
    "small_journals", "async_sources", "run_counts", "state_change", "resuming", "processor",
    "flights",
)  # fmt: skip
"""The modules whose tests go over Spark Connect as they are, but for those marked as classic."""


@pytest.mark.full
@pytest.mark.spark_connect
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("module", STREAMS)
def test_the_tests_of_streams_pass_over_spark_connect(module: str) -> None:
    with connect_server() as server:
        server.environment["SPARK_REMOTE"] = server.environment[REMOTE]
        server.run_tests(f"tests/spark/test_{module}.py")
    assert server.left() == []
