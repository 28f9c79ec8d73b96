"""Clients of a server, many at a time, of which few behave."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import AsyncExitStack
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlsplit

__all__ = ["Crowd", "Served", "served"]

UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
AT_ONCE = struct.pack("ii", 1, 0)
"""A connection that is closed so says no goodbye."""

FRAME_END = b"\x88\x02\x03\xe8"
EVENT_END = b"event: penstock.complete\ndata: null\n\n\r\n0\r\n\r\n"


class Client:
    """One connection, as plain as can be: a request, and then bytes."""

    def __init__(self, address: str, path: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 0
        extra = UPGRADE if parts.scheme == "ws" else ""
        self._request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{extra}\r\n".encode()
        self.plug = socket.socket()
        self.plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.plug.setblocking(False)

    async def __aenter__(self) -> Client:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.plug, (self._host, self._port))
        await loop.sock_sendall(self.plug, self._request)
        answer = await loop.sock_recv(self.plug, 12)
        if answer not in (b"HTTP/1.1 200", b"HTTP/1.1 101"):
            raise ConnectionRefusedError(f"the server answered {answer!r}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.plug.close()

    async def read(self, size: int) -> bytes:
        """Some more of what was sent."""
        return await asyncio.get_running_loop().sock_recv(self.plug, size)

    def hang_up(self) -> None:
        """Without a goodbye, in the middle of what comes."""
        self.plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.plug.close()


class Crowd(NamedTuple):
    """How many of which kind."""

    idle: int
    never_read: int
    hang_up: int

    async def gather(self, address: str, here: AsyncExitStack) -> None:
        """Let all of them come; those who hang up are gone when this is over."""
        for _ in range(self.idle):
            await here.enter_async_context(Client(address, "/quiet"))
        for _ in range(self.never_read):
            await here.enter_async_context(Client(address, "/flood"))
        for _ in range(self.hang_up):
            async with Client(address, "/flood") as client:
                await client.read(500)
                client.hang_up()


class Served(NamedTuple):
    """What a client got that behaves: the numbers, and how long they took to come."""

    numbers: list[int]
    seconds: float


async def served(address: str, count: int, every: float) -> Served:
    """Read ``count`` numbers to the end, one each ``every`` seconds."""
    numbers_in, end = (frames, FRAME_END) if address.startswith("ws") else (events, EVENT_END)
    async with Client(address, f"/?every={every}&count={count}") as client:
        began, received = perf_counter(), b""
        while part := await client.read(65536):
            received += part
            if received.endswith(end):
                break
        return Served([*numbers_in(received)], perf_counter() - began)


def frames(received: bytes) -> Iterator[int]:
    """The numbers in small text frames of a websocket, after the handshake."""
    rest = received.partition(b"\r\n\r\n")[2]
    while rest[:1] == b"\x81":
        yield int(rest[2 : 2 + rest[1]])
        rest = rest[2 + rest[1] :]


def events(received: bytes) -> Iterator[int]:
    """The numbers in events."""
    yield from map(int, re.findall(rb"data: (\d+)\n\n", received))
