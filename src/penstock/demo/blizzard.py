"""The pipeline of the demo: delays and cancellations per airport and hour, with the weather."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.connectors import from_websocket
from penstock.demo.board import Board
from penstock.flow import Flow
from penstock.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark import SparkFlow

__all__ = ["Settings", "pipeline"]

DEPARTURE = "number long, hour timestamp, origin string, flight string, dest string, delay double"
MEASUREMENT = (
    "number long, hour timestamp, origin string, temperature double, wind double, visibility double"
)


@dataclass(frozen=True)
class Settings:
    """What can be set.

    ``airport``     where departures and weather come from
    ``board``       the file that the board keeps
    ``phone_rate``  how many rows a second the phone takes
    ``held``        how many departures may wait for Spark
    """

    airport: str = "ws://127.0.0.1:8765"
    board: Path = Path("board.sqlite")
    phone_rate: float = 50.0
    held: int = 512


def number(element: Any) -> int:
    """The position of an element: the airport goes on after it."""
    position: int = element["number"]
    return position


def departures(settings: Settings) -> Flow[Any]:
    """What is to depart."""
    return from_websocket(f"{settings.airport}/departures", position_of=number).map(with_time)


def weather(settings: Settings) -> Flow[Any]:
    """What is measured."""
    return from_websocket(f"{settings.airport}/weather", position_of=number).map(with_time)


def with_time(element: dict[str, Any]) -> dict[str, Any]:
    """The hour as a time, which JSON does not have; the minute only sets the pace."""
    element.pop("time", None)
    return {**element, "hour": datetime.fromisoformat(element["hour"])}


def delays(departures: Flow[Any], weather: Flow[Any], settings: Settings) -> SparkFlow:
    """Both on Spark, joined and counted.

    An hour is complete when both have passed it. Both have days more than the week: after a restart
    Spark waits until each has given a row again.
    """
    scheduled = departures.on_spark(DEPARTURE, name="blizzard", max_rows=settings.held)
    measured = weather.on_spark(MEASUREMENT, name="blizzard", max_rows=settings.held // 8)
    return (
        scheduled.frame(with_watermark)
        .join(measured.frame(with_watermark), ["origin", "hour"], "left")
        .frame(per_airport_and_hour)
    )


def with_watermark(frame: DataFrame) -> DataFrame:
    """An hour counts as complete once rows two hours later have come."""
    return frame.drop("number").withWatermark("hour", "2 hours")


def per_airport_and_hour(frame: DataFrame) -> DataFrame:
    """One row for each airport and hour, once it is complete."""
    from pyspark.sql import functions as f

    return frame.groupBy("origin", "hour").agg(
        f.count("*").alias("departures"),
        f.count_if(f.isnull("delay")).alias("cancelled"),
        f.round(f.avg("delay"), 1).alias("delay"),
        f.first("wind", ignorenulls=True).alias("wind"),
    )


def board(settings: Settings) -> Board:
    """What the airport shows."""
    return Board(settings.board)


def phone(settings: Settings) -> Callable[[Any], None]:
    """A phone whose owner reads the rows one by one."""

    def read(row: Any) -> None:
        time.sleep(1 / settings.phone_rate)

    return read


pipeline = Pipeline(
    "blizzard",
    sources={"departures": departures, "weather": weather},
    transform=delays,
    sinks={"board": board, "phone": phone},
    settings=Settings,
)
