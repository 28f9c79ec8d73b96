"""The data that comes with the demo, against the package from which it was taken."""

from __future__ import annotations

import gzip
from importlib.resources import files
from pathlib import Path

import pytest

from penstock.demo.week import departures, known_totals, weather
from tools import week


def test_the_totals_are_those_that_the_story_tells() -> None:
    totals = known_totals()
    assert sum(totals.departures.values()) == 6098
    assert sum(totals.cancelled.values()) == 982
    assert (totals.cancelled[8], totals.departures[8]) == (472, 930)
    assert (totals.cancelled[9], totals.departures[9]) == (393, 684)


def test_every_departure_has_weather_and_a_number_of_its_own() -> None:
    measured = {(row["origin"], row["hour"]) for row in weather()}
    rows = list(departures())
    assert [row["number"] for row in rows] == list(range(len(rows)))
    assert {(row["origin"], row["hour"]) for row in rows} <= measured


def test_departures_are_in_the_order_of_the_schedule() -> None:
    times = [row["time"] for row in departures()]
    assert times == sorted(times)


def test_the_files_are_what_the_package_makes_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(week, "TARGET", tmp_path)
    week.main()
    for name in ("departures.csv.gz", "weather.csv.gz"):
        shipped = (files("penstock.demo") / "data" / name).read_bytes()
        assert gzip.decompress(shipped) == gzip.decompress((tmp_path / name).read_bytes())
