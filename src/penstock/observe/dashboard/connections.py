"""How many connections the page has, and how long one may take to show a key.

A connection takes a descriptor, of which this process has a number that the sinks need as well. So
there is a bound, and who has shown no key is shut out after a while: whether nothing comes, a
request comes letter by letter, or the handshake of TLS does. When the bound is reached, those who
wait the longest make room, so that strangers do not keep the user of the page out.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

__all__ = ["BACKLOG", "MOST", "PageConnections", "PageListener"]

MOST: Final = 64
"""From here on somebody has to make room."""
PATIENCE: Final = 10.0
"""The seconds within which a key has to be shown."""
BACKLOG: Final = 16
"""How many connections an event loop accepts at once, before it closes any."""
IN_LINE: Final = 1024
"""Who is not in line any more waits for seconds until his system tries again."""

Peer = tuple[str, int]


class PageConnections:
    """Those that are open. Everything happens on the thread of the event loop."""

    def __init__(self, *, most: int = MOST, patience: float = PATIENCE) -> None:
        self._most = most
        self._patience = patience
        self._open: set[PageConnection] = set()
        self._waiting: dict[Peer, tuple[PageConnection, asyncio.TimerHandle]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, accepted: socket.socket, peer: Peer) -> PageConnection | None:
        """A connection that was accepted; ``None`` if there are too many."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._waiting), None)
            if oldest is None or len(self._open) >= 2 * self._most:
                accepted.close()
                return None
            self.shut_out(oldest)  # it counts until it is gone
        connection = PageConnection(accepted, lambda: self._left(connection, peer))
        self._open.add(connection)
        timer = asyncio.get_running_loop().call_later(self._patience, self.shut_out, peer)
        self._waiting[peer] = connection, timer
        return connection

    def admit(self, peer: Peer | None) -> None:
        """Somebody has shown a key."""
        if peer is not None and (waiting := self._waiting.pop((peer[0], peer[1]), None)):
            waiting[1].cancel()

    def shut_out(self, peer: Peer) -> None:
        """End a connection that has shown no key."""
        if waiting := self._waiting.pop(peer, None):
            connection, timer = waiting
            timer.cancel()
            connection.hang_up()

    def _left(self, connection: PageConnection, peer: Peer) -> None:
        self._open.discard(connection)
        waiting = self._waiting.get(peer)
        if waiting is not None and waiting[0] is connection:
            waiting[1].cancel()
            del self._waiting[peer]


class PageConnection(socket.socket):
    """An accepted socket that tells when it is closed."""

    def __init__(self, accepted: socket.socket, closed: Callable[[], object]) -> None:
        self._closed_hook: Callable[[], object] | None = None
        super().__init__(fileno=accepted.detach())
        self._closed_hook = closed

    def hang_up(self) -> None:
        """Let the event loop find that it is over, and close it."""
        try:
            self.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster

    def close(self) -> None:
        """Close it, and say so once."""
        super().close()
        hook, self._closed_hook = self._closed_hook, None
        if hook is not None:
            hook()


class PageListener(socket.socket):
    """A socket that listens, and lets in no more than ``connections`` allows."""

    def __init__(self, listening: socket.socket, connections: PageConnections) -> None:
        super().__init__(fileno=listening.detach())
        self._connections = connections

    def listen(self, backlog: int = 0, /) -> None:
        """Let many stand in line, which takes no descriptor, however few are accepted at once."""
        super().listen(IN_LINE)

    def accept(self) -> tuple[socket.socket, Any]:
        """As that of any socket; who is not let in was never there."""
        accepted, address = super().accept()
        connection = self._connections.enter(accepted, (address[0], address[1]))
        if connection is None:
            raise BlockingIOError
        return connection, address
