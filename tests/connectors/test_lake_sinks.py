"""What holds for tables of Delta Lake as for those of Iceberg, whoever else writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from penstock.delivery import DeliveryRefused, Epoch
from penstock.testing import ManualSubscriber
from tests.connectors.delivery.lives import Checkpoint, lived, refused
from tests.lake.numbered import numbers
from tests.lake.tables import TABLES, Table


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return TABLES[request.param](tmp_path)


def begun(table: Table, epoch: Epoch, row: dict[str, int]) -> Any:
    """A sink that has a row of its first batch."""
    sink: Any = table.write().sink
    sink.open(epoch)
    sink.begin(0)
    sink(row)
    return sink


def test_two_pipelines_have_a_name_each(table: Table) -> None:
    first, second = Checkpoint(), Checkpoint()
    lived(first, table.write(name="first"), [numbers(1)])
    lived(second, table.write(name="second"), [numbers(2)])
    lived(first, table.write(name="first"), [numbers(1), numbers(3)])
    assert table.rows() == numbers(1, 2, 3)


@pytest.mark.parametrize("schema", [None, pyarrow.schema([("n", pyarrow.int64())])])
def test_without_batches_others_see_rows_a_second_after_the_last_commit(
    table: Table, schema: pyarrow.Schema | None
) -> None:
    """With the first row that comes then, whether the columns were known before or not."""
    now = 100.0
    sink: Any = table.write(schema=schema).sink
    sink._clock = lambda: now
    sink.open(None)
    sink({"n": 1})
    now += 0.9
    sink({"n": 2})
    now += 0.1
    sink({"n": 3})
    assert table.rows() == numbers(1, 2, 3)
    sink({"n": 4})
    now += 1
    sink({"n": 5})
    assert table.rows() == numbers(1, 2, 3, 4, 5)
    sink({"n": 6})
    sink.close()
    assert table.rows() == numbers(1, 2, 3, 4, 5, 6)


def test_another_and_an_older_checkpoint_are_refused(table: Table) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, table.write(), [numbers(1), numbers(2)])
    assert "was written from another checkpoint" in refused(table.write(), Epoch.begun())
    older = Epoch.begun(checkpoint.starts, 0)
    assert "it was restored from an older backup" in refused(table.write(), older)
    assert table.rows() == numbers(1, 2)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_rival_within_the_commit_is_refused(table: Table, is_there: bool) -> None:
    """Between the look at the mark and the commit another run of the same batch comes through."""
    epoch = Epoch.begun()
    if is_there:
        table.add(pyarrow.table({"n": [0]}))
    sink = begun(table, epoch, {"n": 1})
    store = sink.store

    def late(*arguments: Any) -> None:
        rival = begun(table, Epoch.begun(epoch.starts), {"n": 1})
        rival.commit(0)
        rival.close()
        store(*arguments)

    sink.store = late
    with pytest.raises(DeliveryRefused, match="was written by another pipeline since") as caught:
        sink.commit(0)
    assert "\n" not in str(caught.value)
    sink.close()
    assert table.rows() == numbers(*[0] * is_there, 1)


def test_a_commit_that_seemed_to_fail_and_did_not_is_known_by_its_mark(table: Table) -> None:
    sink = begun(table, Epoch.begun(), {"n": 1})
    store = sink.store

    def unanswered(*arguments: Any) -> None:
        store(*arguments)
        raise OSError("the answer is lost")

    sink.store = unanswered
    sink.commit(0)
    sink.store = store
    sink.begin(1)
    sink({"n": 2})
    sink.commit(1)
    sink.close()
    assert table.rows() == numbers(1, 2)


@pytest.mark.parametrize("is_old", [True, False])
def test_a_table_that_somebody_removes_is_refused_at_the_next_batch(
    table: Table, is_old: bool
) -> None:
    """It would be made anew, without the rows of the batches before."""
    if is_old:
        table.add(pyarrow.table({"n": [0]}))
    sink = begun(table, Epoch.begun(), {"n": 1})
    sink.commit(0)
    table.drop()
    sink.begin(1)
    sink({"n": 2})
    with pytest.raises(DeliveryRefused, match="is gone since this pipeline was opened") as caught:
        sink.commit(1)
    assert "\n" not in str(caught.value)
    sink.close()


def test_a_table_that_others_alter_is_refused_at_the_next_batch(table: Table) -> None:
    sink = begun(table, Epoch.begun(), {"n": 1})
    sink.commit(0)
    table.add(pyarrow.table({"n": [2], "m": [3]}))
    sink.begin(1)
    sink({"n": 4})
    with pytest.raises(DeliveryRefused, match="has the columns n, m, and the rows have n"):
        sink.commit(1)
    sink.close()


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_is_removed_while_it_is_followed_is_an_error(
    table: Table, again: bool
) -> None:
    table.add(pyarrow.table({"n": [1]}))
    flow = table.read(follow=True, poll=0.01)
    flow.subscribe(reader := ManualSubscriber[Any](request=9))
    reader.await_elements(1)
    table.drop()
    if again:
        table.add(pyarrow.table({"n": [7]}))
    reader.await_end()
    assert isinstance(reader.error, FileNotFoundError | ValueError)
    assert "\n" not in str(reader.error)
    assert reader.elements == numbers(1)
