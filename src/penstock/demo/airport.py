"""The outside world of the demo: departures and weather by websocket, at many times their pace.

``python -m penstock.demo.airport --speed 7200`` prints its address and serves until it is ended.
Whoever was away names the last number that came, and gets what stands behind it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from penstock.connectors import replay, serve_websocket
from penstock.connectors.serving import Request
from penstock.demo import week
from penstock.flow import Flow

__all__ = ["main"]

TABLES: Final[dict[str, Callable[[], Iterator[dict[str, Any]]]]] = {
    "/departures": week.departures,
    "/weather": week.weather,
}


def flow_for(request: Request, speed: float) -> Flow[Any]:
    """What a connection gets: the rows of its table behind the one that it names."""
    if request.path not in TABLES:
        raise ValueError(f"there is no {request.path}, only {' and '.join(TABLES)}")
    first = 0 if request.after is None else int(request.after) + 1
    rows = TABLES[request.path]
    flow = Flow.defer(lambda: Flow.from_iterable(islice(rows(), first, None)))
    return replay(flow, speed, time_of)


def time_of(row: dict[str, Any]) -> datetime:
    """When it happened."""
    return datetime.fromisoformat(row.get("time") or row["hour"])


def main() -> None:
    """Serve until standard input ends, which it does when whoever started this is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--speed", type=float, default=7200.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    serve = partial(flow_for, speed=options.speed)
    with serve_websocket(serve, port=options.port) as server:
        print(server.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
