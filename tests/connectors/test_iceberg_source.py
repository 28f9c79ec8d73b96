"""Tables of Iceberg as a source that goes on after any row, judged by DuckDB and by pyiceberg."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow
import pytest
from pyarrow import parquet
from pyiceberg.catalog import Catalog

from penstock import Flow, VirtualTime
from penstock.connectors import read_iceberg, write_iceberg
from penstock.flow.resume.planning import CannotResume, resumption_of
from penstock.testing import ManualSubscriber
from tests.connectors.delivery.lives import Checkpoint, live
from tests.lake.iceberg import catalog_in, iceberg_rows, settings_in

Row = dict[str, Any]
NAME = "lake.rows"


def rows(first: int, stop: int) -> list[Row]:
    return [{"n": number, "text": f"é{number}"} for number in range(first, stop)]


def added(catalog: Catalog, first: int, stop: int) -> None:
    catalog.load_table(NAME).append(pyarrow.Table.from_pylist(rows(first, stop)))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """With the table that ``write_iceberg`` leaves after three batches, one of them empty."""
    made = catalog_in(tmp_path)
    for _ in live(Checkpoint(), write_iceberg(made, NAME), [rows(0, 4), [], rows(4, 7)]):
        pass
    yield made
    made.close()


def snapshots(catalog: Catalog) -> list[int]:
    return [each.snapshot_id for each in catalog.load_table(NAME).snapshots()]


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


def test_the_rows_of_a_snapshot_come_in_the_order_of_their_commits(
    catalog: Catalog, tmp_path: Path
) -> None:
    assert iceberg_rows(catalog) == rows(0, 7)
    assert read_iceberg(settings_in(tmp_path), NAME).to_list().run_sync() == rows(0, 7)
    first = read_iceberg(catalog, NAME, snapshot=snapshots(catalog)[0])
    assert first.to_list().run_sync() == rows(0, 4)
    batches = read_iceberg(catalog, NAME, batches=True).to_list().run_sync() or []
    assert [batch.num_rows for batch in batches] == [4, 3]


@pytest.mark.parametrize("batches", [False, True])
def test_it_goes_on_after_any_row_in_its_snapshot(catalog: Catalog, batches: bool) -> None:
    flow = read_iceberg(catalog, NAME, batches=batches)
    whole = recorded(flow)
    added(catalog, 7, 9)
    for number, (position, _) in enumerate(whole, 1):
        again = recorded(flow, position)
        assert [each.position for each in again] == [each.position for each in whole[number:]]
        assert [each.element for each in again] == [each.element for each in whole[number:]]


def test_exactly_what_is_wanted_is_given(catalog: Catalog) -> None:
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=3)
    read_iceberg(catalog, NAME).subscribe(subscriber)
    assert subscriber.elements == rows(0, 3)
    subscriber.request(3)
    assert subscriber.elements == rows(0, 6)
    subscriber.cancel()


def test_later_snapshots_are_followed_from_any_row(catalog: Catalog) -> None:
    time = VirtualTime()
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=100)
    read_iceberg(catalog, NAME, follow=True, poll=5, clock=time).subscribe(subscriber)
    assert subscriber.elements == rows(0, 7)
    added(catalog, 7, 9)
    added(catalog, 9, 10)
    assert subscriber.elements == rows(0, 7)
    time.advance(5)
    assert subscriber.elements == rows(0, 10)
    time.advance(60)
    subscriber.cancel()
    first = recorded(read_iceberg(catalog, NAME, snapshot=snapshots(catalog)[1]))
    flow = read_iceberg(catalog, NAME, follow=True)
    whole = [*first, *given(flow, 3, first[-1].position)]
    assert [each.element for each in whole] == rows(0, 10)
    for number in (2, 6, 7, 8, 9):
        again = given(flow, 10 - number, whole[number - 1].position)
        assert [each.element for each in again] == rows(number, 10)


def test_a_table_without_rows_is_followed_from_its_first_ones_on(catalog: Catalog) -> None:
    catalog.create_table("lake.new", pyarrow.schema([("n", pyarrow.int64())]))
    assert read_iceberg(catalog, "lake.new").to_list().run_sync() == []
    time = VirtualTime()
    subscriber: ManualSubscriber[Row] = ManualSubscriber(request=100)
    read_iceberg(catalog, "lake.new", follow=True, clock=time).subscribe(subscriber)
    catalog.load_table("lake.new").append(pyarrow.table({"n": [1]}))
    time.advance(1)
    assert subscriber.elements == [{"n": 1}]
    subscriber.cancel()


def test_a_snapshot_that_is_no_addition_cannot_be_followed(catalog: Catalog) -> None:
    flow = read_iceberg(catalog, NAME, follow=True)
    position = given(flow, 7)[-1].position
    catalog.load_table(NAME).delete("n = 2")
    with pytest.raises(ValueError, match=r"of lake.rows \(overwrite\) has removed or rewritten"):
        given(flow, 1, position)
    found = read_iceberg(catalog, NAME).to_list().run_sync() or []
    assert sorted(row["n"] for row in found) == [0, 1, 3, 4, 5, 6]


def test_a_table_that_was_rolled_back_cannot_be_followed(catalog: Catalog) -> None:
    flow = read_iceberg(catalog, NAME, follow=True)
    position = given(flow, 7)[-1].position
    first = snapshots(catalog)[0]
    with catalog.load_table(NAME).manage_snapshots() as management:
        management.rollback_to_snapshot(first)
    with pytest.raises(ValueError, match="the table was rolled back, or snapshots have expired"):
        given(flow, 1, position)


def test_a_snapshot_that_has_expired_is_refused(catalog: Catalog) -> None:
    first, _ = snapshots(catalog)
    position = recorded(read_iceberg(catalog, NAME, snapshot=first))[1].position
    catalog.load_table(NAME).maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(CannotResume, match=f"snapshot {first} of lake.rows, .* has expired"):
        recorded(read_iceberg(catalog, NAME), position)
    with pytest.raises(ValueError, match=f"lake.rows has no snapshot {first}"):
        read_iceberg(catalog, NAME, snapshot=first).run_sync()


def test_a_file_that_is_gone_or_rewritten_is_refused(catalog: Catalog) -> None:
    position = recorded(read_iceberg(catalog, NAME))[1].position
    file = Path(urlsplit(position[3]).path)
    parquet.write_table(parquet.read_table(file), file, compression="none")
    with pytest.raises(ValueError, match="its file .* was rewritten: it has .* by the manifest"):
        recorded(read_iceberg(catalog, NAME), position)
    file.unlink()
    with pytest.raises(FileNotFoundError, match="cannot be read any more: its file .* is gone"):
        recorded(read_iceberg(catalog, NAME), position)


def test_another_table_or_position_is_refused(catalog: Catalog) -> None:
    position = recorded(read_iceberg(catalog, NAME))[1].position
    for other in (7, ["a", 1], [*position[:-1], "7"]):
        with pytest.raises(CannotResume, match="which is none of read_iceberg"):
            recorded(read_iceberg(catalog, NAME), other)
    with pytest.raises(CannotResume, match="stands in snapshot .* and snapshot=1 is asked for"):
        recorded(read_iceberg(catalog, NAME, snapshot=1), position)
    with pytest.raises(CannotResume, match="has no file part-0.parquet, in which the checkpoint"):
        recorded(read_iceberg(catalog, NAME), [*position[:3], "part-0.parquet", 1])
    catalog.drop_table(NAME)
    with pytest.raises(FileNotFoundError, match="the catalog has no table lake.rows"):
        recorded(read_iceberg(catalog, NAME), position)
    catalog.create_table(NAME, pyarrow.schema([("n", pyarrow.int64())]))
    with pytest.raises(CannotResume, match="is another table than the one that was read"):
        recorded(read_iceberg(catalog, NAME), position)
