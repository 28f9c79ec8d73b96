"""Batches come back past strangers, however many there are and whatever they say."""

from __future__ import annotations

import errno
import os
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any

import pytest

from penstock.spark.egress.token_gate import TokenGate
from tests.spark.test_connect import PATIENCE, Receiver, join, receiver, send

__all__ = ["receiver"]


class Gate:
    """A gate, and who has come through it."""

    def __init__(self) -> None:
        self.admitted: SimpleQueue[socket.socket] = SimpleQueue()
        self.gate = TokenGate("127.0.0.1", b"token", self.admitted.put, strangers=4)

    def connect(self, said: bytes = b"") -> socket.socket:
        connection = socket.create_connection(self.gate.address, PATIENCE)
        connection.sendall(said)
        return connection


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.gate.close()
    join([each for each in threading.enumerate() if each.name == "penstock-spark-return"])


def test_a_crowd_of_strangers_gets_no_threads_and_keeps_no_batch_from_coming(
    receiver: Receiver,
) -> None:
    before = threading.active_count()
    with ExitStack() as crowd:
        for number in range(500):
            stranger = crowd.enter_context(receiver.connect())
            stranger.sendall(b"x" * (number % 32))
        send(receiver.sending.sink, 0)
        assert threading.active_count() <= before + 1
    assert len(receiver.batches) == 1


def test_the_token_is_not_shown(receiver: Receiver) -> None:
    assert repr(receiver.sending.sink.token) not in repr(receiver.sending.sink)


def test_the_first_of_too_many_strangers_has_to_go(gate: Gate) -> None:
    with ExitStack() as crowd:
        strangers = [crowd.enter_context(gate.connect(b"tok")) for _ in range(5)]
        assert strangers[0].recv(1) == b""
        strangers[1].sendall(b"en and more")
        with gate.admitted.get(timeout=PATIENCE) as admitted:
            assert admitted.recv(100) == b" and more"


@pytest.mark.parametrize("said", [b"tokex", b"xoken and more", b"TOKEN"])
def test_a_wrong_token_ends_the_connection_and_nothing_after_it_is_read(
    gate: Gate, said: bytes
) -> None:
    with gate.connect(said) as stranger:
        try:
            assert stranger.recv(1) == b""
        except ConnectionResetError:
            pass  # so the system says that there was more to read
    with gate.connect(b"token"):
        gate.admitted.get(timeout=PATIENCE).close()
    assert gate.admitted.empty()


def test_a_stranger_who_does_not_say_the_token_in_time_has_to_go() -> None:
    gate = TokenGate("127.0.0.1", b"token", socket.socket.close, patience=0.05)
    with socket.create_connection(gate.address, PATIENCE) as slow:
        slow.sendall(b"t")
        assert slow.recv(1) == b""
    gate.close()


def test_a_gate_that_cannot_accept_for_a_while_goes_on_afterwards(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = iter([errno.EMFILE, errno.ENOBUFS])
    failed = threading.Event()
    accept = socket.socket.accept

    def short(listener: socket.socket) -> tuple[socket.socket, Any]:
        if listener.getsockname() != gate.gate.address:  # others listen in this process, too
            return accept(listener)
        problem = next(failures, None)
        if problem is not None:
            raise OSError(problem, os.strerror(problem))
        failed.set()
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", short)
    with gate.connect(b"token"):
        assert failed.wait(PATIENCE)
        gate.admitted.get(timeout=PATIENCE).close()
    assert caplog.text.count("no batch can come back from Spark: [Errno 24]") == 1
    assert len(caplog.records) == 1


def all_descriptors(taken: ExitStack) -> None:
    """Open files until the system has no more for us."""
    while True:
        taken.callback(os.close, os.open(os.devnull, os.O_RDONLY))


def test_a_batch_comes_back_after_the_program_has_run_short_of_descriptors(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()
    accept = socket.socket.accept

    def watched(listener: socket.socket) -> tuple[socket.socket, Any]:
        try:
            return accept(listener)
        except OSError as error:
            if error.errno == errno.EMFILE:
                failed.set()
            raise

    monkeypatch.setattr(socket.socket, "accept", watched)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as taken, socket.socket() as stranger:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        taken.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with pytest.raises(OSError, match="Too many open files"):
            all_descriptors(taken)
        stranger.connect((receiver.sending.sink.host, receiver.sending.sink.port))
        assert failed.wait(PATIENCE)
    send(receiver.sending.sink, 0)
    assert len(receiver.batches) == 1
