"""Who is let in by a server, how many, and what the others learn."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from penstock import Flow, Retry
from penstock.connectors import (
    Request,
    Server,
    from_server_sent_events,
    from_websocket,
    serve_server_sent_events,
    serve_websocket,
)
from penstock.connectors.shared import connection_errors as remote_error
from penstock.connectors.shared import sockets as doors
from penstock.connectors.shared.connection_errors import RateLimitedLog, quiet
from penstock.connectors.shared.sockets import most_connections
from penstock.testing import ManualPublisher

PATIENCE = 60
ONCE = Retry(times=0)
SERVERS = [serve_websocket, serve_server_sent_events]
Serve = Callable[..., Server]


def may_enter(request: Request) -> bool:
    given = request.headers.get("authorization", "")
    return hmac.compare_digest(given, "Bearer SECRET")


async def may_enter_after_a_while(request: Request) -> bool:
    await asyncio.sleep(0)
    return may_enter(request)


def source(server: Server, **options: Any) -> Flow[Any]:
    made = from_websocket if server.address.startswith("ws") else from_server_sent_events
    flow: Flow[Any] = made(server.address, reconnect=ONCE, **options)
    return flow


def answer(server: Server, path: str = "/", **headers: str) -> tuple[int, str]:
    """The status that somebody gets, and all that he is told beside it."""
    if server.address.startswith("http"):
        response = httpx.get(f"{server.address}{path}", headers=headers, timeout=PATIENCE)
        return response.status_code, response.text
    try:
        connect(f"{server.address}{path}", additional_headers=headers, proxy=None).close()
    except InvalidStatus as refused:
        return refused.response.status_code, refused.response.body.decode()
    return 101, ""


def plug(server: Server) -> socket.socket:
    """Connected, and nothing said."""
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE)


# Who.


@pytest.mark.parametrize("serve", SERVERS)
@pytest.mark.parametrize("authenticate", [may_enter, may_enter_after_a_while])
def test_a_client_that_proves_that_it_may_is_served_and_others_are_refused_without_a_word(
    serve: Serve, authenticate: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serve(lambda request: Flow.of(1), authenticate=authenticate) as server:
        assert len(source(server, auth="SECRET").to_list().run_sync() or ()) == 1
        with pytest.raises(ConnectionError, match="the status 401"):
            source(server).run_sync()
        with pytest.raises(ConnectionError, match="the status 403"):
            source(server, auth="WRONG-TOKEN").run_sync()
        assert answer(server, "/?key=WRONG-TOKEN") == (401, "not authenticated\n")
        assert answer(server, Authorization="Bearer WRONG-TOKEN") == (403, "not allowed\n")
    assert "is refused with the status 401" in caplog.text
    assert "SECRET" not in caplog.text
    log = without_clients(caplog)
    assert "WRONG-TOKEN" not in log
    assert "Traceback" not in log


def without_clients(caplog: pytest.LogCaptureFixture) -> str:
    """The log with its tracebacks, but for what the clients of these tests log of themselves."""
    return "\n".join(
        caplog.handler.format(record)
        for record in caplog.records
        if not record.name.startswith(("websockets", "httpx", "httpcore"))
    )


@pytest.mark.parametrize("serve", SERVERS)
def test_a_request_has_headers_path_query_and_peer_and_shows_no_credentials(serve: Serve) -> None:
    requests: list[Request] = []

    def seen(request: Request) -> bool:
        requests.append(request)
        return False

    with serve(lambda request: Flow.of(1), authenticate=seen) as server:
        answer(server, "/board?token=SECRET", **{"X-Key": "SECRET", "X-Forwarded-For": "10.0.0.9"})
    (request,) = requests
    assert request.path == "/board"
    assert request.query == {"token": "SECRET"}
    assert request.headers["x-key"] == "SECRET"
    assert request.peer == "127.0.0.1"  # whatever the other end says
    assert "SECRET" not in repr(request)
    assert "/board?token=..." in str(request)


@pytest.mark.parametrize("serve", SERVERS)
@pytest.mark.parametrize("answered", [LookupError("SECRET table"), "yes", None])
def test_an_authenticate_that_fails_or_does_not_answer_lets_nobody_in(
    serve: Serve, answered: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def authenticate(request: Request) -> Any:
        if isinstance(answered, Exception):
            raise answered
        return answered

    with serve(lambda request: Flow.of(1), authenticate=authenticate) as server:
        status, words = answer(server)
    assert status == 500
    assert words.startswith("the server has failed; its log says why, under ")
    assert words.split()[-1] in caplog.text


@pytest.mark.parametrize("serve", SERVERS)
def test_an_authenticate_that_is_none_is_refused_at_once(serve: Serve) -> None:
    with pytest.raises(TypeError, match="needs a function"):
        serve(lambda request: Flow.of(1), authenticate="token")


@pytest.mark.parametrize("serve", SERVERS)
def test_a_server_that_strangers_reach_says_so(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with serve(lambda request: Flow.of(1)):
        assert caplog.text == ""
    with serve(lambda request: Flow.of(1), host="0.0.0.0"):
        assert "anyone who reaches 0.0.0.0 gets what is served there" in caplog.text
    with serve(lambda request: Flow.of(1), host="0.0.0.0", authenticate=may_enter):
        assert "can be read on its way" in caplog.text


# How many.


@pytest.mark.parametrize("serve", SERVERS)
def test_beyond_the_most_connections_the_status_is_503_until_somebody_leaves(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    publishers: list[ManualPublisher[Any]] = []

    def flow_for(request: Request) -> ManualPublisher[Any]:
        publishers.append(ManualPublisher())
        return publishers[-1]

    with serve(flow_for, max_connections=2) as server, ExitStack() as clients:
        for _ in range(2):
            stay(server, clients)
        publishers[0].await_requested(1)
        assert answer(server) == (503, "too many connections\n")
        assert answer(server)[0] == 503
        assert len(publishers) == 2
        clients.close()
        for publisher in publishers:
            publisher.await_cancelled()
    assert "2 connections are open, which max_connections allows" in caplog.text


def stay(server: Server, clients: ExitStack) -> None:
    """Connect, and stay until ``clients`` leave."""
    if server.address.startswith("ws"):
        clients.enter_context(connect(server.address, proxy=None))
    else:
        clients.enter_context(httpx.stream("GET", server.address, timeout=PATIENCE))


@pytest.mark.parametrize("serve", SERVERS)
def test_those_who_say_nothing_are_bounded_and_do_not_hold_up_the_end(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "SPARE", 3)
    with ExitStack() as silent:
        with serve(lambda request: Flow.of(1), max_connections=2) as server:
            held = [silent.enter_context(plug(server)) for _ in range(5)]
            for _ in range(20):
                with plug(server) as beyond:
                    assert beyond.recv(1) == b""
        assert [each.recv(1) for each in held] == [b""] * 5


@pytest.mark.parametrize("serve", SERVERS)
@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: 127"])
def test_a_client_that_does_not_say_what_it_wants_is_cut_off(
    serve: Serve, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "HANDSHAKE", 0.05)
    with serve(lambda request: Flow.of(1)) as server, plug(server) as slow:
        slow.sendall(said)
        assert slow.recv(1) == b""


def test_a_request_after_another_one_on_the_same_connection_is_not_read() -> None:
    with serve_server_sent_events(lambda request: Flow.of(1)) as server, plug(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200") == 1
    assert b"connection: close" in received.lower()
    assert b"uvicorn" not in received.lower()


def test_a_question_for_headers_alone_makes_no_flow() -> None:
    requests: list[Request] = []

    def flow_for(request: Request) -> Flow[Any]:
        requests.append(request)
        return Flow.of(1)

    with serve_server_sent_events(flow_for) as server:
        response = httpx.head(server.address, timeout=PATIENCE)
    assert (response.status_code, requests) == (200, [])


@pytest.mark.parametrize(
    ("limit", "most"), [(1024, 512), (256, 128), (20_000, 1000), (1, 1), (10**9, 1000)]
)
def test_a_server_takes_no_more_than_half_of_the_files_that_may_be_open(
    limit: int, most: int
) -> None:
    assert most_connections(limit) == most


@pytest.mark.parametrize("serve", SERVERS)
def test_a_number_of_connections_that_is_none_is_refused_at_once(serve: Serve) -> None:
    with pytest.raises(ValueError, match="max_connections must be at least 1"):
        serve(lambda request: Flow.of(1), max_connections=0)


# What is logged.


def test_the_log_has_a_few_lines_of_many_and_says_how_many_are_missing() -> None:
    now = 0.0
    seldom = RateLimitedLog(lines=2, pause=10, now=lambda: now)
    assert [seldom.passes() for _ in range(5)] == [True, True, False, False, False]
    now = 10.0
    assert seldom.passes()
    assert seldom.left_out() == " (3 lines like this were left out)"
    assert seldom.left_out() == ""


@pytest.mark.parametrize("serve", SERVERS)
def test_nonsense_is_a_line_without_a_traceback(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with serve(lambda request: Flow.of(1)) as server:
        for _ in range(5):
            with plug(server) as stranger:
                stranger.sendall(b"\x16\x03\x01 \x1b]52;c;eA==\x07 nonsense\r\n\r\n")
                while stranger.recv(65536):
                    pass
    assert "Traceback" not in caplog.text
    assert "\x1b" not in caplog.text


def test_a_library_logs_no_headers_and_a_traceback_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    logger = quiet("a-library-of-this-test")
    logger.debug("> Authorization: Bearer SECRET")
    try:
        raise ConnectionResetError("\x1b]52;c;eA==\x07")
    except ConnectionResetError:
        logger.exception("opening handshake failed at %s", "\x1b[2J")
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage() == (
        r"opening handshake failed at \x1b[2J: ConnectionResetError: \x1b]52;c;eA==\x07"
    )


@pytest.mark.parametrize("serve", SERVERS)
def test_a_flow_that_fails_for_many_has_its_number_for_each_and_few_tracebacks(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_error, "_tracebacks", RateLimitedLog(now=lambda: 0.0))

    def fail(request: Request) -> Flow[Any]:
        raise LookupError("no such board: SECRET")

    told: list[str] = []
    with serve(fail) as server:
        for _ in range(40):
            if server.address.startswith("http"):
                told.append(answer(server)[1])
            else:
                with connect(server.address, proxy=None) as client:
                    list(iter_all(client))
                    told.append(client.close_reason or "")
    assert len({words.split()[-1] for words in told}) == 40
    assert all(words.split()[-1] in caplog.text for words in told)
    assert not any("SECRET" in words for words in told)
    assert caplog.text.count("Traceback") == 10


def iter_all(client: Any) -> Iterator[Any]:
    """All messages of a connection, whose end is an error or none."""
    from websockets.exceptions import ConnectionClosed

    try:
        yield from client
    except ConnectionClosed:
        return


def test_what_a_client_does_wrong_is_told_with_words() -> None:
    with (
        serve_websocket(lambda request: Flow.of(1)) as server,
        connect(server.address, proxy=None, subprotocols=["penstock.demand.1"]) as client,  # type: ignore[list-item]
    ):
        client.send('{"request": 0}')
        assert "at least 1 is allowed" in json.loads(client.recv(PATIENCE))["error"]
