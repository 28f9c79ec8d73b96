"""Parquet files as a source that goes on after any row, judged by what Arrow itself reads."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import dataset, parquet

from penstock import Flow
from penstock.connectors import read_parquet, write_parquet
from penstock.flow.resume.planning import CannotResume, CountedResumption, resumption_of
from penstock.testing import ManualSubscriber
from tests.connectors.delivery.lives import Checkpoint, live

Row = dict[str, Any]


def rows(first: int, stop: int) -> list[Row]:
    return [{"n": number, "text": f"é{number}"} for number in range(first, stop)]


def written(path: Path, first: int, stop: int, groups: int = 7) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(rows(first, stop)), path, row_group_size=groups)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What ``write_parquet`` leaves after three batches, one of them empty."""
    place = tmp_path / "flights"
    for _ in live(Checkpoint(), write_parquet(place), [rows(0, 20), [], rows(20, 50)]):
        pass
    return place


def recorded(flow: Flow[Any], position: Any = None) -> list[Any]:
    """The elements after a position, as a checkpoint keeps it, each with its own."""
    position = json.loads(json.dumps(position))
    return resumption_of(flow).positioned(position).to_list().run_sync() or []


def seen(path: Path) -> list[Row]:
    found: list[Row] = dataset.dataset(path, format="parquet").to_table().to_pylist()
    return found


def test_the_folder_of_a_sink_is_read_in_its_order(folder: Path) -> None:
    assert read_parquet(folder).to_list().run_sync() == seen(folder) == rows(0, 50)
    batches = read_parquet(folder, batches=True).to_list().run_sync() or []
    assert [batch.num_rows for batch in batches] == [20, 30]


def test_a_folder_without_files_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / ".unfinished.parquet.new").write_text("half")
    assert read_parquet(tmp_path).to_list().run_sync() == []


def test_a_folder_in_the_folder_is_refused_at_once(folder: Path) -> None:
    (folder / "year=2026").mkdir()
    with pytest.raises(ValueError, match="holds the folder year=2026, and only files of the"):
        read_parquet(folder)


@pytest.mark.parametrize("batches", [False, True])
def test_it_goes_on_after_any_row(tmp_path: Path, batches: bool) -> None:
    written(tmp_path / "a.parquet", 0, 20)
    written(tmp_path / "b.parquet", 20, 21)
    written(tmp_path / "c.parquet", 21, 21)
    written(tmp_path / "d.parquet", 21, 40)
    flow = read_parquet(tmp_path, batches=batches)
    whole = recorded(flow)
    for number, (position, _) in enumerate(whole, 1):
        again = recorded(flow, position)
        assert [each.position for each in again] == [each.position for each in whole[number:]]
        assert [each.element for each in again] == [each.element for each in whole[number:]]
    in_rows = [each.element for each in recorded(read_parquet(tmp_path), whole[2].position)]
    assert in_rows == rows(20 if batches else 3, 40)  # the same position for rows and for batches


def test_it_goes_on_at_any_row_of_a_row_group_of_many_batches(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    parquet.write_table(pyarrow.table({"n": range(200_000)}), path, row_group_size=150_000)
    whole = recorded(read_parquet(path, batches=True))
    assert [each.position[-1] for each in whole] == [65_536, 131_072, 150_000, 50_000]
    for rows_given in (1, 65_535, 65_536, 149_999, 150_000):
        position = [*whole[0].position[:-1], rows_given]
        after = resumption_of(read_parquet(path)).positioned(position)
        first = after.take(2).to_list().run_sync() or []
        assert [each.element["n"] for each in first] == [rows_given, rows_given + 1]
        in_batches = recorded(read_parquet(path, batches=True), position)
        assert sum(each.element.num_rows for each in in_batches) == 200_000 - rows_given


def test_exactly_what_is_wanted_is_given(folder: Path) -> None:
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=3)
    read_parquet(folder).subscribe(subscriber)
    assert subscriber.elements == rows(0, 3)
    subscriber.request(19)
    assert subscriber.elements == rows(0, 22)
    subscriber.cancel()


