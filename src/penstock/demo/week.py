"""The data of the demo, and what is known of it."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from importlib.resources import files
from typing import Any, Final, NamedTuple

__all__ = ["Totals", "departures", "known_hours", "known_totals", "local_day", "weather"]

NEW_YORK: Final = timezone(timedelta(hours=-5))
"""In February."""
DAYS: Final = range(6, 13)


class Totals(NamedTuple):
    """Departures, and how many of them were cancelled, for each day of the week."""

    departures: dict[int, int]
    cancelled: dict[int, int]

    def __str__(self) -> str:
        scheduled, cancelled = sum(self.departures.values()), sum(self.cancelled.values())
        return f"{scheduled:,} departures, {cancelled:,} cancelled"


def departures() -> Iterator[dict[str, Any]]:
    """What was to depart, in the order of the schedule."""
    for row in table("departures.csv.gz"):
        delay = row["delay"]
        yield {**row, "number": int(row["number"]), "delay": float(delay) if delay else None}


def weather() -> Iterator[dict[str, Any]]:
    """What was measured, hour by hour."""
    for row in table("weather.csv.gz"):
        yield {
            "number": int(row["number"]),
            "hour": row["hour"],
            "origin": row["origin"],
            **{
                name: float(row[name]) if row[name] else None
                for name in ("temperature", "wind", "visibility")
            },
        }


def table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file beside this one."""
    packed = (files("penstock.demo") / "data" / name).read_bytes()
    yield from csv.DictReader(io.StringIO(gzip.decompress(packed).decode()))


def local_day(hour: datetime) -> int:
    """The day of February in New York."""
    return hour.astimezone(NEW_YORK).day


def known_totals() -> Totals:
    """The right answer, by plain counting."""
    scheduled: Counter[int] = Counter()
    cancelled: Counter[int] = Counter()
    for row in departures():
        day = local_day(datetime.fromisoformat(row["hour"]))
        if day in DAYS:
            scheduled[day] += 1
            cancelled[day] += row["delay"] is None
    return Totals(dict(scheduled), dict(cancelled))


def known_hours() -> set[tuple[str, datetime]]:
    """The airports and hours of the week in which anything was to depart."""
    hours = {(row["origin"], datetime.fromisoformat(row["hour"])) for row in departures()}
    return {(origin, hour) for origin, hour in hours if local_day(hour) in DAYS}
