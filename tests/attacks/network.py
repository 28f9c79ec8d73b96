"""Attacks on the connectors, as somebody on the same network could try them.

Each starts what it attacks, and says what became of it. ``ATTACKS`` lists them all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from io import StringIO
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from penstock import Flow, Retry
from penstock.connectors import (
    Request,
    from_server_sent_events,
    from_websocket,
    serve_server_sent_events,
    serve_websocket,
)
from penstock.spark.egress.token_gate import TokenGate
from tests.attacks.attack import Attack
from tests.attacks.crowd import Crowd
from tests.attacks.crowded_server import Kind, crowded_server
from tests.attacks.load import load
from tests.connectors.test_server_sent_events import answering

__all__ = ["ATTACKS"]

ATTACKER: Final = ("websockets.client", "httpx", "httpcore")
"""What the attacker's own libraries log is no fault of the server."""
PATIENCE: Final = 60.0
SECRET: Final = "a-secret-of-the-server"
CLIPBOARD: Final = "\x1b]52;c;ZXZpbA==\x07"
ONCE: Final = Retry(times=0)
SERVERS: Final = (serve_websocket, serve_server_sent_events)


def plug(address: str) -> socket.socket:
    """Connected, and nothing said."""
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE)


@contextmanager
def logged() -> Iterator[StringIO]:
    """All that is logged meanwhile, in every detail."""
    log, root = StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(log), root.level
    handler.addFilter(lambda record: not record.name.startswith(ATTACKER))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield log
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def read(address: str, **options: Any) -> Flow[Any]:
    """The elements of a server of either kind."""
    made = from_websocket if address.startswith("ws") else from_server_sent_events
    flow: Flow[Any] = made(address, **options)
    return flow


def answer(address: str, **headers: str) -> tuple[int, str]:
    """The status of a server, and its words."""
    if address.startswith("http"):
        response = httpx.get(address, headers=headers, timeout=PATIENCE)
        return response.status_code, response.text
    try:
        with connect(address, additional_headers=headers, proxy=None) as client:
            try:
                client.recv(PATIENCE)
            except ConnectionClosed:
                pass
            return 101, client.close_reason or ""
    except InvalidStatus as refused:
        return refused.response.status_code, refused.response.body.decode()


def hang_up_while_elements_are_ready() -> Attack:
    """A client of events leaves without a word."""
    tried = "50 clients of an endless stream hang up within an event, and another one reads"
    with (
        logged() as log,
        serve_server_sent_events(lambda request: Flow.from_iterable(count())) as server,
    ):
        for _ in range(50):
            with plug(server.address) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                client.recv(100)
        took = read(server.address).take(1000).count().run_sync()
    lines = log.getvalue().count("socket.send() raised exception")
    happened = f"the other one got {took} elements, the server closed, {lines} complaints logged"
    return Attack("hang up at an event server", tried, happened, took == 1000 and not lines)


def exhaust_connections() -> Attack:
    """Connect, and say nothing."""
    tried = "200 connections say nothing to a server that may have 20"
    results = []
    for serve in SERVERS:
        with serve(lambda request: Flow.of(1), max_connections=20) as server, ExitStack() as crowd:
            silent = [crowd.enter_context(plug(server.address)) for _ in range(200)]
            cut_off = sum(is_cut_off(each) for each in silent[100:])
            results.append(cut_off)
    happened = f"of the last 100, {results[0]} and {results[1]} were cut off at once"
    return Attack("exhaust connections", tried, happened, results == [100, 100])


