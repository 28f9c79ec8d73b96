"""What stands between clients and a server, and can be cut: then connecting is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Final

from tests.held_port import held_port

__all__ = ["Forwarder", "forwarding"]

HOST: Final = "127.0.0.1"
MOST: Final = 1 << 16


class Forwarder:
    """A port whose connections go on to that of a server, which knows nothing of it."""

    def __init__(self, port: int, server: int) -> None:
        self.port = port
        self._server = server
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []
        self._lost: tuple[str, bytes] | None = None
        self._before_lost = b""
        self._deaf: socket.socket | None = None

    def lose(self, what: str, of: bytes = b"", *, after: bytes = b"") -> None:
        """End the connection with a "request", or with the "answer" to it; nothing of it arrives.

        It is the next request that has ``of`` in it; if ``after`` is given, the next one that comes
        after a request that has that in it.
        """
        self._before_lost = after
        self._lost = (what, of)

    @property
    def loses(self) -> bool:
        """Whether what is to be lost has not come yet."""
        return self._lost is not None

    def mend(self) -> None:
        """Let clients in."""
        self._listener = socket.create_server((HOST, self.port))
        Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End all connections, also amid a request, and refuse others."""
        listener, self._listener = self._listener, None
        if listener is not None:
            end(listener)
        while self._open:
            end(self._open.pop())

    @contextmanager
    def away(self) -> Iterator[None]:
        """Within the block, connecting is refused."""
        self.cut()
        try:
            yield
        finally:
            self.mend()

    def _serve(self, listener: socket.socket) -> None:
        while self._listener is listener:
            with suppress(OSError):
                client, _ = listener.accept()
                server = socket.create_connection((HOST, self._server))
                self._open += (client, server)
                for pair in ((client, server), (server, client)):
                    Thread(target=self._pump, args=(*pair, client), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, client: socket.socket) -> None:
        """One direction, until its end."""
        with suppress(OSError):
            while content := source.recv(MOST):
                if self._is_lost(source, client, content):
                    end(source)
                    break
                target.sendall(content)
        end(target)

    def _is_lost(self, source: socket.socket, client: socket.socket, content: bytes) -> bool:
        if source is not client:
            return self._deaf is client
        if self._before_lost:
            if self._before_lost in content:
                self._before_lost = b""
            return False
        if self._lost is None or self._lost[1] not in content:
            return False
        (what, _), self._lost = self._lost, None
        if what == "answer":
            self._deaf = client
        return what == "request"


def end(connection: socket.socket) -> None:
    """Also for a thread that waits for it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def forwarding(server: int) -> Iterator[Forwarder]:
    """One that lets clients in, until the end of the block."""
    with held_port() as port:
        forwarder = Forwarder(port, server)
        forwarder.mend()
        try:
            yield forwarder
        finally:
            forwarder.cut()
