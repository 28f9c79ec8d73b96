"""What a crowd does to the others at a server: ``python -m tests.attacks.load``.

A thousand clients that are idle, two hundred that never read, and a hundred that hang up within a
message, at a server of each kind; ten clients that behave are served meanwhile. It prints their
rate and the memory of the server, before the crowd and with it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from tests.attacks.crowd import Crowd, Served, served
from tests.attacks.crowded_server import CrowdedServer, Kind, crowded_server

__all__ = ["Load", "load"]

KINDS: Final[tuple[Kind, ...]] = ("websocket", "server-sent events")
CROWD: Final = Crowd(idle=1000, never_read=200, hang_up=100)
OTHERS: Final = 10
COUNT: Final = 1000
EVERY: Final = 0.005
PAUSE: Final = 0.2
BUSY: Final = 0.3
"""A server that computes for a smaller part of the time has only its others to serve."""

BEHAVED: Final = Crowd(0, 0, 0)


class Load(NamedTuple):
    """The figures of one server, without a crowd or with one.

    ``rate``         elements each second, for each of the others
    ``megabytes``    what the server held when the others had been served
    ``descriptors``  the connections and files that it had open
    """

    rate: float
    megabytes: float
    descriptors: int


async def load(server: CrowdedServer, crowd: Crowd, others: int, count: int, every: float) -> Load:
    """Serve ``others`` while the crowd is there."""
    async with AsyncExitStack() as here:
        await crowd.gather(server.address, here)
        await quiet(server)
        results = await asyncio.gather(
            *(served(server.address, count, every) for _ in range(others)),
            Crowd(0, 0, crowd.hang_up).gather(server.address, here),
        )
        seconds = [each.seconds for each in results if isinstance(each, Served)]
        return Load(count / max(seconds), server.megabytes, server.descriptors)


async def quiet(server: CrowdedServer) -> None:
    """Wait until the server has filled all that lies between it and those who do not read."""
    before = 0.0
    while server.processor_seconds - before > BUSY * PAUSE:
        before = server.processor_seconds
        await asyncio.to_thread(threading.Event().wait, PAUSE)


def say(line: str) -> None:
    """Print it now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Print a table; 1 if the others were slower by more than a tenth."""
    say(f"{OTHERS} others, {COUNT} elements each, one every {EVERY * 1000:g} ms; {CROWD}")
    say(f"{'':20}{'elements/s':>16}{'with crowd':>12}{'memory':>14}{'with crowd':>12}{'open':>8}")
    slow = 0
    for kind in KINDS:
        with crowded_server(kind) as server:
            before = asyncio.run(load(server, BEHAVED, OTHERS, COUNT, EVERY))
            during = asyncio.run(load(server, CROWD, OTHERS, COUNT, EVERY))
        slow |= during.rate < 0.9 * before.rate
        say(
            f"{kind:20}{before.rate:>16.1f}{during.rate:>12.1f}{before.megabytes:>11.0f} MB"
            f"{during.megabytes:>9.0f} MB{during.descriptors:>8}"
        )
    return slow


if __name__ == "__main__":
    sys.exit(main())
