from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.observe.bottleneck import bottleneck_of
from penstock.observe.status import EdgeStatus, StageStatus, State, Status

STATUS = Status(
    "running",
    (
        StageStatus("feed", "source", 9),
        StageStatus("spark", "spark", 8),
        StageStatus("phone", "sink", 7),
    ),
    (
        EdgeStatus("feed", "spark", 20, 9),
        EdgeStatus("spark", "phone", 9, 8, in_flight=1, capacity=1),
    ),
)
WAIT = (0.97, 0.0)
"""The share of the time in which the giver waits, and that in which the taker does."""


def waiting(
    status: Status,
    *,
    into_spark: tuple[float, float] = (0.0, 0.0),
    into_sink: tuple[float, float] = (0.0, 0.0),
) -> Status:
    return replace(
        status,
        edges=tuple(
            replace(edge, held_up_share=held_up, idle_share=idle)
            for edge, (held_up, idle) in zip(status.edges, (into_spark, into_sink), strict=True)
        ),
    )


def test_the_slowest_stage_is_the_last_one_for_which_others_wait() -> None:
    verdict = bottleneck_of(waiting(STATUS, into_spark=WAIT, into_sink=WAIT))
    assert verdict.stage == "phone"
    assert verdict.sentence == (
        "'phone' is the slowest stage: it asks for 1 at a time; everything upstream waits for it "
        "97% of the time."
    )


def test_a_stage_that_asks_for_more_at_a_time_is_not_said_to_ask_for_one() -> None:
    verdict = bottleneck_of(waiting(STATUS, into_spark=WAIT))
    assert verdict.stage == "spark"
    assert verdict.sentence == (
        "Spark is the slowest stage: everything upstream waits for it 97% of the time."
    )


def test_a_source_sets_the_pace_if_all_wait_for_it() -> None:
    verdict = bottleneck_of(waiting(STATUS, into_spark=(0.0, 0.5)))
    assert verdict.stage == "feed"
    assert verdict.sentence == (
        "'feed' sets the pace: everything downstream waits for it 50% of the time."
    )


def test_nobody_is_slow_if_nobody_waits_long() -> None:
    verdict = bottleneck_of(waiting(STATUS, into_spark=(0.1, 0.1)))
    assert verdict.stage is None
    assert verdict.sentence == "Nobody has to wait long: all stages keep the same pace."


def test_trouble_comes_before_any_wait() -> None:
    feed = replace(STATUS.stages[0], trouble="connection refused")
    reading = replace(STATUS, stages=(feed, *STATUS.stages[1:]))
    verdict = bottleneck_of(waiting(reading, into_sink=WAIT))
    assert verdict.stage == "feed"
    assert verdict.sentence == "Trouble at 'feed': connection refused"


def test_a_stage_that_is_not_there_yet_is_not_called_slow() -> None:
    verdict = bottleneck_of(waiting(replace(STATUS, state="starting"), into_spark=WAIT))
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
    verdict = bottleneck_of(waiting(replace(STATUS, state=state), into_sink=WAIT))
    assert verdict.stage is None
    assert verdict.sentence.startswith(beginning)
