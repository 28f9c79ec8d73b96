"""Tables of Delta Lake as a source that goes on after any row, judged by DuckDB and by delta-rs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet

from penstock import Flow, VirtualTime
from penstock.connectors import read_delta, write_delta
from penstock.flow.resume.planning import CannotResume, resumption_of
from penstock.testing import ManualSubscriber
from tests.connectors.delivery.lives import Checkpoint, live
from tests.lake.delta import delta_rows

Row = dict[str, Any]


def rows(first: int, stop: int) -> list[Row]:
    return [{"n": number, "text": f"é{number}"} for number in range(first, stop)]


def added(table: Path, first: int, stop: int) -> None:
    write_deltalake(table, pyarrow.Table.from_pylist(rows(first, stop)), mode="append")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """What ``write_delta`` leaves after three batches, one of them empty: three versions."""
    place = tmp_path / "flights"
    for _ in live(Checkpoint(), write_delta(place), [rows(0, 7), [], rows(7, 12)]):
        pass
    return place


def recorded(flow: Flow[Any], position: Any = None) -> list[Any]:
    """The elements after a position, as a checkpoint keeps it, each with its own."""
    position = json.loads(json.dumps(position))
    return resumption_of(flow).positioned(position).to_list().run_sync() or []


def given(flow: Flow[Any], count: int, position: Any = None) -> list[Any]:
    """The same of a flow that does not end, as many as are known to come."""
    position = json.loads(json.dumps(position))
    found = resumption_of(flow).positioned(position).take(count).to_list().run_sync() or []
    assert len(found) == count
    return found


def test_the_rows_of_a_version_come_in_the_order_of_their_commits(table: Path) -> None:
    assert read_delta(table).to_list().run_sync() == delta_rows(table) == rows(0, 12)
    assert read_delta(table, version=1).to_list().run_sync() == rows(0, 7)
    assert read_delta(table, version=0).to_list().run_sync() == []
    batches = read_delta(table, batches=True).to_list().run_sync() or []
    assert [batch.num_rows for batch in batches] == [7, 5]


@pytest.mark.parametrize("batches", [False, True])
def test_it_goes_on_after_any_row_in_its_version(table: Path, batches: bool) -> None:
    whole = recorded(read_delta(table, batches=batches))
    added(table, 12, 20)
    for number, (position, _) in enumerate(whole, 1):
        again = recorded(read_delta(table, batches=batches), position)
        assert [each.position for each in again] == [each.position for each in whole[number:]]
        assert [each.element for each in again] == [each.element for each in whole[number:]]


def test_it_goes_on_within_row_groups(tmp_path: Path) -> None:
    table = tmp_path / "long"
    numbers = pyarrow.table({"n": range(200_000)})
    write_deltalake(table, numbers)
    (path,) = DeltaTable(table).file_uris()
    assert parquet.read_metadata(path).num_rows == 200_000
    whole = recorded(read_delta(table, batches=True))
    assert pyarrow.Table.from_batches([each.element for each in whole]).equals(numbers)
    for place, (position, _) in enumerate(whole, 1):
        again = recorded(read_delta(table, batches=True), position)
        assert [each.element for each in again] == [each.element for each in whole[place:]]
    after = resumption_of(read_delta(table)).positioned([*whole[0].position[:-1], 123_456])
    first = after.take(2).to_list().run_sync() or []
    assert [each.element["n"] for each in first] == [123_456, 123_457]


def test_exactly_what_is_wanted_is_given(table: Path) -> None:
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=3)
    read_delta(table).subscribe(subscriber)
    assert subscriber.elements == rows(0, 3)
    subscriber.request(6)
    assert subscriber.elements == rows(0, 9)
    subscriber.cancel()


def test_partitions_and_later_columns_are_parts_of_the_rows(table: Path, tmp_path: Path) -> None:
    parted = tmp_path / "parted"
    written = [{"origin": "EWR", "n": 1}, {"origin": "JFK", "n": 2}]
    write_deltalake(parted, pyarrow.Table.from_pylist(written), partition_by=["origin"])
    found = read_delta(parted).to_list().run_sync() or []
    assert sorted(found, key=lambda row: row["n"]) == written
    more = pyarrow.table({"n": [12], "text": ["é"], "late": [True]})
    write_deltalake(table, more, mode="append", schema_mode="merge")
    first, *_, last = read_delta(table).to_list().run_sync() or []
    assert first == {"n": 0, "text": "é0", "late": None}
    assert last == {"n": 12, "text": "é", "late": True}


def test_later_versions_are_followed_as_they_come(table: Path) -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=100)
    flow = read_delta(table, follow=True, poll=5, clock=time)
    flow.subscribe(subscriber)
    assert subscriber.elements == rows(0, 12)
    added(table, 12, 15)
    DeltaTable(table).optimize.compact()
    added(table, 15, 16)
    assert subscriber.elements == rows(0, 12)
    time.advance(5)
    assert subscriber.elements == rows(0, 16)
    time.advance(60)
    added(table, 16, 17)
    time.advance(5)
    assert subscriber.elements == rows(0, 17)
    subscriber.cancel()


def test_following_goes_on_after_any_row(table: Path) -> None:
    flow = read_delta(table, follow=True)
    first = given(flow, 12)
    for start in range(12, 18, 2):
        added(table, start, start + 2)
    DeltaTable(table).optimize.compact()
    added(table, 18, 20)
    whole = [*first, *given(flow, 8, first[-1].position)]
    assert [each.element for each in whole] == rows(0, 20)
    for number in (1, 7, 11, 12, 13, 17, 18, 19):
        again = given(flow, 20 - number, whole[number - 1].position)
        assert [each.element for each in again] == rows(number, 20)
        assert [each.position for each in again] == [each.position for each in whole[number:]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.delete("n < 3"), "DELETE"),
        (lambda table: table.update(new_values={"n": 1}), "UPDATE"),
        (
            lambda table: write_deltalake(
                table, pyarrow.Table.from_pylist(rows(0, 1)), mode="overwrite"
            ),
            "WRITE",
        ),
    ],
)
def test_a_version_that_is_no_addition_cannot_be_followed(
    table: Path, change: Any, words: str
) -> None:
    flow = read_delta(table, follow=True)
    position = given(flow, 12)[-1].position
    change(DeltaTable(table))
    with pytest.raises(ValueError, match=rf"version 3 of .*flights \({words}\) has removed or"):
        given(flow, 1, position)
    assert recorded(read_delta(table, version=2), [*position[:-1], 0])  # the version is still there


def test_a_version_that_was_vacuumed_away_is_refused(table: Path) -> None:
    position = recorded(read_delta(table))[3].position
    DeltaTable(table).optimize.compact()
    assert len(recorded(read_delta(table), position)) == 8
    DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(
        FileNotFoundError, match="version 2 of .*flights cannot be read any more: i"
    ):
        recorded(read_delta(table), position)
    assert sorted(row["n"] for row in read_delta(table).to_list().run_sync() or []) == [*range(12)]


def test_a_version_whose_log_is_gone_is_refused(table: Path) -> None:
    position = recorded(read_delta(table))[-1].position
    for first in range(12, 20):
        added(table, first, first + 1)
    DeltaTable(table).create_checkpoint()
    for version in range(9):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    with pytest.raises(CannotResume, match="version 2 of .*flights cannot be read any more, its l"):
        recorded(read_delta(table), position)


def test_a_file_that_was_rewritten_is_refused(table: Path) -> None:
    position = recorded(read_delta(table))[3].position
    file = table / position[3]
    parquet.write_table(parquet.read_table(file), file, compression="none")
    with pytest.raises(ValueError, match="its file .* was rewritten: it has .* by the log"):
        recorded(read_delta(table), position)


def test_a_table_that_was_made_anew_is_refused(table: Path) -> None:
    position = recorded(read_delta(table))[3].position
    shutil.rmtree(table)
    added(table, 0, 7)
    added(table, 7, 12)
    with pytest.raises(CannotResume, match="is another table than the one that was read"):
        recorded(read_delta(table), position)


def test_a_position_of_something_else_is_refused(table: Path) -> None:
    position = recorded(read_delta(table))[3].position
    for other in (7, ["a", 1], [*position[:-1], "7"]):
        with pytest.raises(CannotResume, match="which is none of read_delta"):
            recorded(read_delta(table), other)
    with pytest.raises(CannotResume, match="stands in version 2 of .*, and version=0 is asked for"):
        recorded(read_delta(table, version=0), position)
    position[3] = "part-0.parquet"
    with pytest.raises(CannotResume, match="version 2 of .* has no file part-0.parquet"):
        recorded(read_delta(table), position)


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("delta.enableDeletionVectors", "true", "deletionVectors"),
        ("delta.columnMapping.mode", "name", "delta.columnMapping.mode"),
    ],
)
def test_what_the_library_would_read_wrongly_is_refused(
    tmp_path: Path, setting: str, value: str, words: str
) -> None:
    table = tmp_path / "special"
    write_deltalake(table, pyarrow.table({"n": [1, 2]}), configuration={setting: value})
    with pytest.raises(ValueError, match=f"uses what the library cannot read: .*{words}"):
        read_delta(table).run_sync()


def test_what_is_no_table_is_refused_at_once(table: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"there is no Delta table at {tmp_path}/no"):
        read_delta(tmp_path / "no")
    assert not (tmp_path / "no").exists()
    with pytest.raises(ValueError, match="flights has no version 9; the newest one is 2"):
        read_delta(table, version=9)
    with pytest.raises(ValueError, match="version must be at least 0, not -1"):
        read_delta(table, version=-1)
    with pytest.raises(NotADirectoryError, match="is a file"):
        read_delta(table / "_delta_log" / f"{0:020}.json")
