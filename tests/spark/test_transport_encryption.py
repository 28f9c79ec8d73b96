"""Batches come back from another machine so that nobody on the way can read or forge them."""

from __future__ import annotations

import logging
import pickle
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pyarrow as pa
import pytest

from penstock.spark import SparkUnavailable
from penstock.spark.egress.batch_transport import (
    NAME,
    SWITCH,
    SocketSender,
    certificate_for,
    trusting,
)
from penstock.spark.egress.token_gate import TokenGate
from tests.spark.test_connect import PATIENCE, Receiver, join, receiver

__all__ = ["receiver"]

pytestmark = pytest.mark.openssl

ELSEWHERE = "192.0.2.1"
SECRET = "a-row-that-nobody-may-read"
ROWS = pa.table({"name": [SECRET] * 1_000})


class Tap:
    """Somebody between the two who sees each byte, in both directions."""

    def __init__(self, host: str, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._target = (host, port)
        self.port: int = self._listener.getsockname()[1]
        self.seen = b""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with (
            self._listener,
            self._listener.accept()[0] as one,
            socket.create_connection(self._target, PATIENCE) as other,
        ):
            back = threading.Thread(target=self._pass, args=(other, one))
            back.start()
            self._pass(one, other)
            back.join()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        while piece := source.recv(65536):
            self.seen += piece
            sink.sendall(piece)
        with suppress(OSError):  # it may be closed
            sink.shutdown(socket.SHUT_WR)

    def all_that_was_said(self) -> bytes:
        join([self._thread])
        return self.seen


def test_nobody_between_sees_rows_or_token(receiver: Receiver) -> None:
    sink = receiver.sending.sink
    tap = Tap(sink.host, sink.port)
    replace(sink, port=tap.port)._send(7, ROWS)
    ((number, rows),) = receiver.batches
    assert (number, rows.equals(ROWS)) == (7, True)
    seen = tap.all_that_was_said()
    assert len(seen) > ROWS.nbytes
    for secret in (SECRET.encode(), sink.token):
        assert (secret in seen) == (not sink.certificate)


@contextmanager
def gate(
    patience: float = PATIENCE,
) -> Iterator[tuple[SocketSender, SimpleQueue[socket.socket]]]:
    """Where batches come in; the queue has who has said the token."""
    admitted: SimpleQueue[socket.socket] = SimpleQueue()
    certificate = certificate_for(ELSEWHERE)
    assert certificate is not None
    opened = TokenGate(
        "127.0.0.1", b"token", admitted.put, tls=certificate.context, patience=patience
    )
    try:
        yield SocketSender(*opened.address, b"token", certificate=certificate.text), admitted
    finally:
        opened.close()


def connected(sender: SocketSender) -> ssl.SSLSocket:
    plain = socket.create_connection((sender.host, sender.port), PATIENCE)
    return trusting(sender.certificate).wrap_socket(plain, server_hostname=NAME)


def test_a_client_with_another_certificate_does_not_get_the_token() -> None:
    with gate() as (ours, _), gate() as (theirs, admitted):
        misled = replace(ours, port=theirs.port)
        with pytest.raises(ssl.SSLCertVerificationError):
            misled._send(7, ROWS)
        assert admitted.empty()


def test_a_sender_in_the_clear_is_not_heard(receiver: Receiver) -> None:
    sink = receiver.sending.sink
    clear = replace(sink, certificate="")
    if sink.certificate:
        with pytest.raises((OSError, RuntimeError)):
            clear._send(7, ROWS)
        assert receiver.batches == []
    sink._send(8, ROWS)
    assert [number for number, _ in receiver.batches] == [8]


def test_the_token_may_come_in_pieces_and_together_with_what_follows_it() -> None:
    with gate() as (sender, admitted), connected(sender) as connection:
        for piece in (b"t", b"oke", b"n and more"):
            connection.sendall(piece)
        with admitted.get(timeout=PATIENCE) as other:
            assert other.recv(100) == b" and more"


@pytest.mark.parametrize("said", [b"", b"toke", b"tokex", b"TOKEN and more"])
def test_a_client_that_encrypts_and_does_not_know_the_token_is_turned_out(said: bytes) -> None:
    with gate(patience=0.2) as (sender, admitted), connected(sender) as connection:
        connection.sendall(said)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        assert admitted.empty()


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b""])
def test_a_client_that_does_not_encrypt_is_turned_out_and_others_come(said: bytes) -> None:
    with gate(patience=0.2) as (sender, admitted):
        plain = socket.create_connection((sender.host, sender.port), PATIENCE)
        with plain, connected(sender) as connection:
            plain.sendall(said)
            connection.sendall(b"token")
            admitted.get(timeout=PATIENCE).close()
            with suppress(ConnectionResetError):
                while plain.recv(100):
                    pass  # an alert


# When, and with what.


@pytest.mark.parametrize(
    ("choice", "host", "encrypted"),
    [
        ("", "127.0.0.1", False),
        ("", "127.8.8.8", False),
        ("", ELSEWHERE, True),
        ("auto", "10.0.0.7", True),
        ("always", "127.0.0.1", True),
        ("never", "127.0.0.1", False),
        ("never", ELSEWHERE, False),
    ],
)
def test_what_goes_over_a_network_is_encrypted_unless_the_user_says_otherwise(
    choice: str,
    host: str,
    encrypted: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv(SWITCH, choice)
    assert (certificate_for(host) is not None) == encrypted
    is_told = (choice, host) == ("never", ELSEWHERE)
    assert ("rows come back from Spark in the clear" in caplog.text) == is_told


def test_a_certificate_is_for_one_query_and_its_key_is_left_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    receivers = [Receiver(encrypted=True) for _ in range(2)]
    sinks = [each.sending.sink for each in receivers]
    for each in receivers:
        each.sending.hang_up()
    assert sinks[0].certificate != sinks[1].certificate
    for sink in sinks:
        assert b"CERTIFICATE" in pickle.dumps(sink)
        assert b"PRIVATE" not in pickle.dumps(sink)
        assert "CERTIFICATE" not in repr(sink)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_openssl_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(SWITCH, raising=False)
    with pytest.raises(SparkUnavailable) as refused:
        certificate_for(ELSEWHERE)
    assert str(refused.value) == (
        "the rows that come back from the Spark Connect server cannot be encrypted: there is no "
        f"openssl command; install OpenSSL, or let them come in the clear by {SWITCH}=never"
    )
    assert certificate_for("127.0.0.1") is None
    monkeypatch.setenv(SWITCH, "never")
    assert certificate_for(ELSEWHERE) is None


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo one >&2; echo no entropy >&2; exit 1", "made no certificate: no entropy; correct"),
        ("exit 0", "made no certificate: .*No such file"),
    ],
)
def test_an_openssl_that_fails_is_one_line(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "openssl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailable, match=words) as refused:
        certificate_for(ELSEWHERE)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("choice", ["sometimes", "NEVER", "0"])
def test_a_choice_that_is_none_is_refused(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, choice)
    with pytest.raises(
        SparkUnavailable, match=f"{SWITCH} is auto, always or never, not '{choice}'"
    ):
        certificate_for("127.0.0.1")
