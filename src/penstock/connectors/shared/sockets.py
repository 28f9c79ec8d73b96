"""Sockets: what the system is to do with connections, and how many a server lets in."""

from __future__ import annotations

import errno
import logging
import socket
from asyncio import AbstractEventLoop, TimerHandle, get_running_loop
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet, WeakValueDictionary

from penstock.connectors.shared.connection_errors import RateLimitedLog

__all__ = [
    "BOUNDED_SENDING",
    "HANDSHAKE",
    "SMALL_WINDOW",
    "WATCHED",
    "ListeningSocket",
    "most_connections",
    "quiet_about_descriptors",
]

SMALL_WINDOW: Final = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)]
"""Receive little ahead of what is read, so that the sender has to wait."""

BOUNDED_SENDING: Final = [(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 * 1024)]
"""Keep little for a client that does not read; the system would keep megabytes for each."""

PROBES: Final = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}

# By the system, and not by messages: those are not read while nothing is wanted.
WATCHED: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in PROBES.items()
        if hasattr(socket, name)
    ),
]
"""Notice within a minute when the other end is gone without a word."""


HANDSHAKE: Final = 10.0
"""Seconds that a client has to say what it wants, and to prove that it may."""

SPARE: Final = 64
"""So many connections besides those that are served are held, so that each can be told why not."""

TURN: Final = 100
"""So many are turned away in a row before others have a turn on the loop."""

MOST: Final = 1000
OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

logger = logging.getLogger(__name__)


class AcceptedConnection(socket.socket):
    """A connection that was let in, until it is closed, which happens on the event loop."""

    peer: Any
    on_close: Callable[[AcceptedConnection], object]
    timer: TimerHandle | None = None

    def close(self) -> None:
        """Make room for another one."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        super().close()
        self.on_close(self)

    def disconnect(self) -> None:
        """End the connection; the protocol that reads from it sees that, and closes it."""
        try:
            self.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is over already


class ListeningSocket(socket.socket):
    """A socket that listens, and lets in no more than ``most`` to be served.

    asyncio calls ``accept``, on the thread of the loop, where all its methods are called. So
    connections are counted from the start, before they are encrypted and before anything is read.
    """

    def __init__(self, connector: str, listening: socket.socket, most: int) -> None:
        super().__init__(
            listening.family, listening.type, listening.proto, fileno=listening.detach()
        )
        self._connector = connector
        self._most = most
        self._accepted: WeakValueDictionary[Any, AcceptedConnection] = WeakValueDictionary()
        self._served: WeakSet[AcceptedConnection] = WeakSet()
        self._is_short = False
        self._rate_limit = RateLimitedLog(lines=1)

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; those beyond all bounds are cut off."""
        if self._is_short:
            # asyncio asks once more although it will wait for a second now.
            self._is_short = False
            raise BlockingIOError
        for _ in range(TURN):
            try:
                connection, peer = super().accept()
            except OSError as error:
                self._is_short = error.errno in OUT_OF_RESOURCES
                raise
            if len(self._accepted) < self._most + SPARE:
                return self._let_in(connection, peer), peer
            connection.close()
            self._say_that_it_is_full()
        raise BlockingIOError

    def serve(self, peer: tuple[str, int] | None) -> bool:
        """Whether ``peer``, which has proved that it may, is served: no if there is no room."""
        accepted = self._accepted.get(peer)
        if accepted is None:  # it is gone, or this loop does not ask us whom to accept
            return True
        if len(self._served) >= self._most:
            self._say_that_it_is_full()
            return False
        self._served.add(accepted)
        if accepted.timer is not None:
            accepted.timer.cancel()
            accepted.timer = None
        return True

    def close_unserved(self) -> None:
        """End connections that wait for an answer, so that silent ones do not delay the end."""
        for accepted in tuple(self._accepted.values()):
            if accepted not in self._served:
                accepted.disconnect()

    def _let_in(self, connection: socket.socket, peer: Any) -> AcceptedConnection:
        accepted = AcceptedConnection(
            connection.family, connection.type, connection.proto, fileno=connection.detach()
        )
        accepted.peer, accepted.on_close = peer[:2], self._forget
        accepted.timer = get_running_loop().call_later(HANDSHAKE, accepted.disconnect)
        self._accepted[accepted.peer] = accepted
        return accepted

    def _forget(self, accepted: AcceptedConnection) -> None:
        self._served.discard(accepted)
        if self._accepted.get(accepted.peer) is accepted:
            del self._accepted[accepted.peer]

    def _say_that_it_is_full(self) -> None:
        if self._rate_limit.passes():
            logger.warning(
                "%s: %d connections are open, which max_connections allows; others are refused%s",
                self._connector,
                self._most,
                self._rate_limit.left_out(),
            )


def most_connections(limit: int | None = None) -> int:
    """How many connections a server holds unless the user says so.

    No more than half of the files that this program may open, so that a server that is full leaves
    enough for all else.
    """
    allowed = descriptors() if limit is None else limit
    return max(1, min(MOST, allowed // 2))


def descriptors() -> int:
    """How many files this program may open."""
    try:
        import resource
    except ImportError:  # Windows, where a process may have many
        return 2 * MOST
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2 * MOST if soft == resource.RLIM_INFINITY else soft


def quiet_about_descriptors(connector: str, loop: AbstractEventLoop) -> None:
    """Let ``loop`` log in one line, and seldom, that it has no descriptors for new connections."""
    rate_limit = RateLimitedLog(lines=1)

    def handle(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF_RESOURCES:
            loop.default_exception_handler(context)
        elif rate_limit.passes():
            logger.error(
                "%s: nobody else can connect: %s; it is tried again each second%s",
                connector,
                error.strerror,
                rate_limit.left_out(),
            )

    loop.set_exception_handler(handle)
