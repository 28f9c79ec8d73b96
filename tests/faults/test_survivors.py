"""A program that lives on: with a slow subscriber, and when Spark's JVM is killed under it."""

from __future__ import annotations

import pytest

from tests.faults.surviving_process import MAX_ROWS, Survived, survive

SOON = 60.0
"""Seconds; on an idle machine it is a fraction of one."""

pytestmark = pytest.mark.timeout(1_200)


@pytest.fixture(scope="module")
def survived() -> Survived:
    """One process for all tests: what it costs is Spark's start."""
    return survive(seconds=5.0)


def test_nobody_gets_more_than_was_asked_for_and_the_source_comes_to_rest(
    survived: Survived,
) -> None:
    assert survived.most_over == 0
    assert survived.most_over_sink == 0
    assert survived.source_paused
    assert survived.made <= survived.taken + MAX_ROWS


def test_a_slow_subscriber_does_not_make_memory_grow(survived: Survived) -> None:
    assert survived.growth <= 1.05


def test_the_subscriber_is_told_at_once_that_the_jvm_was_killed(survived: Survived) -> None:
    assert survived.error == "SparkLost: Spark's JVM is gone: it was killed, or has crashed"
    assert survived.seconds <= SOON


def test_nobody_else_prints_that_the_jvm_was_killed(survived: Survived) -> None:
    assert "Traceback" not in survived.printed


def test_a_killed_jvm_leaves_no_process_behind_and_the_next_pipeline_gets_another_one(
    survived: Survived,
) -> None:
    assert survived.orphans == 0
    assert survived.afterwards
    assert survived.left_behind == 0
