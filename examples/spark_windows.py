"""From a live feed into windows of Spark, and back: delays per airport and hour.

Run it with ``python examples/spark_windows.py``. It needs ``penstock[spark]`` and Java, and starts
both ends of the feed by itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from penstock import Flow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "origin string, scheduled timestamp, delay double"
MIDNIGHT = datetime(2013, 1, 1)


async def airport(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Somebody else's server: a departure every ten minutes of its own, fast, time."""
    for number in range(30):
        departure = {
            "origin": ("EWR", "JFK")[number % 2],
            "scheduled": str(MIDNIGHT + timedelta(minutes=10 * number)),
            "delay": float(number),
        }
        writer.write(json.dumps(departure).encode() + b"\n")
        await writer.drain()
    writer.close()


async def departures(port: int) -> AsyncIterator[dict[str, Any]]:
    """The feed as an asynchronous iterable. A websocket would be read here."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async for line in reader:
            yield json.loads(line)
    finally:
        writer.close()


def parsed(departure: dict[str, Any]) -> dict[str, Any]:
    """With a time instead of a text."""
    return {**departure, "scheduled": datetime.fromisoformat(departure["scheduled"])}


def hourly(departures: DataFrame) -> DataFrame:
    """Spark's own windows. One is complete once a departure is an hour and a half after it."""
    from pyspark.sql import functions

    return (
        departures.withWatermark("scheduled", "90 minutes")
        .groupBy(functions.window("scheduled", "1 hour"), "origin")
        .agg(functions.count("*").alias("flights"), functions.avg("delay").alias("delay"))
        .select("window.start", "origin", "flights", "delay")
    )


async def main() -> None:
    server = await asyncio.start_server(airport, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    delays = (
        Flow.from_async_iterable(departures(port))
        .map(parsed)
        .on_spark(SCHEMA, name="delays")
        .frame(hourly)
    )
    async with server:
        async for row in delays.rows():
            print(f"{row.start:%H:%M} {row.origin} {row.flights} flights, {row.delay:.1f} late")


if __name__ == "__main__":
    asyncio.run(main())
