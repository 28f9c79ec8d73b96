"""Encrypted connections: whom a source trusts, and what a server shows."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock import Flow, Retry
from penstock.connectors import (
    Server,
    from_server_sent_events,
    from_websocket,
    serve_server_sent_events,
    serve_websocket,
)
from penstock.connectors.shared import sockets as doors
from penstock.connectors.shared import tls as client_certificate
from tests.connectors.authority import Authority, Certificate

pytestmark = pytest.mark.openssl

PATIENCE = 60
Serve = Callable[..., Server]
Read = Callable[..., Flow[Any]]
ENDS = pytest.mark.parametrize(
    ("serve", "read"),
    [(serve_websocket, from_websocket), (serve_server_sent_events, from_server_sent_events)],
)
SERVERS = pytest.mark.parametrize("serve", [serve_websocket, serve_server_sent_events])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "theirs")


@pytest.fixture(scope="module")
def here(authority: Authority) -> Certificate:
    return authority.for_here()


@pytest.fixture(scope="module")
def together(here: Certificate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificate and key in one file."""
    path = tmp_path_factory.mktemp("certificates") / "together.pem"
    path.write_bytes(here.certificate.read_bytes() + here.key.read_bytes())
    return path


def three(request: object) -> Flow[int]:
    return Flow.range(3)


# Both ends.


@ENDS
def test_elements_come_through_an_encrypted_connection(
    serve: Serve, read: Read, authority: Authority, here: Certificate, together: Path
) -> None:
    trusting = ssl.create_default_context(cafile=authority.file)
    for shown in (tuple(here), together, str(together), here.context()):
        with serve(three, ssl=shown) as server:
            assert server.address.startswith(("wss://", "https://"))
            for trusted in (authority.file, str(authority.file), trusting):
                assert len(read(server.address, ssl=trusted).to_list().run_sync() or ()) == 3
            by_name = server.address.replace("127.0.0.1", "localhost")
            assert read(by_name, ssl=authority.file).count().run_sync() == 3


@ENDS
def test_credentials_and_a_token_in_the_address_work_encrypted_as_well(
    serve: Serve, read: Read, authority: Authority, here: Certificate
) -> None:
    def authenticate(request: Any) -> bool:
        return bool(request.headers.get("authorization") == "Bearer SECRET")

    with serve(three, ssl=tuple(here), authenticate=authenticate) as server:
        assert read(server.address, ssl=authority.file, auth="SECRET").count().run_sync() == 3
        with pytest.raises(ConnectionError, match="the status 401"):
            read(server.address, ssl=authority.file).run_sync()


@ENDS
@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("for_elsewhere", "IP address mismatch, certificate is not valid for '127.0.0.1'"),
        ("expired", "certificate has expired"),
    ],
)
def test_a_certificate_of_somebody_else_or_of_yesterday_is_refused_once(
    serve: Serve, read: Read, made: str, words: str, authority: Authority
) -> None:
    states: list[str] = []
    certificate = getattr(authority, made)()
    with (
        serve(three, ssl=tuple(certificate)) as server,
        pytest.raises(ConnectionError) as refused,
    ):
        read(
            f"{server.address}/?token=SECRET", ssl=authority.file, on_state=states.append
        ).run_sync()
    assert str(refused.value) == (
        f"{read.__name__}: {server.address}/?token=...: the certificate of the server is refused: "
        f"{words}; there is no other attempt"
    )
    assert states == []


@ENDS
def test_an_authority_that_is_not_known_is_refused_once_with_what_to_do(
    serve: Serve, read: Read, stranger: Authority, here: Certificate
) -> None:
    with serve(three, ssl=tuple(here)) as server:
        for options in ({}, {"ssl": stranger.file}):
            with pytest.raises(ConnectionError) as refused:
                read(server.address, **options).run_sync()
            assert "unable to get local issuer certificate" in str(refused.value)
            assert "give the file of its authority as ssl=; there is no other attempt" in str(
                refused.value
            )
            assert len(str(refused.value).splitlines()) == 1


