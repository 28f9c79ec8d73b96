"""A function of each batch, as Spark's own ``foreachBatch`` has it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark import SparkFlow, UserError
from penstock.testing import ManualPublisher, ManualSubscriber

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 60


def numbers(count: int, **options: Any) -> SparkFlow:
    return Flow.range(count).map(lambda n: (n,)).on_spark("n long", batch_rows=4, **options)


class Notes:
    """What functions of batches have noted, which over Spark Connect run on the server."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, dataframe: DataFrame, batch_id: int) -> None:
        """Note the rows of a batch with its number."""
        with self._file.open("a") as notes:
            notes.write(json.dumps((batch_id, [row.n for row in dataframe.collect()])) + "\n")

    @property
    def all(self) -> list[tuple[int, list[int]]]:
        return [tuple(json.loads(line)) for line in self._file.read_text().splitlines()]


def test_the_function_gets_each_dataframe_with_its_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    notes = Notes(tmp_path / "notes")
    flow = numbers(10, session=spark).filter(lambda row: row.n % 2).for_each_batch(notes.add)
    assert flow.to_list().run_sync() == []
    seen = notes.all
    assert [n for _, batch in seen for n in batch] == [1, 3, 5, 7, 9]
    assert [number for number, _ in seen] == [*range(len(seen))]
    assert len(seen) > 1


def test_a_batch_that_the_function_refuses_comes_again_with_its_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    notes = Notes(tmp_path / "notes")

    def refuse(dataframe: DataFrame, batch_id: int) -> None:
        notes.add(dataframe, batch_id)
        if batch_id == 1:
            raise OSError("no space left")

    place = tmp_path / "checkpoint"
    with pytest.raises(UserError, match=r"no space left \(in for_each_batch, at .*, in refuse\)"):
        numbers(10, session=spark, checkpoint=place).for_each_batch(refuse).run_sync()
    numbers(10, session=spark, checkpoint=place).for_each_batch(notes.add).run_sync()
    seen = notes.all
    assert seen[1] == seen[2]
    assert sorted(n for _, batch in seen[:1] + seen[2:] for n in batch) == [*range(10)]


def test_an_error_of_spark_within_the_function_names_the_line_of_the_function(
    spark: SparkSession,
) -> None:
    def read(dataframe: DataFrame, batch_id: int) -> None:
        dataframe.sparkSession.sql("SELECT * FROM nowhere").collect()

    with pytest.raises(UserError, match=r"nowhere.*in for_each_batch, at .*test_for_each_batch.py"):
        numbers(1, session=spark).for_each_batch(read).run_sync()


def test_an_exit_within_the_function_ends_the_stream(spark: SparkSession) -> None:
    def leave(dataframe: DataFrame, batch_id: int) -> None:
        raise SystemExit(3)

    with pytest.raises(UserError, match="SystemExit: 3"):
        numbers(1, session=spark).for_each_batch(leave).run_sync()


@pytest.mark.classic
def test_the_next_batch_waits_until_the_function_has_returned(spark: SparkSession) -> None:
    came, goes_on = threading.Semaphore(0), threading.Semaphore(0)
    running: list[int] = []

    def wait(dataframe: DataFrame, batch_id: int) -> None:
        running.append(batch_id)
        came.release()
        assert goes_on.acquire(timeout=PATIENCE)

    source: ManualPublisher[Any] = ManualPublisher()
    flow = Flow.from_publisher(source).on_spark("n long", batch_rows=1, max_rows=8, session=spark)
    subscriber: ManualSubscriber[Any] = ManualSubscriber()  # it asks for nothing, ever
    flow.for_each_batch(wait).subscribe(subscriber)
    source.await_requested(2)
    source.next((0,), (1,))
    assert came.acquire(timeout=PATIENCE)
    assert running == [0]
    goes_on.release(2)
    assert came.acquire(timeout=PATIENCE)
    source.complete()
    subscriber.await_end(PATIENCE)
    subscriber.assert_completed()
    assert running == [0, 1]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="for_each_batch"):
        numbers(1).for_each_batch(3)  # type: ignore[arg-type]