def is_cut_off(connection: socket.socket) -> bool:
    """Whether the other end has closed it, at once."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except OSError:
        return True


def connect_without_credentials() -> Attack:
    """No token, a wrong one, and one in the query."""
    results: list[tuple[int, str]] = []

    def authenticate(request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {SECRET}"

    with logged() as log:
        for serve in SERVERS:
            with serve(lambda request: Flow.of(1), authenticate=authenticate) as server:
                results += [
                    answer(server.address),
                    answer(server.address, Authorization="Bearer wrong-token"),
                    answer(f"{server.address}/?token=wrong-token"),
                ]
                served = read(server.address, auth=SECRET).count().run_sync()
                assert served == 1
    ours = [line for line in log.getvalue().splitlines() if "is refused" in line]
    statuses = [status for status, _ in results]
    held = statuses == [401, 403, 401] * 2 and "wrong-token" not in "".join(ours)
    return Attack(
        "connect without credentials",
        "no token, a wrong one, one in the query",
        f"status {', '.join(map(str, statuses))}; no token in {len(ours)} lines of the log",
        held and "Traceback" not in log.getvalue(),
    )


def provoke_an_error() -> Attack:
    """Have the server fail, and read what it says."""

    def fail(request: Request) -> Flow[Any]:
        raise LookupError(f"table {SECRET} is not there")

    told = []
    for serve in SERVERS:
        with serve(fail) as server:
            told.append(answer(server.address)[1])
    return Attack(
        "provoke an error",
        "a path for which the server's own code fails",
        f"told: {told[0]}",
        not any(SECRET in words for words in told) and all("under" in words for words in told),
    )


def read_credentials_in_logs() -> Attack:
    """Everything that is logged or raised about an address, with all details on."""
    shown: list[str] = []
    with logged() as log:
        for serve in SERVERS:
            with serve(lambda request: Flow.of(1)) as server:
                address = server.address
                url = address.replace("://", f"://me:{SECRET}@") + f"/?token={SECRET}#{SECRET}"
                flow = read(url, headers={"X-Key": SECRET}, reconnect=ONCE)
                flow.run_sync()
                shown += [repr(flow), str(flow.explain())]
            try:
                flow.run_sync()
            except ConnectionError as error:
                shown.append(str(error))
    leaks = [text for text in (*shown, log.getvalue()) if SECRET in text]
    return Attack(
        "read credentials in logs and errors",
        "an address with user, password, token and fragment, a header; all loggers at DEBUG",
        f"{len(leaks)} of {len(shown) + 1} texts show them",
        not leaks,
    )


def send_a_bomb() -> Attack:
    """A little of gzip that is much text, without a line break."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([packing.compress(b"data: " + b"0" * 100_000_000), packing.flush()])

    def explode(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        handler.wfile.write(bomb)

    words = "nothing"
    tracemalloc.start()
    try:
        with answering(explode) as url:
            from_server_sent_events(url).run_sync()
    except ValueError as error:
        words = str(error)
    finally:
        most = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    return Attack(
        "send a bomb to an event source",
        f"{len(bomb) // 1000} KB of gzip that are 100 MB on one line",
        f"{most:.0f} MB held; {words.partition(' sent ')[2]}",
        most < 12 and "more than 1048576 bytes" in words,
    )


def command_the_terminal() -> Attack:
    """A server says what a terminal would obey."""

    def fail(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        text = json.dumps(CLIPBOARD)
        handler.wfile.write(f"event: penstock.failure\ndata: {text}\n\n".encode())

    said = ""
    with answering(fail) as url:
        try:
            from_server_sent_events(url).run_sync()
        except Exception as error:
            said = str(error)
    return Attack(
        "command the terminal", "a remote error that sets the clipboard", said, "\x1b" not in said
    )


def crowd_the_return_socket() -> Attack:
    """Connect to the way back from Spark Connect, again and again, without its token."""
    admitted = threading.Event()

    def admit(connection: socket.socket) -> None:
        connection.close()
        admitted.set()

    gate, before = TokenGate("127.0.0.1", SECRET.encode(), admit), threading.active_count()
    try:
        with ExitStack() as crowd:
            for _ in range(500):
                stranger = crowd.enter_context(socket.create_connection(gate.address, PATIENCE))
                stranger.sendall(b"x")
            threads = threading.active_count() - before
            sender = crowd.enter_context(socket.create_connection(gate.address, PATIENCE))
            sender.sendall(SECRET.encode())
            came = admitted.wait(PATIENCE)
    finally:
        gate.close()
    return Attack(
        "crowd the return socket of Spark Connect",
        "500 connections without the token, then one with it",
        f"{threads} threads for them; the one with the token {'came in' if came else 'did not'}",
        came and threads == 0,
    )


def crowd_a_websocket_server() -> Attack:
    """Many who are idle, do not read or hang up; others are served."""
    return crowded("websocket")


def crowd_an_event_server() -> Attack:
    """The same by server-sent events."""
    return crowded("server-sent events")


def crowded(kind: Kind) -> Attack:
    """What a crowd comes to at a server."""
    crowd = Crowd(idle=100, never_read=20, hang_up=10)
    with crowded_server(kind) as server:
        found = asyncio.run(load(server, crowd, others=5, count=100, every=0.005))
    return Attack(
        f"crowd a {kind} server",
        f"{crowd.idle} idle, {crowd.never_read} that never read, {crowd.hang_up} that hang up",
        f"5 others got all of theirs; {found.megabytes:.0f} MB, {found.descriptors} files open",
        found.megabytes < 150,
    )


ATTACKS: Final[tuple[Callable[[], Attack], ...]] = (
    hang_up_while_elements_are_ready,
    exhaust_connections,
    connect_without_credentials,
    provoke_an_error,
    read_credentials_in_logs,
    send_a_bomb,
    command_the_terminal,
    crowd_the_return_socket,
    crowd_a_websocket_server,
    crowd_an_event_server,
)
