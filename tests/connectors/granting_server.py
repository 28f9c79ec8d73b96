"""A server that sends numbers, a line each, as many as it was granted."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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

    def serve(self, connection: socketserver.StreamRequestHandler) -> None:
        """Answer grants until all is sent, or the other side is gone."""
        granted: list[int] = []
        self.grants.append(granted)
        opening = connection.rfile.readline()
        if not opening:
            return
        following = int(opening.split()[1]) + 1
        last = following + (self._breaks_after or self.up_to)
        while line := connection.rfile.readline():
            granted.append(int(line.split()[1]))
            end = min(following + granted[-1] + self._too_many, self.up_to, last)
            numbers = "".join(f"{number}\n" for number in range(following, end))
            connection.wfile.write(numbers.encode())
            following = end
            if end in (self.up_to, last):
                connection.wfile.write(b"end\n" if end == self.up_to else b"")
                return
        self.gone += 1


@contextmanager
def serve_numbers(up_to: int = 100, server: GrantingServer | None = None) -> Iterator[int]:
    """The port of such a server, as long as the context lasts."""
    made = GrantingServer(up_to) if server is None else server
    connections: list[socket.socket] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            connections.append(self.connection)
            with suppress(ConnectionError):
                made.serve(self)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield listening.server_address[1]
        finally:
            listening.shutdown()
            thread.join()
            for each in connections:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
