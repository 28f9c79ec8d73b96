"""The history of a pipeline are kept over its restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.pipeline.history import MOST_LINES, Loss, RunHistory, SinkHistory, SparkHistory
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.egress.batch_counts import LateRows


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    made = Checkpoint(tmp_path / "checkpoint")
    made.claim("history", ["number long"])
    return made


def texts(history: RunHistory) -> list[str]:
    return [line.text for line in history.lines]


def test_before_the_first_run_there_are_none(checkpoint: Checkpoint) -> None:
    assert RunHistory.opened(checkpoint) is None


def test_what_is_kept_is_found_again(checkpoint: Checkpoint) -> None:
    history = RunHistory(
        restarts=2,
        replayed=7,
        begun=5,
        batch=4,
        sinks={"phone": SinkHistory(9, 2, possibly_duplicated=3)},
        spark=SparkHistory(
            4, 6, {"join": LateRows("join", 3), "aggregation": LateRows("a", 1, False)}
        ),
        at_least=("late",),
        unreplayed=("departures",),
    ).noted("something happened")
    history = history.missed(Loss(2, "journal", "left departures and never reached journal"))
    history.keep(checkpoint)
    assert RunHistory.opened(checkpoint) == history


def test_a_restart_notes_the_rows_that_are_replayed() -> None:
    history = RunHistory().restarted([(1_204, 1_260), (5, 5), (0, 2)])
    assert (history.restarts, history.replayed) == (1, 58)
    assert texts(history) == ["restarted; replayed 1,204..1,260, 0..2 (58)"]


def test_a_restart_without_an_unfinished_batch_replays_nothing() -> None:
    history = RunHistory(restarts=1, replayed=3).restarted([(5, 5)])
    assert (history.restarts, history.replayed) == (2, 3)
    assert texts(history) == ["restarted; nothing to replay"]


def test_the_history_of_an_earlier_version_is_read_and_what_it_did_not_keep_is_not_taken_for_0(
    checkpoint: Checkpoint,
) -> None:
    checkpoint.remember(
        "books.json", '{"restarts": 2, "replayed": 7, "lost": 3, "lines": [{"at": 1, "text": "x"}]}'
    )
    history = RunHistory.opened(checkpoint)
    assert history is not None
    assert (history.restarts, history.replayed, history.lost, texts(history)) == (2, 7, 3, ["x"])
    assert [(each.count, each.place) for each in history.all_losses] == [(3, "an earlier run")]
    again = history.restarted([(0, 5)], done=4, stateful=True)
    assert set(again.at_least) == {"delivered", "possibly_duplicated", "filtered", "late"}
    assert (again.batch, again.begun, again.spark.batch) == (4, 5, 4)
    assert texts(again)[2:] == [
        "of batches 0 to 4 nobody wrote down what was delivered",
        "of batches 0 to 4 Spark's own count was not seen",
    ]


def test_a_batch_whose_count_was_not_seen_before_a_kill_makes_late_so_many_or_more() -> None:
    late = {"aggregation": LateRows("aggregation", 7)}
    history = RunHistory(begun=4, batch=4, spark=SparkHistory(3, 0, late))
    assert history.restarted([(0, 0)], done=4, stateful=True).at_least == ("filtered", "late")
    assert history.restarted([(0, 0)], done=4).at_least == ("filtered",)
    assert history.restarted([(0, 0)], done=3, stateful=True).at_least == ()


@pytest.mark.parametrize("damage", ["", "no json", "[]", '{"restarts": 1, "unheard": 2}', "3"])
def test_a_damaged_history_begins_again_and_says_so(checkpoint: Checkpoint, damage: str) -> None:
    checkpoint.remember("books.json", damage)
    history = RunHistory.opened(checkpoint)
    assert history is not None
    assert history.restarts == 0
    assert texts(history) == ["the history of earlier runs could not be read; it begins again"]


def test_only_the_last_lines_are_kept() -> None:
    history = RunHistory()
    for number in range(MOST_LINES + 1):
        history = history.noted(str(number))
    assert texts(history) == [str(number) for number in range(1, MOST_LINES + 1)]