# A server that wants a certificate of ours.

VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
ADDRESSES = pytest.mark.parametrize(
    ("scheme", "read"), [("wss", from_websocket), ("https", from_server_sent_events)]
)


def wanting(
    here: Certificate,
    authority: Authority,
    version: ssl.TLSVersion,
    mode: ssl.VerifyMode = ssl.CERT_REQUIRED,
) -> ssl.SSLContext:
    wants = here.context()
    wants.verify_mode = mode
    wants.load_verify_locations(authority.file)
    wants.maximum_version = version
    return wants


def showing(authority: Authority, certificate: Certificate) -> ssl.SSLContext:
    shows = ssl.create_default_context(cafile=authority.file)
    shows.load_cert_chain(*certificate)
    return shows


def require_refused_once(read: Read, address: str, trusted: Path | ssl.SSLContext) -> None:
    """All attempts are allowed; there is one."""
    states: list[str] = []
    with pytest.raises(ConnectionError) as refused:
        read(f"{address}/?token=SECRET", ssl=trusted, on_state=states.append).run_sync()
    assert str(refused.value) == (
        f"{read.__name__}: {address}/?token=...: the server wants a certificate of ours that it "
        "trusts; give ssl= an SSLContext that has one, by load_cert_chain; there is no other "
        "attempt"
    )
    assert states == []


@ENDS
@VERSIONS
def test_a_server_may_want_a_certificate_of_ours(
    serve: Serve, read: Read, version: ssl.TLSVersion, authority: Authority, here: Certificate
) -> None:
    trusting = ssl.create_default_context(cafile=authority.file)
    with serve(three, ssl=wanting(here, authority, version)) as server:
        require_refused_once(read, server.address, authority.file)
        require_refused_once(read, server.address, trusting)
        assert read(server.address, ssl=showing(authority, here)).count().run_sync() == 3


@contextmanager
def answering_nobody(context: ssl.SSLContext) -> Iterator[tuple[str, list[str]]]:
    """A server that alerts as OpenSSL does, and hangs up on a client that sends something.

    Gives its address, and the requests that it has got.
    """
    requests: list[str] = []

    def meet(plain: socket.socket) -> None:
        try:
            with context.wrap_socket(plain, server_side=True) as connection:
                request = connection.recv(1000).decode()
                requests.extend([request.partition(" ")[0]] if request else [])
        except OSError:
            plain.close()  # after an alert, say

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return  # that was the end
            meet(plain)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", requests
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@ADDRESSES
@VERSIONS
def test_an_alert_that_wants_a_certificate_is_not_tried_again(
    scheme: str, read: Read, version: ssl.TLSVersion, authority: Authority, here: Certificate
) -> None:
    with answering_nobody(wanting(here, authority, version)) as (address, requests):
        require_refused_once(read, f"{scheme}://{address}", authority.file)
    assert requests == []


@ADDRESSES
@VERSIONS
def test_a_certificate_that_the_server_does_not_trust_is_not_tried_again(
    scheme: str,
    read: Read,
    version: ssl.TLSVersion,
    authority: Authority,
    stranger: Authority,
    here: Certificate,
) -> None:
    shows = showing(authority, stranger.for_here())
    with answering_nobody(wanting(here, authority, version)) as (address, _):
        require_refused_once(read, f"{scheme}://{address}", shows)


@ADDRESSES
@pytest.mark.parametrize("mode", [ssl.CERT_OPTIONAL, ssl.CERT_REQUIRED])
def test_a_server_that_hangs_up_for_another_reason_is_tried_again(
    scheme: str,
    read: Read,
    mode: ssl.VerifyMode,
    authority: Authority,
    here: Certificate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_certificate, "PATIENCE", 0.5)
    wants = wanting(here, authority, ssl.TLSVersion.TLSv1_3, mode)
    trusted = authority.file if mode is ssl.CERT_OPTIONAL else showing(authority, here)
    twice = Retry(times=1, backoff=0.01)
    with (
        answering_nobody(wants) as (address, requests),
        pytest.raises(ConnectionError, match="gave up on .* after 2 attempts"),
    ):
        read(f"{scheme}://{address}", ssl=trusted, reconnect=twice).run_sync()
    assert requests == ["GET", "GET"]


