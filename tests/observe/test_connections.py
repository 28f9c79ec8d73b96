"""Strangers who only hold connections: the page stays there for its user, and so does the rest."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from penstock.observe.dashboard import Dashboard
from penstock.observe.dashboard.server import BACKLOG, MOST, PageConnections, PageListener
from tests.cli.processes import RunningCommand

LOOPBACK = "127.0.0.1"


@contextmanager
def strangers(port: int, count: int, says: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections that are held, and on which little is said."""
    with ExitStack() as held:
        opened = []
        for _ in range(count):
            stranger = held.enter_context(socket.create_connection((LOOPBACK, port), 60))
            with suppress(OSError):  # shut out already
                stranger.sendall(says)
            opened.append(stranger)
        yield opened


def is_over(stranger: socket.socket) -> bool:
    """Wait until the other end has hung up."""
    try:
        while stranger.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    "says", [b"", b"GET / HTTP/1.1\r\nHost: ", b"\x16\x03\x01"], ids=["idle", "slow", "tls"]
)
def test_who_waits_the_longest_makes_room_for_the_user_of_the_page(
    dashboard: Dashboard, program: httpx.Client, says: bytes
) -> None:
    port = program.base_url.port or 0
    with strangers(port, 3 * MOST, says) as held:
        assert program.get("/history").status_code == 200
        # Those that came first are out, long before their time.
        assert all(is_over(stranger) for stranger in held[:MOST])
        assert program.get("/history").status_code == 200


@contextmanager
def listening(connections: PageConnections) -> Iterator[PageListener]:
    with PageListener(socket.create_server((LOOPBACK, 0)), connections) as listener:
        yield listener


def test_who_shows_no_key_in_time_is_shut_out() -> None:
    async def serve() -> None:
        over = asyncio.Event()

        async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.read() == b""
            writer.close()
            over.set()

        with listening(PageConnections(patience=0.0)) as listener:
            async with await asyncio.start_server(met, sock=listener):
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                assert await reader.read() == b""
                await over.wait()
                writer.close()

    asyncio.run(serve())


def test_beyond_the_bound_nobody_gets_in_while_all_others_have_a_key() -> None:
    async def serve() -> None:
        connections = PageConnections(most=2)
        with listening(connections) as listener, ExitStack() as held:

            def come() -> socket.socket:
                return held.enter_context(socket.create_connection(listener.getsockname()))

            def met() -> socket.socket:
                connection, peer = listener.accept()
                connections.admit(peer)
                connections.shut_out(peer)  # has a key, and is not concerned
                return held.enter_context(connection)

            clients = [come(), come()]
            served = [met(), met()]
            refused = come()
            with pytest.raises(BlockingIOError):
                listener.accept()
            assert is_over(refused)
            served[0].close()
            clients.append(come())
            served.append(met())
            for client, connection in zip(clients[1:], served[1:], strict=True):
                client.sendall(b"here")
                assert connection.recv(4) == b"here"
            assert len(connections) == 2
        assert len(connections) == 0

    asyncio.run(serve())


def test_descriptors_of_the_sinks_are_not_used_up_by_strangers(tmp_path: Path) -> None:
    """A pipeline that may have few, whose sink opens a file for each element."""
    few = 2 * MOST + BACKLOG + 100
    arguments = (
        "run", "tests.cli.pipelines:files", "--dashboard",
        "--set", f"folder={tmp_path}", "--set", f"descriptors={few}",
    )  # fmt: skip
    with RunningCommand(*arguments) as command:
        address = httpx.URL(command.err.wait_for("the page: ").split()[2])
        with strangers(address.port or 0, 2 * few) as held:
            assert is_over(held[0])  # they have all been seen, or stand in line
            (tmp_path / "go-on").touch()
            ended = command.end()
    assert ended.code == 0, ended.err
    assert "lost 0" in ended.err
    assert sorted(path.name for path in tmp_path.glob("element-*")) == [
        f"element-{number:03}" for number in range(200)
    ]
