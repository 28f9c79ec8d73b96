from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.observe import Ledger
from penstock.observe.situation import situation_of
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
    situation = situation_of(waiting(STATUS, into_spark=WAIT, into_sink=WAIT))
    assert situation.stage == "phone"
    assert situation.sentence == (
        "'phone' is the slowest stage: it asks for 1 at a time; everything upstream waits for it "
        "97% of the time."
    )


def test_a_stage_that_asks_for_more_at_a_time_is_not_said_to_ask_for_one() -> None:
    situation = situation_of(waiting(STATUS, into_spark=WAIT))
    assert situation.stage == "spark"
    assert situation.sentence == (
        "Spark is the slowest stage: everything upstream waits for it 97% of the time."
    )


def test_a_source_sets_the_pace_if_all_wait_for_it() -> None:
    situation = situation_of(waiting(STATUS, into_spark=(0.0, 0.5)))
    assert (situation.name, situation.stage) == ("slow source", None)
    assert situation.sentence == (
        "'feed' sets the pace: everything downstream waits for it 50% of the time."
    )


def test_nobody_is_slow_if_nobody_waits_long() -> None:
    situation = situation_of(waiting(STATUS, into_spark=(0.1, 0.1)))
    assert situation.stage is None
    assert situation.sentence == "Nobody has to wait long: all stages keep the same pace."


def test_trouble_comes_before_any_wait() -> None:
    feed = replace(STATUS.stages[0], trouble="connection refused")
    reading = replace(STATUS, stages=(feed, *STATUS.stages[1:]))
    situation = situation_of(waiting(reading, into_sink=WAIT))
    assert situation.stage == "feed"
    assert situation.sentence == "Trouble at 'feed': connection refused"


def test_a_stage_that_is_not_there_yet_is_not_called_slow() -> None:
    situation = situation_of(waiting(replace(STATUS, state="starting"), into_spark=WAIT))
    assert situation.stage is None
    assert situation.sentence.startswith("Spark has not done its first batch yet:")


def test_a_source_that_has_sent_nothing_for_long_is_stalled() -> None:
    feed = replace(STATUS.stages[0], still_for=74)
    reading = replace(STATUS, stages=(feed, *STATUS.stages[1:]))
    situation = situation_of(waiting(reading, into_spark=(0.0, 0.5)))
    assert (situation.name, situation.stage) == ("stalled source", None)
    assert situation.sentence == (
        "'feed' has sent nothing for 00:01:14: everything downstream waits for it."
    )


def test_who_waits_for_long_is_told_whoever_is_held_up() -> None:
    lagging = replace(STATUS, lag=74.0)
    situation = situation_of(lagging)
    assert (situation.name, situation.stage) == ("slow Spark", "spark")
    assert situation.sentence == ("Spark does not keep up. The oldest row has waited for 00:01:14.")
    situation = situation_of(waiting(lagging, into_sink=WAIT))
    assert (situation.name, situation.stage) == ("slow sink", "phone")
    assert situation.sentence.endswith(" The oldest row has waited for 00:01:14.")


def test_one_that_drains_says_what_is_left_and_for_whom_it_waits() -> None:
    draining = replace(STATUS, state="draining", ledger=Ledger(in_flight=1_204))
    assert situation_of(draining).sentence == (
        "Draining: nothing more is taken, and 1,204 are still on their way."
    )
    situation = situation_of(waiting(draining, into_sink=WAIT))
    assert (situation.name, situation.stage) == ("draining", "phone")
    assert situation.sentence.endswith("on their way. 'phone' is the slowest stage.")


def test_a_run_that_only_found_all_done_says_so() -> None:
    stages = [replace(each, passed=8 if each.kind == "spark" else 0) for each in STATUS.stages]
    again = replace(
        STATUS, state="completed", stages=tuple(stages), ledger=Ledger(taken=8, restarts=1)
    )
    assert situation_of(again).name == "nothing left to do"
    assert situation_of(replace(again, ledger=Ledger())).name == "completed"
    assert situation_of(replace(again, stages=STATUS.stages)).name == "completed"


@pytest.mark.parametrize(
    ("state", "beginning"),
    [
        ("completed", "All of it came through"),
        ("stopped", "The pipeline was stopped"),
        ("failed", "The pipeline has failed"),
    ],
)
def test_a_pipeline_that_has_ended_has_no_slow_stage(state: State, beginning: str) -> None:
    situation = situation_of(waiting(replace(STATUS, state=state), into_sink=WAIT))
    assert situation.stage is None
    assert situation.sentence.startswith(beginning)


@pytest.mark.parametrize(
    ("checkpoint", "goes_on"), [("", False), ("none", False), ("new", True), ("7 ok", True)]
)
def test_what_was_stopped_goes_on_only_from_a_checkpoint(checkpoint: str, goes_on: bool) -> None:
    stopped = situation_of(replace(STATUS, state="stopped", checkpoint=checkpoint))
    assert ("goes on from its checkpoint" in stopped.sentence) == goes_on


def test_nobody_is_called_slow_by_the_first_looks() -> None:
    begun = waiting(replace(STATUS, state_for=0.5), into_sink=(1.0, 0.0))
    situation = situation_of(begun)
    assert (situation.name, situation.stage) == ("just begun", None)
    assert situation.sentence.startswith("It has just begun to run")
    assert situation_of(replace(begun, state_for=2.0)).name == "slow sink"


def test_rows_that_came_while_spark_started_are_nobodys_fault() -> None:
    begun = replace(STATUS, state_for=4.0, lag=23.0)
    situation = situation_of(begun)
    assert (situation.name, situation.stage) == ("catching up", None)
    assert situation.sentence == (
        "Spark catches up with what came while it started: the oldest row has waited for 23 s."
    )
    situation = situation_of(waiting(begun, into_sink=WAIT))
    assert (situation.name, situation.stage) == ("slow sink", "phone")
    assert "oldest" not in situation.sentence
    assert situation_of(replace(begun, state_for=24.0)).name == "slow Spark"
