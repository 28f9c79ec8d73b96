"""Files of a checkpoint that are lost or damaged: a refusal, or nothing that matters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from penstock import Flow
from penstock.spark import CheckpointError
from tests.faults.damaged_checkpoint import DAMAGES, damage, damages, make_checkpoint
from tests.faults.numbers import SCHEMA, all_of, numbers_on_spark

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(1_800)]


def last_of(folder: Path) -> Path:
    return max((file for file in folder.iterdir() if file.name.isdecimal()), key=number_of)


def number_of(file: Path) -> int:
    return int(file.name)


def test_a_batch_whose_completion_was_lost_comes_again_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    first = all_of(numbers_on_spark(35, place))
    last = last_of(place / "spark" / "commits")
    last.unlink()
    again = all_of(numbers_on_spark(35, place))
    assert again
    assert again == [entry for entry in first if entry[1] == number_of(last)]
    assert all_of(numbers_on_spark(35, place)) == []


def test_a_pipeline_that_fills_its_journal_with_one_batch_goes_on(tmp_path: Path) -> None:
    entries = all_of(numbers_on_spark(100, tmp_path / "checkpoint", batch_rows=20, max_rows=20))
    assert [number for number, _, _ in entries] == [*range(100)]


@pytest.mark.parametrize(
    ("file", "how"),
    [
        ("pipeline.json", "gone"),
        ("pipeline.json", "emptied"),
        ("spark/metadata", "cut"),
        ("spark/offsets/1", "gone"),
        ("spark/offsets/2", "emptied"),
        ("spark/commits/2", "emptied"),
    ],
)
def test_a_file_that_spark_needs_is_missed_before_data_moves(
    checkpoint: Path, tmp_path: Path, file: str, how: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(checkpoint, copy)
    DAMAGES[how](copy / file)
    with pytest.raises(CheckpointError, match="start with a new checkpoint") as caught:
        all_of(numbers_on_spark(50, copy))
    assert str(copy / file) in str(caught.value)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with three batches that are done."""
    place = tmp_path_factory.mktemp("whole") / "checkpoint"
    at_once = pa.RecordBatch.from_pydict({"number": [*range(30)]})
    all_of(Flow.of(at_once).on_spark(SCHEMA, name="numbers", batch_rows=10, checkpoint=place))
    return place


@pytest.mark.full
def test_no_damage_of_any_file_loses_a_row_or_starts_anew(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    before = make_checkpoint(place)
    for number, (file, how) in enumerate(damages(place)):
        found = damage(place, tmp_path / f"copy-{number}", file, how, before)
        assert found.is_harmless or found.is_refused, (file, how, found)