# In the clear, or in part.


@ENDS
def test_a_client_that_speaks_in_the_clear_to_an_encrypted_server_gets_nothing(
    serve: Serve, read: Read, here: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with serve(three, ssl=tuple(here)) as server:
        clear = server.address.replace("wss://", "ws://").replace("https://", "http://")
        with pytest.raises(ConnectionError, match="gave up on"):
            read(clear, reconnect=Retry(times=0)).run_sync()
    assert "Traceback" not in caplog.text


@SERVERS
def test_a_client_that_does_not_finish_the_handshake_is_cut_off(
    serve: Serve, here: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "HANDSHAKE", 0.05)
    with serve(three, ssl=tuple(here)) as server, plug(server) as silent:
        assert silent.recv(1) == b""


@SERVERS
def test_a_client_that_does_not_encrypt_does_not_hold_up_the_end(
    serve: Serve, here: Certificate
) -> None:
    with serve(three, ssl=tuple(here)) as server, plug(server) as silent:
        server.close()
        assert silent.recv(1) == b""


def plug(server: Server) -> socket.socket:
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE)


# Bad arguments.


@pytest.fixture
def bad(tmp_path: Path, authority: Authority, here: Certificate) -> dict[str, Any]:
    """What cannot serve."""
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    return {
        "no key": here.certificate,
        "no certificate": here.key,
        "nonsense": nonsense,
        "of another": (here.certificate, authority.expired().key),
        "missing": tmp_path / "missing.pem",
        "empty context": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        "client context": ssl.create_default_context(),
        "number": 17,
        "three": (here.certificate, here.key, here.key),
    }


@SERVERS
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("no key", "here.pem is no certificate with its key"),
        ("no certificate", "here.key is no certificate with its key"),
        ("nonsense", "nonsense.pem is no certificate with its key"),
        ("of another", "here.pem with .*expired.key is no certificate with its key"),
        ("missing", "there is no file .*missing.pem"),
        ("empty context", "ssl cannot serve, because it has no certificate with a key"),
        ("client context", "ssl cannot serve, .* or is a context for clients"),
        ("number", "ssl must be an SSLContext, the path of a file .*, not 17"),
        ("three", "ssl must be an SSLContext, .* or a pair of paths"),
    ],
)
def test_what_cannot_serve_is_one_clear_error_at_once(
    serve: Serve, bad: dict[str, Any], what: str, words: str
) -> None:
    with pytest.raises((ValueError, TypeError, OSError), match=words) as refused:
        serve(three, ssl=bad[what])
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("scheme", "read"), [("wss", from_websocket), ("https", from_server_sent_events)]
)
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("nonsense", "nonsense.pem has no certificate of an authority"),
        ("no certificate", "here.key has no certificate of an authority"),
        ("missing", "there is no file .*missing.pem"),
        ("empty context", "a context for servers; a source needs one for clients"),
        ("number", "ssl must be an SSLContext or the path of a file with certificates, not 17"),
    ],
)
def test_whom_nobody_can_trust_is_one_clear_error_at_once(
    scheme: str, read: Read, bad: dict[str, Any], what: str, words: str
) -> None:
    with pytest.raises((ValueError, TypeError, OSError), match=words) as refused:
        read(f"{scheme}://127.0.0.1:1", ssl=bad[what])
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("scheme", "read"), [("ws", from_websocket), ("http", from_server_sent_events)]
)
def test_an_authority_for_an_address_in_the_clear_is_refused_at_once(
    scheme: str, read: Read, authority: Authority
) -> None:
    with pytest.raises(ValueError, match="ssl is for an encrypted url"):
        read(f"{scheme}://127.0.0.1:1", ssl=authority.file)
