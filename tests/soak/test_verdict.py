"""What grows is seen, and what only goes up and down with each kill is not taken for growth."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.soak.picture import POINTS, picture_of
from tests.soak.verdict import (
    GROWING,
    OUTCOME,
    SAMPLES,
    WITHIN_A_LIFE,
    Sample,
    growths,
    verdict_of,
)

LIFE = 600
LENGTH = 7_200


def sample(seconds: int) -> Sample:
    """A pipeline that takes a minute to start after each kill, and then has what it needs."""
    starts = seconds % LIFE < 60
    watched = {name: 10.0 if starts else 200.0 * slack for name, (_, slack) in GROWING.items()}
    latency = {"p50": None, "p99": None} if starts else {"p50": 0.4, "p99": 1.2}
    rates = {
        "kills": float(seconds // LIFE),
        "taken": seconds * 50.0,
        "rate_found": 0.0 if starts else 50.0,
    }
    processors = {"program_cpu": 0.1, "jvm_cpu": 0.2, "workers_cpu": None}
    return {"seconds": float(seconds), **watched, **latency, **rates, **processors}


def samples(change: Callable[[Sample], None] = lambda each: None) -> list[Sample]:
    made = [sample(seconds) for seconds in range(5, LENGTH, 5)]
    for each in made:
        change(each)
    return made


def test_nothing_grows_in_a_pipeline_that_is_killed_again_and_again() -> None:
    assert [str(each) for each in growths(samples()) if not each.is_none] == []
    assert len(growths(samples())) == len(GROWING) + len(WITHIN_A_LIFE)


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_by_a_third_in_two_hours_is_seen(name: str) -> None:
    def grow(each: Sample) -> None:
        each[name] = (each[name] or 0.0) * (1 + (each["seconds"] or 0.0) / LENGTH / 3)

    grown = [each.what for each in growths(samples(grow)) if not each.is_none]
    assert grown == [GROWING[name][0]]


@pytest.mark.parametrize("name", WITHIN_A_LIFE)
def test_what_grows_by_a_third_from_each_start_to_the_next_kill_is_seen(name: str) -> None:
    def grow(each: Sample) -> None:
        each[name] = (each[name] or 0.0) * (1 + (each["seconds"] or 0.0) % LIFE / LIFE / 3)

    grown = [each.what for each in growths(samples(grow)) if not each.is_none]
    assert grown == [f"{GROWING[name][0]}, within a life"]


def test_a_soak_of_some_minutes_says_nothing_about_growth() -> None:
    assert growths(samples()[:100]) == []


def write_soak(folder: Path, **changes: object) -> None:
    """What a soak writes."""
    made = samples()
    with (folder / SAMPLES).open("w", newline="") as file:
        writer = csv.DictWriter(file, made[0].keys())
        writer.writeheader()
        writer.writerows(made)
    kills = [{"at": at, "survivors": 0, "recovered": 61.0, "caught_up": 65.0} for at in (600, 1200)]
    counts = dict.fromkeys(("missing", "doubled", "beyond", "wrong", "survivors"), 0)
    course = {"began": 0, "seconds": LENGTH, "rate": 50, "expected": 360_000, "found": 360_000}
    outcome = {**counts, **course, "kills": kills, "failures": [], **changes}
    (folder / OUTCOME).write_text(json.dumps(outcome))


def test_the_verdict_says_what_was_found_and_what_is_wrong(tmp_path: Path) -> None:
    write_soak(tmp_path)
    sound, lines = verdict_of(tmp_path)
    assert sound
    assert lines[:2] == [
        "2.00 h at 50 rows/s, 2 kills",
        "expected 360,000 rows, found 360,000: missing 0, doubled 0, wrong 0",
    ]
    assert "processors: median of 0.30" in lines
    assert lines[-1] == "ok"
    write_soak(tmp_path, doubled=1)
    sound, lines = verdict_of(tmp_path)
    assert not sound
    assert lines[-2:] == ["FAILED doubled: 1", "FAILED"]


def test_the_picture_has_each_line_within_its_panel_and_each_kill(tmp_path: Path) -> None:
    write_soak(tmp_path)
    picture = ElementTree.fromstring(picture_of(tmp_path))
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    lines = [each for each in picture.iter() if each.tag.endswith("polyline")]
    assert len(lines) > 15
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert len(points) <= POINTS
        assert all(0 < x < width and 0 < y < height for x, y in points)
    kills = [each for each in picture.iter() if each.attrib.get("class") == "kill"]
    assert len(kills) == 2 * 7
