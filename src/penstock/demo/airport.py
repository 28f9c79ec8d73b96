"""The outside world of the demo: departures and weather by websocket, at many times their pace.

``python -m penstock.demo.airport --speed 7200`` prints its address and serves until it is ended.
A client that comes back names the last number that it got, and gets what follows. Both tables go
through the days together, and a line on standard input closes the airport: then both complete.
"""

from __future__ import annotations

import argparse
import sys
from asyncio import Condition
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeVar

from penstock.connectors import replay, serve_websocket
from penstock.connectors.shared.admission import Request
from penstock.demo import week
from penstock.flow import Flow
from penstock.pipeline.assembly import StopSignal

__all__ = [
    "Airport",
    "InStep",
    "main",
]

TABLES: Final[dict[str, Callable[[], Iterator[dict[str, Any]]]]] = {
    "/departures": week.departures,
    "/weather": week.weather,
}
LEAD: Final = timedelta(hours=1)
"""How far one table may be ahead of the other."""
T = TypeVar("T")
NOT_BEGUN: Final = datetime.min.replace(tzinfo=UTC)
ENDED: Final = datetime.max.replace(tzinfo=UTC)


class Airport:
    """What it gives to clients that connect."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._in_step = InStep(TABLES, LEAD)
        self._closing = StopSignal()

    def flow_for(self, request: Request) -> Flow[Any]:
        """What a connection gets: the rows of its table after the one that it names."""
        name = request.path
        if name not in TABLES:
            raise ValueError(f"there is no {name}, only {' and '.join(TABLES)}")
        first = 0 if request.after is None else int(request.after) + 1
        rows = islice(TABLES[name](), first, None)
        flow = Flow.from_async_iterable(self._in_step.stream(name, rows, time_of), prefetch=1)
        return replay(flow, self._speed, time_of).take_until(self._closing.flow)

    def close(self) -> None:
        """Complete the streams of all clients."""
        self._closing.now()


class InStep:
    """Streams that go through their time together, each at most ``lead`` ahead of the others.

    So they also end together, whichever reader is slow, and whenever one comes back. None
    begins before all have a reader; one whose reader is gone keeps its place, and the others wait;
    one that has ended holds nobody back.

    All readers are on one asyncio loop.
    """

    def __init__(self, names: Iterable[str], lead: timedelta) -> None:
        self._times = dict.fromkeys(names, NOT_BEGUN)
        self._lead = lead
        self._moved = Condition()

    async def stream(
        self, name: str, rows: Iterable[T], time_of: Callable[[T], datetime]
    ) -> AsyncGenerator[T, None]:
        """``rows`` as the stream ``name``, which they take over, wherever it was."""
        for row in rows:
            await self._be_at(name, time_of(row))
            yield row
        await self._be_at(name, ENDED)

    async def _be_at(self, name: str, time: datetime) -> None:
        """Move on to ``time``, and wait until the others are near."""
        async with self._moved:
            self._times[name] = time
            self._moved.notify_all()
            if time is not ENDED:
                await self._moved.wait_for(lambda: time - min(self._times.values()) <= self._lead)


def time_of(row: dict[str, Any]) -> datetime:
    """When it happened."""
    return datetime.fromisoformat(row.get("time") or row["hour"])


def main() -> None:
    """Serve until standard input ends, as it does when the process that started this is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--speed", type=float, default=7200.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    airport = Airport(options.speed)
    with serve_websocket(airport.flow_for, port=options.port) as server:
        print(server.address, flush=True)
        for _ in sys.stdin:
            airport.close()


if __name__ == "__main__":
    main()
