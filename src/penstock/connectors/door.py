"""The socket at which a server listens: how many it lets in, and how long they may be silent."""

from __future__ import annotations

import errno
import logging
import socket
from asyncio import AbstractEventLoop, TimerHandle, get_running_loop
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet, WeakValueDictionary

from penstock.connectors.strangers import Seldom

__all__ = ["HANDSHAKE", "Door", "most_connections", "quiet_about_descriptors"]

HANDSHAKE: Final = 10.0
"""Seconds that whoever connects has to say what it wants, and to prove that it may."""

SPARE: Final = 64
"""So many connections beside those that are served are held, so that each can be told why not."""

TURN: Final = 100
"""So many are turned away in a row before others have a turn on the loop."""

MOST: Final = 1000
OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

logger = logging.getLogger(__name__)


class Guest(socket.socket):
    """A connection that was let in, until it is closed."""

    peer: Any
    leaves: Callable[[Guest], object]
    timer: TimerHandle | None = None

    def close(self) -> None:
        """Make room for another one."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        super().close()
        self.leaves(self)

    def turn_out(self) -> None:
        """End the connection; whoever reads from it sees that, and closes it."""
        try:
            self.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is over already


class Door(socket.socket):
    """A socket that listens, and lets in no more than ``most`` to be served.

    asyncio calls ``accept``, on the thread of the loop, as all else is called. So connections are
    counted from their first moment, before they are encrypted and before anything is read.
    """

    def __init__(self, connector: str, listening: socket.socket, most: int) -> None:
        super().__init__(
            listening.family, listening.type, listening.proto, fileno=listening.detach()
        )
        self._connector = connector
        self._most = most
        self._guests: WeakValueDictionary[Any, Guest] = WeakValueDictionary()
        self._served: WeakSet[Guest] = WeakSet()
        self._is_short = False
        self._seldom = Seldom(lines=1)

    def accept(self) -> tuple[socket.socket, Any]:
        """Whoever comes next; those beyond all bounds are cut off."""
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
            if len(self._guests) < self._most + SPARE:
                return self._let_in(connection, peer), peer
            connection.close()
            self._say_that_it_is_full()
        raise BlockingIOError

    def serve(self, peer: tuple[str, int] | None) -> bool:
        """Whether ``peer``, which has proved that it may, is served: no if there is no room."""
        guest = self._guests.get(peer)
        if guest is None:  # it is gone, or this loop does not ask us whom to accept
            return True
        if len(self._served) >= self._most:
            self._say_that_it_is_full()
            return False
        self._served.add(guest)
        if guest.timer is not None:
            guest.timer.cancel()
            guest.timer = None
        return True

    def turn_out_who_is_not_served(self) -> None:
        """Else whoever says nothing would hold up the end of the server."""
        for guest in tuple(self._guests.values()):
            if guest not in self._served:
                guest.turn_out()

    def _let_in(self, connection: socket.socket, peer: Any) -> Guest:
        guest = Guest(
            connection.family, connection.type, connection.proto, fileno=connection.detach()
        )
        guest.peer, guest.leaves = peer[:2], self._left
        guest.timer = get_running_loop().call_later(HANDSHAKE, guest.turn_out)
        self._guests[guest.peer] = guest
        return guest

    def _left(self, guest: Guest) -> None:
        self._served.discard(guest)
        if self._guests.get(guest.peer) is guest:
            del self._guests[guest.peer]

    def _say_that_it_is_full(self) -> None:
        if self._seldom.passes():
            logger.warning(
                "%s: %d connections are open, which max_connections allows; others are refused%s",
                self._connector,
                self._most,
                self._seldom.left_out(),
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
    """Let ``loop`` say in one line, and seldom, that there are no descriptors for newcomers."""
    seldom = Seldom(lines=1)

    def handle(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF_RESOURCES:
            loop.default_exception_handler(context)
        elif seldom.passes():
            logger.error(
                "%s: nobody else can connect: %s; it is tried again each second%s",
                connector,
                error.strerror,
                seldom.left_out(),
            )

    loop.set_exception_handler(handle)
