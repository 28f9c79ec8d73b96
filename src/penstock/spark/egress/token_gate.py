"""A socket that hands on connections that know a token, and holds few others for a short time.

Strangers get no thread, and nothing that they say is read beyond the length of the token.
"""

from __future__ import annotations

import hmac
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import Final

__all__ = ["TokenGate"]

STRANGERS: Final = 64
"""So many may be here at a time; for another one, the first of them has to go."""

PATIENCE: Final = 10.0
"""Seconds within which the token has to come."""

PAUSE: Final = 0.2
"""Seconds to wait when nobody can be accepted, for want of descriptors say."""

LONGEST_WAIT: Final = 1.0

logger = logging.getLogger(__name__)


class PendingConnection:
    """Somebody who has not said the token: what he has said, and until when he may go on.

    ``is_heard``  whether what he says can be read, once he has encrypted it if he has to
    """

    def __init__(self, deadline: float, *, is_heard: bool) -> None:
        self.said = b""
        self.deadline = deadline
        self.is_heard = is_heard


class TokenGate:
    """Listens on a thread of its own until it is closed.

    ``admit`` is called there with each connection that began with ``token``; it must not block.
    With ``tls``, all connections are encrypted, and the token is the first thing that is so.
    """

    def __init__(
        self,
        host: str,
        token: bytes,
        admit: Callable[[socket.socket], object],
        *,
        tls: ssl.SSLContext | None = None,
        strangers: int = STRANGERS,
        patience: float = PATIENCE,
    ) -> None:
        self._token = token
        self._admit = admit
        self._tls = tls
        self._most = strangers
        self._patience = patience
        self._strangers: dict[
            socket.socket, PendingConnection
        ] = {}  # in the order in which they came
        self._resumes = 0.0
        self._is_short = False
        self._closed = False
        self._listener = socket.create_server((host, 0))
        self._listener.setblocking(False)
        self._selector = DefaultSelector()  # here: later there may be no descriptor for it
        self._selector.register(self._listener, EVENT_READ)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        threading.Thread(target=self._run, name="penstock-spark-return", daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more; the thread ends."""
        self._closed = True
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # which wakes the thread
        except OSError:
            pass

    def _run(self) -> None:
        with self._listener, self._selector:
            while not self._closed:
                self._attend()
            for connection in tuple(self._strangers):
                self._turn_out(connection)

    def _attend(self) -> None:
        """Wait for somebody to come or to speak, for as long as nobody else is late."""
        for key, _ in self._selector.select(self._waiting_time()):
            if key.fileobj is self._listener:
                self._accept()
            elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._strangers:
                self._listen_to(key.fileobj)
        now = monotonic()
        for connection in [each for each, who in self._strangers.items() if who.deadline <= now]:
            self._turn_out(connection)
        if 0 < self._resumes <= now:
            self._resumes = 0.0
            self._selector.register(self._listener, EVENT_READ)

    def _waiting_time(self) -> float:
        if self._resumes:
            return PAUSE
        if not self._strangers:
            return LONGEST_WAIT
        earliest = next(iter(self._strangers.values())).deadline
        return min(max(earliest - monotonic(), 0.0), LONGEST_WAIT)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            if not self._closed:
                self._pause(error)
            return
        self._is_short = False
        connection.setblocking(False)
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
            except OSError:
                connection.close()  # he is gone already
                return
        if len(self._strangers) >= self._most:
            self._turn_out(next(iter(self._strangers)))
        stranger = PendingConnection(monotonic() + self._patience, is_heard=self._tls is None)
        self._strangers[connection] = stranger
        self._selector.register(connection, EVENT_READ)

    def _pause(self, error: OSError) -> None:
        """Accept nobody for a moment; the log has a line for each time that this begins."""
        if not self._is_short:
            self._is_short = True
            logger.warning("no batch can come back from Spark: %s; it is tried again", error)
        self._selector.unregister(self._listener)
        self._resumes = monotonic() + PAUSE

    def _listen_to(self, connection: socket.socket) -> None:
        stranger = self._strangers[connection]
        try:
            self._hear(connection, stranger)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            pass  # he is gone, or does not encrypt, or does not read what he is answered
        if not hmac.compare_digest(stranger.said, self._token):
            self._turn_out(connection)
            return
        self._forget(connection)
        connection.setblocking(True)
        try:
            self._admit(connection)
        except RuntimeError as error:  # no thread can be started
            logger.warning("a batch that came back from Spark has to wait: %s", error)
            connection.close()

    def _hear(self, connection: socket.socket, stranger: PendingConnection) -> None:
        """Return when he has said as much as the token has, or says no more."""
        if not stranger.is_heard:
            assert isinstance(connection, ssl.SSLSocket)
            connection.do_handshake()
            stranger.is_heard = True
        # Until there is no more: the selector does not know of what was decrypted already.
        while missing := len(self._token) - len(stranger.said):
            said = connection.recv(missing)
            if not said:
                return
            stranger.said += said

    def _turn_out(self, connection: socket.socket) -> None:
        self._forget(connection)
        connection.close()

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._strangers[connection]
