"""A full disk: the source waits until there is space, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark import SparkFlow
from tests.faults.full_disk import COUNT, SPARK_COUNT, fill_under_spark, fill_under_the_journal
from tests.faults.numbers import numbers_on_spark

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(600)]


def test_a_full_disk_under_the_journal_pauses_the_source_and_loses_nothing(tmp_path: Path) -> None:
    found = fill_under_the_journal(tmp_path)
    assert found.error is None
    assert found.numbers == [*range(COUNT)]
    assert found.asked_when_full < COUNT
    assert found.asked_later == found.asked_when_full
    full, again = [word for word in found.said if "space" in word]
    assert f"there is no space left for {tmp_path / 'checkpoint' / 'journal-0'}" in full
    assert full.endswith("the stream waits until there is space")
    assert again == "there is space again: the stream goes on"


def test_a_full_disk_under_sparks_checkpoint_is_waited_for_and_loses_nothing(
    tmp_path: Path,
) -> None:
    found = fill_under_spark(tmp_path)
    assert found.error is None
    assert found.came_when_full == 0
    assert [row.number for row in found.elements] == [*range(SPARK_COUNT)]
    full, again = [word for word in found.said if "space" in word]
    assert full.startswith("numbers: there is no space where Spark writes: ")
    assert full.endswith("File too large; goes on when there is")
    assert again == "numbers: there is space again"


def test_state_that_could_not_be_written_is_right_when_there_is_space(tmp_path: Path) -> None:
    found = fill_under_spark(tmp_path, totals_on_spark)
    assert found.error is None
    totals = {row.remainder: row.total for row in found.elements}  # the last of each counts
    expected = {each: sum(range(each, SPARK_COUNT, 3)) for each in range(3)}
    assert totals == expected


def totals_on_spark(count: int, checkpoint: Path) -> SparkFlow:
    """The sum of all numbers for each remainder, as it changes."""
    return numbers_on_spark(count, checkpoint, name="totals", output_mode="update").sql(
        "SELECT number % 3 AS remainder, SUM(number) AS total FROM {stream} GROUP BY number % 3"
    )
