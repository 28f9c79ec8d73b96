"""``kill -9`` of a program and of all that it started: nothing is lost, one batch comes again."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.faults.kills import Killing, Lives, kill_at_points, kill_at_random
from tests.faults.pipeline_process import CRASHES

COUNT = 20_000
BEFORE_SPARK_RUNS = list(CRASHES)[:2]

pytestmark = pytest.mark.timeout(3_000)


def test_nothing_is_lost_in_the_journal_nor_between_sink_and_commit(tmp_path: Path) -> None:
    killing = Killing(tmp_path, COUNT)
    for point in [*BEFORE_SPARK_RUNS, "sink has all rows, commit not written"]:
        killing.at_point(point)
    lives = killing.finish()
    assert lives.verdict.duplicated  # that batch, at the plain sink
    assert lives.keeps_the_promise, lives


def in_any_sequence(lives: Lives) -> Lives:
    """What is merged has no sequence that could be kept."""
    return lives._replace(verdict=lives.verdict._replace(out_of_sequence=0))


@pytest.mark.full
def test_each_of_several_sources_goes_on_where_it_was(tmp_path: Path) -> None:
    killing = Killing(tmp_path, COUNT, "merged")
    for point in ["journal append, after the sync", "sink has all rows, commit not written"]:
        killing.at_point(point)
    lives = in_any_sequence(killing.finish())
    assert lives.keeps_the_promise, lives


@pytest.mark.full
def test_several_sources_go_on_after_kills_at_random_moments(tmp_path: Path) -> None:
    lives = kill_at_random(tmp_path, 5 * COUNT, 6, Random(3), source="merged")
    assert in_any_sequence(lives).keeps_the_promise, lives


@pytest.mark.full
def test_nothing_is_lost_at_any_point_at_which_a_crash_could_lose_it(tmp_path: Path) -> None:
    lives = kill_at_points(tmp_path, 2 * COUNT, CRASHES)
    assert lives.keeps_the_promise, lives


@pytest.mark.full
@pytest.mark.parametrize("alone", [False, True])
def test_nothing_is_lost_by_kills_at_random_moments(tmp_path: Path, alone: bool) -> None:
    lives = kill_at_random(tmp_path, 5 * COUNT, 5, Random(2), alone=alone)
    assert lives.keeps_the_promise, lives
