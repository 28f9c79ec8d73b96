"""A full disk: the source waits until there is space, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark import SparkFailed
from tests.faults.full_disk import COUNT, fill_under_spark, fill_under_the_journal

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


def test_a_full_disk_under_sparks_checkpoint_is_one_error_and_loses_nothing(
    tmp_path: Path,
) -> None:
    error, entries = fill_under_spark(tmp_path)
    assert isinstance(error, SparkFailed)
    assert "File too large; make space where Spark writes, and run it again" in str(error)
    assert len(str(error)) < 500
    assert [number for number, _, _ in entries] == [*range(20)]
