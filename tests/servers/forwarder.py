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
        self._lost: str | None = None

    def lose(self, what: str) -> None:
        """End the connection with the next "request" or "answer", of which nothing arrives."""
        self._lost = what

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
                for way in ((client, server, "request"), (server, client, "answer")):
                    Thread(target=self._pump, args=way, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, what: str) -> None:
        """One direction, until its end."""
        with suppress(OSError):
            while content := source.recv(MOST):
                if self._lost == what:
                    self._lost = None
                    end(source)
                    break
                target.sendall(content)
        end(target)


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
