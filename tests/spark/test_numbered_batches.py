"""Batches with their numbers, for sinks that store both or none; SQLite is asked what it has."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.delivery import DeliveryRefused, Epoch
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import NumberedBatch, Positioned, SparkFlow

PATIENCE = 120
GUIDE = Path(__file__).parents[2] / "docs" / "spark-guarantees.md"
SQUARES = "number long, square long"


def documented(name: str) -> Any:
    """A class, as the guide has it."""
    block = rf"```python\n((?:(?!```).)*class {name}.*?)```"
    (code,) = re.findall(block, GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return names[name]


class Rows:
    """The recipe for rows: each with its mark."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, check_same_thread=False)
        self.connection.execute("CREATE TABLE IF NOT EXISTS squares (number, square)")
        self.connection.execute("CREATE TABLE IF NOT EXISTS stored (mark)")

    def __call__(self, row: Positioned) -> None:
        marks = self.connection.execute("SELECT mark FROM stored").fetchone() or (None,)
        if row.is_stored(marks[0]):
            return
        with self.connection:
            self.connection.execute("INSERT INTO squares VALUES (?, ?)", row.value)
            self.connection.execute("DELETE FROM stored")
            self.connection.execute("INSERT INTO stored VALUES (?)", (row.mark,))


def table_of_batches(path: str) -> tuple[Callable[[SparkFlow], Flow[Any]], Any]:
    return SparkFlow.numbered_batches, documented("Table")(path)


def table_of_rows(path: str) -> tuple[Callable[[SparkFlow], Flow[Any]], Any]:
    return SparkFlow.positioned, Rows(path)


class Store:
    """A database and a checkpoint, between which a pipeline is run."""

    def __init__(self, folder: Path, make: Callable[[str], Any]) -> None:
        self.checkpoint = folder / "checkpoint"
        self._database = str(folder / "squares.db")
        self._make = make

    def run(self, count: int, *, crash_at: int | None = None) -> PipelineRun:
        """Squares in batches of five; a crash comes after the sink has stored that number."""
        elements, table = self._make(self._database)

        def sink(element: Any) -> None:
            table(element)
            if crash_at is not None and crash_at in self.numbers:
                raise OSError("crash")

        pipeline = Pipeline(
            "squares",
            sources={"numbers": lambda settings: Flow.range(count).map(lambda n: (n, n * n))},
            transform=lambda numbers: elements(numbers.on_spark(SQUARES, batch_rows=5)),
            sinks={"table": lambda settings: sink},
        )
        run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(self.checkpoint)))
        run.start()
        assert run.wait(PATIENCE)
        table.connection.close()
        return run

    @property
    def numbers(self) -> list[int]:
        with closing(sqlite3.connect(self._database)) as connection:
            rows = connection.execute("SELECT number, square FROM squares ORDER BY rowid")
            return [number for number, square in rows if square == number * number]


@pytest.fixture(params=[table_of_batches, pytest.param(table_of_rows, marks=pytest.mark.full)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path, request.param)


def test_a_sink_that_stores_marks_has_each_row_once_after_a_crash(store: Store) -> None:
    assert str(store.run(12, crash_at=7).error) == "crash"
    run = store.run(12)
    assert run.state == "completed", run.error
    assert store.numbers == [*range(12)]
    assert run.status().ledger.lost == 0


def test_after_the_checkpoint_was_deleted_nothing_is_taken_for_what_the_sink_has(
    store: Store,
) -> None:
    assert store.run(12).state == "completed"
    shutil.rmtree(store.checkpoint)
    run = store.run(30)
    assert isinstance(run.error, DeliveryRefused)
    assert "was written from another checkpoint" in str(run.error)
    assert store.numbers == [*range(12)]


def test_after_an_older_checkpoint_was_restored_nothing_is_taken_for_what_the_sink_has(
    store: Store, tmp_path: Path
) -> None:
    store.run(22, crash_at=7)
    subprocess.run(["cp", "-a", store.checkpoint, tmp_path / "backup"], check=True)
    assert store.run(22).state == "completed"
    shutil.rmtree(store.checkpoint)
    (tmp_path / "backup").rename(store.checkpoint)
    run = store.run(40)
    assert isinstance(run.error, DeliveryRefused)
    assert re.search("older than the sink|restored from an older backup|restored", str(run.error))
    assert store.numbers == [*range(22)]


def test_whole_batches_come_with_their_numbers_and_empty_ones_as_well() -> None:
    flow = Flow.range(9).map(lambda n: (n,)).on_spark("n long", batch_rows=3)
    batches = flow.filter(lambda row: not 3 <= row.n < 6).numbered_batches().to_list().run_sync()
    assert batches is not None
    assert [batch.batch_id for batch in batches] == [*range(len(batches))]
    found = [batch.table["n"].to_pylist() for batch in batches]
    assert [n for numbers in found for n in numbers] == [0, 1, 2, 6, 7, 8]
    assert len({batch.epoch for batch in batches}) == 1
    assert sum(batch.num_rows for batch in batches) == 6


def test_a_row_that_comes_again_is_known_by_its_place() -> None:
    first = Epoch.begun()
    second = Epoch.begun(first.starts, planned=4)
    mark = Positioned(4, 1, "b", first).mark
    again = [Positioned(4, row, "", second).is_stored(mark) for row in range(4)]
    assert again == [True, True, False, False]
    assert not Positioned(5, 0, "", second).is_stored(mark)
    assert not Positioned(5, 0, "", second).is_stored(None)


def test_the_mark_of_a_batch_is_none_of_a_row() -> None:
    epoch = Epoch.begun()
    mark = NumberedBatch(4, None, epoch).mark
    with pytest.raises(DeliveryRefused, match="the board holds the mark of a batch and not of a"):
        Positioned(4, 0, "", epoch).is_stored(mark, "the board")
