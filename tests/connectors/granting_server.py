"""A server that sends numbers, a line each, as many as it was granted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.connectors.shared.loop_thread import LoopThread

__all__ = ["GrantingServer", "serve_numbers"]


class GrantingServer:
    """``up_to`` is the end; a connection breaks after ``breaks_after`` numbers, if that is said.

    ``grants``  what each connection was granted, one list for each
    ``gone``    how many connections were ended by the other side
    """

    def __init__(self, up_to: int, breaks_after: int = 0, too_many: int = 0) -> None:
        self.up_to = up_to
        self.grants: list[list[int]] = []
        self.gone = 0
        self._breaks_after = breaks_after
        self._too_many = too_many
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self, listening: asyncio.Server) -> None:
        listening.close()
        for writer in self._serving.values():
            writer.transport.abort()
        await asyncio.gather(*self._serving, return_exceptions=True)
        for writer in self._serving.values():
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving[asyncio.create_task(self._serve(reader, writer))] = writer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        granted: list[int] = []
        self.grants.append(granted)
        following = int((await reader.readline()).split()[1]) + 1
        last = following + (self._breaks_after or self.up_to)
        while line := await reader.readline():
            granted.append(int(line.split()[1]))
            end = min(following + granted[-1] + self._too_many, self.up_to, last)
            writer.write("".join(f"{number}\n" for number in range(following, end)).encode())
            following = end
            if end in (self.up_to, last):
                writer.write(b"end\n" if end == self.up_to else b"")
                break
        else:
            self.gone += 1
        writer.close()


@contextmanager
def serve_numbers(up_to: int = 100, server: GrantingServer | None = None) -> Iterator[int]:
    """The port of such a server, as long as the context lasts."""
    made = GrantingServer(up_to) if server is None else server
    thread = LoopThread("granting-server")
    listening = thread.run(made.listen())
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        thread.run(made.close(listening))
        thread.close()
