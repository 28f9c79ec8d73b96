"""The live source of the soak: a server on loopback whose rows come by the clock.

``python -m tests.soak.feed FILE --rate N --rows N`` writes its port into the file. Row ``n`` is
made ``n / rate`` seconds after the start, whether or not anybody reads. As a broker does, the
server gives the rows after any position again, so a reader that was killed goes on where it was.

A reader sends the last number that it has, or -1, and then how many rows it wants, again and again.
Each answer is a count, so many numbers, and when each row was made; the count ``END`` says that
there are no more. Who sends ``HOW_MANY`` instead is told how many rows were taken.
"""

from __future__ import annotations

import argparse
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Final

import numpy
from numpy.typing import NDArray

__all__ = [
    "ASKED",
    "COUNT",
    "END",
    "HOW_MANY",
    "LOOPBACK",
    "POSITION",
    "ROW_SIZE",
    "Clockwork",
    "received",
]

LOOPBACK: Final = "127.0.0.1"
POSITION: Final = struct.Struct("<q")
ASKED: Final = struct.Struct("<I")
COUNT: Final = struct.Struct("<I")
ROW_SIZE: Final = 16
END: Final = 0xFFFFFFFF
HOW_MANY: Final = -2
TICK: Final = 0.02
"""Rows come in groups of so many seconds, else each answer would have a handful."""


class Clockwork:
    """Which rows there are at a moment, and when each was made, in microseconds since 1970."""

    def __init__(self, began: int, rate: int, rows: int) -> None:
        self.began = began
        self.rate = rate
        self.rows = rows

    def made_at(self, numbers: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """When these rows were made."""
        return self.began + numbers * 1_000_000 // self.rate

    def made_by(self, moment: float) -> int:
        """How many rows there are at that moment, in seconds since 1970."""
        ticks = int((moment - self.began / 1e6) / TICK)
        return max(0, min(self.rows, int(ticks * TICK * self.rate)))


class Feed:
    """Serves each connection on a thread of its own."""

    def __init__(self, clockwork: Clockwork) -> None:
        self._clockwork = clockwork
        self._pause = threading.Event()
        self._taken = 0

    def serve(self, listener: socket.socket) -> None:
        """Accept readers for ever."""
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._answer(connection)
            except (ConnectionError, EOFError):  # a reader that was killed
                return

    def _answer(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        (position,) = POSITION.unpack(received(connection, POSITION.size))
        if position == HOW_MANY:
            connection.sendall(POSITION.pack(self._taken))
            return
        following = position + 1
        while True:
            (asked,) = ASKED.unpack(received(connection, ASKED.size))
            if following >= self._clockwork.rows:
                connection.sendall(COUNT.pack(END))
                return
            end = min(self._wait_for(following), following + asked)
            numbers = numpy.arange(following, end, dtype=numpy.int64)
            rows = numpy.stack((numbers, self._clockwork.made_at(numbers)))
            connection.sendall(COUNT.pack(len(numbers)) + rows.astype("<i8").tobytes())
            following = end
            self._taken = max(self._taken, end)

    def _wait_for(self, number: int) -> int:
        """How many rows there are as soon as there is this one; a tick later, there may be none."""
        made = self._clockwork.made_by(time.time())
        if made <= number:
            self._pause.wait(TICK)
            made = self._clockwork.made_by(time.time())
        return max(made, number)


def received(connection: socket.socket, size: int) -> bytes:
    """So many bytes; ``EOFError`` if the other end has gone."""
    parts = []
    while size:
        part = connection.recv(size)
        if not part:
            raise EOFError("the other end has gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.feed", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True)
    given = parser.parse_args()
    with socket.create_server((LOOPBACK, 0)) as listener:
        began = time.time_ns() // 1_000
        unfinished = given.file.with_suffix(".new")
        unfinished.write_text(f"{listener.getsockname()[1]} {began}")
        unfinished.rename(given.file)
        Feed(Clockwork(began, given.rate, given.rows)).serve(listener)
    return 0


if __name__ == "__main__":
    sys.exit(main())