def test_a_subscriber_that_has_enough_for_now_holds_little(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    table = pyarrow.table({"text": [f"{number:01000}" for number in range(20_000)]})
    parquet.write_table(table, path, row_group_size=2_000)
    before = pyarrow.total_allocated_bytes()
    tracemalloc.start()
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=10)
    read_parquet(path).subscribe(subscriber)
    held = tracemalloc.get_traced_memory()[0] + pyarrow.total_allocated_bytes() - before
    tracemalloc.stop()
    assert len(subscriber.elements) == 10
    assert held < 8_000_000  # of 20 MB: a row group, and some of its rows as dictionaries
    subscriber.cancel()


def test_files_that_come_later_are_read_after_a_restart(folder: Path) -> None:
    position = recorded(read_parquet(folder))[-1].position
    assert recorded(read_parquet(folder), position) == []
    written(folder / "batch-0000000003.parquet", 50, 60)
    assert [each.element for each in recorded(read_parquet(folder), position)] == rows(50, 60)


def test_a_file_that_is_gone_or_another_one_is_refused(folder: Path) -> None:
    first, last = folder / "batch-0000000000.parquet", folder / "batch-0000000002.parquet"
    position = recorded(read_parquet(folder))[-1].position
    content = last.read_bytes()
    last.unlink()
    with pytest.raises(CannotResume, match="the file batch-0000000002.parquet, .* is gone"):
        recorded(read_parquet(folder), position)
    written(last, 20, 50, groups=30)
    with pytest.raises(CannotResume, match="batch-0000000002.parquet has changed since row group"):
        recorded(read_parquet(folder), position)
    last.write_bytes(content)
    assert recorded(read_parquet(folder), position) == []
    first.unlink()
    with pytest.raises(CannotResume, match="the files before batch-0000000002.parquet are not"):
        recorded(read_parquet(folder), position)


def test_a_file_that_has_come_before_the_others_is_refused(folder: Path) -> None:
    position = recorded(read_parquet(folder))[-1].position
    written(folder / "a.parquet", 0, 1)
    with pytest.raises(CannotResume, match="one has come, is gone or has changed"):
        recorded(read_parquet(folder), position)


def test_other_rows_under_the_same_metadata_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "flights.parquet"
    for text in ("abcd", "abxd"):
        table = pyarrow.table({"text": ["a", text, "z"]})
        parquet.write_table(table, path, compression="none", use_dictionary=False)
        if text == "abcd":
            position = recorded(read_parquet(path))[0].position
            before = parquet.read_metadata(path)
    assert parquet.read_metadata(path).to_dict() == before.to_dict()
    with pytest.raises(CannotResume, match="flights.parquet has changed since row group 0"):
        recorded(read_parquet(path), position)


def test_a_file_with_fewer_row_groups_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flights.parquet"
    written(path, 0, 30)
    position = recorded(read_parquet(path))[-1].position
    written(path, 0, 3)
    with pytest.raises(CannotResume, match="flights.parquet has changed since row group 4"):
        recorded(read_parquet(path), position)


@pytest.mark.parametrize("position", [7, ["a.parquet", 1], ["a", "b", "c", "d", 1], {"file": 1}])
def test_a_position_of_something_else_is_refused(folder: Path, position: Any) -> None:
    with pytest.raises(CannotResume, match="which is none of read_parquet"):
        recorded(read_parquet(folder), position)


def test_what_is_no_parquet_file_is_named(folder: Path) -> None:
    (folder / "x.parquet").write_text("origin,delay\n")
    with pytest.raises(ValueError, match="x.parquet is no Parquet file"):
        read_parquet(folder).run_sync()


def test_operators_that_remember_have_one_file_from_its_start(folder: Path) -> None:
    counted = read_parquet(folder / "batch-0000000000.parquet").scan(0, lambda total, row: total)
    assert isinstance(resumption_of(counted), CountedResumption)
    with pytest.raises(CannotResume, match="scan .* would begin again in the middle"):
        resumption_of(read_parquet(folder).scan(0, lambda total, row: total))


def test_merged_and_mapped_rows_go_on_where_each_was(folder: Path, tmp_path: Path) -> None:
    written(tmp_path / "more.parquet", 100, 110)

    def flow() -> Flow[Any]:
        more = read_parquet(tmp_path / "more.parquet").filter(lambda row: row["n"] % 2 == 0)
        return Flow.merge(read_parquet(folder), more).map(lambda row: row["n"])

    whole = recorded(flow())
    for number in (1, 17, 40):
        again = recorded(flow(), whole[number - 1].position)
        found = [each.element for each in [*whole[:number], *again]]
        assert sorted(found) == [*range(50), *range(100, 110, 2)]
