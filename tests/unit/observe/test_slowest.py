from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.observe.reading import Edge, Reading, Stage, State
from penstock.observe.slowest import Shares, slowest

READING = Reading(
    "running",
    (
        Stage("feed", "source", 9),
        Stage("spark", "spark", 8),
        Stage("phone", "sink", 7),
    ),
    (Edge("feed", "spark", 20, 9), Edge("spark", "phone", 9, 8, in_flight=1, capacity=1)),
)
NO_WAIT = Shares(0, 0)
WAIT = Shares(held_up=0.97, idle=0)


def test_the_slowest_stage_is_the_last_one_for_which_others_wait() -> None:
    verdict = slowest(READING, {("feed", "spark"): WAIT, ("spark", "phone"): WAIT})
    assert verdict.stage == "phone"
    assert verdict.sentence == (
        "'phone' is the slowest stage: it asks for 1 at a time; everything before it waits for "
        "it 97% of the time."
    )


def test_a_stage_that_asks_for_more_at_a_time_is_not_said_to_ask_for_one() -> None:
    verdict = slowest(READING, {("feed", "spark"): WAIT, ("spark", "phone"): NO_WAIT})
    assert verdict.stage == "spark"
    assert verdict.sentence == (
        "Spark is the slowest stage: everything before it waits for it 97% of the time."
    )


def test_a_source_sets_the_pace_if_all_wait_for_it() -> None:
    shares = {("feed", "spark"): Shares(0, 0.5), ("spark", "phone"): NO_WAIT}
    verdict = slowest(READING, shares)
    assert verdict.stage == "feed"
    assert verdict.sentence == (
        "'feed' sets the pace: everything behind it waits for it 50% of the time."
    )


def test_nobody_is_slow_if_nobody_waits_long() -> None:
    shares = {("feed", "spark"): Shares(0.1, 0.1), ("spark", "phone"): NO_WAIT}
    verdict = slowest(READING, shares)
    assert verdict.stage is None
    assert verdict.sentence == "Nobody has to wait long: all stages keep the same pace."


def test_trouble_comes_before_any_wait() -> None:
    feed = replace(READING.stages[0], trouble="connection refused")
    reading = replace(READING, stages=(feed, *READING.stages[1:]))
    verdict = slowest(reading, {("spark", "phone"): WAIT})
    assert verdict.stage == "feed"
    assert verdict.sentence == "Trouble at 'feed': connection refused"


def test_a_stage_that_is_not_there_yet_is_not_called_slow() -> None:
    verdict = slowest(replace(READING, state="starting"), {("feed", "spark"): WAIT})
    assert verdict.stage == "spark"
    assert verdict.sentence.startswith("Spark has not started yet:")


@pytest.mark.parametrize(
    ("state", "beginning"),
    [
        ("completed", "All of it came through"),
        ("stopped", "The pipeline was stopped"),
        ("failed", "The pipeline has failed"),
    ],
)
def test_a_pipeline_that_has_ended_has_no_slow_stage(state: State, beginning: str) -> None:
    verdict = slowest(replace(READING, state=state), {("spark", "phone"): WAIT})
    assert verdict.stage is None
    assert verdict.sentence.startswith(beginning)
