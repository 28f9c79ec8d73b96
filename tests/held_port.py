"""A port at which servers can come and go."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["held_port"]


@contextmanager
def held_port() -> Iterator[int]:
    """A port of 127.0.0.1 that the system gives to nobody else, also while no server listens there.

    It is bound and not listened to: a server that names it can bind it as well, again and again,
    and in between connecting is refused.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
