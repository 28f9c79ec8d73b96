"""A client that hangs up, or a machine that runs short, disturbs nobody else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from penstock import Flow
from penstock.connectors import (
    Request,
    Server,
    from_server_sent_events,
    from_websocket,
    serve_server_sent_events,
    serve_websocket,
)

PATIENCE = 60
ROOT = Path(__file__).parents[2]


def plug(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE)


class Endless:
    """Numbers that are always there; says when somebody has stopped to read them."""

    def __init__(self) -> None:
        self.closed = threading.Semaphore(0)

    def flow(self, request: Request) -> Flow[int]:
        return Flow.from_iterable(self)

    def __iter__(self) -> Iterator[int]:
        try:
            yield from count()
        finally:
            self.closed.release()


@pytest.mark.parametrize("clients", [1, 5])
def test_a_client_of_events_that_hangs_up_ends_its_stream_and_nobody_elses(
    clients: int, caplog: pytest.LogCaptureFixture
) -> None:
    endless = Endless()
    with serve_server_sent_events(endless.flow) as server:
        for _ in range(clients):
            with plug(server.address) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert client.recv(1)
            assert endless.closed.acquire(timeout=PATIENCE)
        took = from_server_sent_events(server.address).take(1000).count().run_sync()
        assert took == 1000
    assert len(caplog.records) == 0


@pytest.mark.parametrize(
    ("serve", "read"),
    [(serve_websocket, from_websocket), (serve_server_sent_events, from_server_sent_events)],
)
def test_a_client_that_takes_all_leaves_a_turn_for_others(
    serve: Callable[..., Server], read: Callable[..., Flow[Any]]
) -> None:
    """On the thread of the server, a stream with elements ready never has to wait."""
    reading = threading.Event()
    with serve(lambda request: Flow.from_iterable(count())) as server, ExitStack() as ended:
        greedy = threading.Thread(target=read_on, args=(server.address, reading))
        greedy.start()
        ended.callback(greedy.join)
        ended.callback(reading.set)
        assert read(server.address).take(1000).count().run_sync() == 1000
        server.close()


def read_on(address: str, stop: threading.Event) -> None:
    """Read as fast as it can, as a plain client."""
    if address.startswith("http"):
        with httpx.stream("GET", address, timeout=PATIENCE) as response:
            for _ in response.iter_raw():
                if stop.is_set():
                    return
    else:
        from websockets.sync.client import connect

        from tests.connectors.test_admission import iter_all

        with connect(address, proxy=None, max_queue=None) as client:
            for _ in iter_all(client):
                if stop.is_set():
                    return


PROGRAM = """
import logging, resource, sys
from itertools import count
from penstock import Flow
from penstock.connectors import serve_server_sent_events, serve_websocket

logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
serve = {"ws": serve_websocket, "http": serve_server_sent_events}[sys.argv[1]]
with serve(lambda request: Flow.range(3), max_connections=1000) as server:
    print(server.address, flush=True)
    for line in sys.stdin:
        print(line, end="", flush=True)
"""


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_a_server_without_descriptors_lives_and_serves_again(scheme: str) -> None:
    read: Callable[..., Flow[Any]] = from_websocket if scheme == "ws" else from_server_sent_events
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, scheme],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "src"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        address = process.stdout.readline().strip()
        before = processor_seconds(process.pid)
        with ExitStack() as crowd:
            for _ in range(100):
                crowd.enter_context(plug(address))
            process.stdin.write("still here\n")
            process.stdin.flush()
            assert process.stdout.readline() == "still here\n"
        assert len(read(address).to_list().run_sync() or ()) == 3
        spent = processor_seconds(process.pid) - before
        _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert log.count("nobody else can connect: Too many open files") >= 1
    assert len(log.splitlines()) < 20, log
    assert spent < 5  # of the processor: it does not ask in a loop


def processor_seconds(process: int) -> float:
    """What a process has computed, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
