"""What the system is to do with the connections of sources and servers."""

from __future__ import annotations

import socket
from typing import Final

__all__ = ["BOUNDED_SENDING", "SMALL_WINDOW", "WATCHED"]

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
