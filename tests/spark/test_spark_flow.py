"""Streams through Spark and back: what comes out, and how demand, ends and errors go through."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from penstock import Flow
from penstock.spark import (
    CheckpointError,
    DeadLetter,
    Positioned,
    SchemaMismatch,
    SparkFlow,
    UserError,
)
from penstock.spark.deployment import Deployment, deployed
from penstock.testing import ManualSubscriber
from tests.faults.numbers import join_runs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBERS = "number long, name string"
PATIENCE = 240.0

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def numbers(count: int) -> Flow[Any]:
    return Flow.range(count).map(lambda number: (number, f"n{number}"))


def on_spark(count: int, **options: Any) -> SparkFlow:
    return numbers(count).on_spark(NUMBERS, **options)


def result(flow: Flow[Any]) -> list[Any]:
    return flow.to_list().run_sync() or []


class Waiting(ManualSubscriber[Any]):
    """A subscriber of the test, which can wait for what comes from other threads."""

    def __init__(self, request: int = 0) -> None:
        super().__init__(request=request)
        self.changed = threading.Condition()

    def on_next(self, element: Any) -> None:
        with self.changed:
            super().on_next(element)
            self.changed.notify_all()

    def on_error(self, error: Exception) -> None:
        with self.changed:
            super().on_error(error)
            self.changed.notify_all()

    def on_complete(self) -> None:
        with self.changed:
            super().on_complete()
            self.changed.notify_all()

    def wait_for(self, condition: Callable[[], object]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, PATIENCE)


# What comes out.


def test_rows_come_out_as_they_went_in_and_in_order() -> None:
    rows = result(on_spark(1_000, batch_rows=300).rows())
    assert [(row.number, row.name) for row in rows] == [(n, f"n{n}") for n in range(1_000)]


def test_a_stream_without_elements_completes() -> None:
    assert result(on_spark(0).rows()) == []


def test_functions_run_on_rows_and_what_they_make_are_rows_for_the_next() -> None:
    flow = (
        on_spark(10)
        .filter(lambda row: row.number % 2)
        .map(lambda row: (row.number * 10, [row.name]), schema="tens long, names array<string>")
        .flat_map(lambda row: [row, row._replace(tens=row.tens + 1)])
    )
    assert [tuple(row) for row in result(flow.rows())][:3] == [
        (10, ["n1"]),
        (11, ["n1"]),
        (30, ["n3"]),
    ]


@dataclass
class Named:
    number: int
    name: str


@pytest.mark.classic
@pytest.mark.parametrize("bytes_with_it", [0, 100_000])
def test_functions_at_the_front_run_where_rows_are_read_unless_they_are_large(
    bytes_with_it: int,
) -> None:
    plans: list[str] = []
    burden = bytes(bytes_with_it)

    def look(frame: DataFrame) -> DataFrame:
        plans.append(frame._jdf.queryExecution().analyzed().toString())
        return frame

    flow = (
        on_spark(6)
        .filter(lambda row: row.number % 2 == len(burden) % 2)
        .map(lambda row: (row.name,), schema="name string")
        .frame(look)
        .map_batches(lambda batch: batch.slice(1))
    )
    assert [row.name for row in result(flow.rows())] == ["n2", "n4"]
    assert ("MapInArrow" in plans[0]) is (bytes_with_it > 0)


def test_elements_may_be_mappings_dataclasses_and_batches_in_one_stream() -> None:
    batch = pa.RecordBatch.from_pydict({"number": [3, 4], "name": ["c", "d"]})
    flow = Flow.of({"number": 1, "name": "a"}, Named(2, "b"), batch, (5, "e"))
    rows = result(flow.on_spark(NUMBERS).rows())
    assert [tuple(row) for row in rows] == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]


def test_batches_come_out_as_batches() -> None:
    def double(batch: pa.RecordBatch) -> pa.RecordBatch:
        doubled = pa.compute.multiply(batch["number"], 2)
        return pa.RecordBatch.from_arrays([doubled, batch["name"]], schema=batch.schema)

    batches = result(on_spark(100, batch_rows=40).map_batches(double).batches())
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    assert [n for batch in batches for n in batch["number"].to_pylist()] == [*range(0, 200, 2)]


def test_a_frame_is_whatever_spark_can_do_and_sql_is_another_way_to_say_it() -> None:
    flow = (
        on_spark(10)
        .frame(lambda frame: frame.selectExpr("number", "number % 3 AS rest"))
        .sql("SELECT number FROM {stream} WHERE rest = 0")
    )
    assert sorted(row.number for row in result(flow.rows())) == [0, 3, 6, 9]


def test_positions_tell_the_batch_and_the_row() -> None:
    at_once = pa.RecordBatch.from_pydict({"number": [*range(5)], "name": ["a"] * 5})
    found = result(Flow.of(at_once).on_spark(NUMBERS, batch_rows=5).positioned())
    assert {position.batch for position in found} == {found[0].batch}
    assert [position.row for position in found] == [0, 1, 2, 3, 4]
    assert all(isinstance(position, Positioned) for position in found)


def test_two_streams_are_joined() -> None:
    others = Flow.of((2, "two"), (4, "four")).on_spark("number long, word string")
    rows = result(on_spark(6).join(others, on="number").rows())
    assert sorted((row.number, row.word) for row in rows) == [(2, "two"), (4, "four")]


def test_a_native_sink_gets_all_rows_and_none_come_back(
    tmp_path: Path, spark: SparkSession
) -> None:
    place = str(tmp_path / "out")
    assert result(on_spark(100).write("parquet", path=place)) == []
    assert sorted(row.number for row in spark.read.parquet(place).collect()) == [*range(100)]


def test_a_folder_of_another_query_is_refused_and_its_own_is_written_on(
    tmp_path: Path, spark: SparkSession
) -> None:
    """Spark would leave out as many batches as the folder has, without a word."""
    place, first = str(tmp_path / "out"), tmp_path / "first"
    result(on_spark(40, batch_rows=10, checkpoint=first).write("parquet", path=place))
    others: list[dict[str, Any]] = [{}, {"checkpoint": tmp_path / "second"}]
    for options in others:
        with pytest.raises(CheckpointError, match=r"written by another query, up to batch \d"):
            result(on_spark(40, batch_rows=10, **options).write("parquet", path=place))
    assert result(on_spark(60, batch_rows=10, checkpoint=first).write("parquet", path=place)) == []
    written = sorted(row.number for row in spark.read.parquet(place).collect())
    assert written == [*range(40)]  # the first run has sealed the journal


def test_the_memory_sink_has_a_table(spark: SparkSession) -> None:
    result(on_spark(7).write("memory", table="seven"))
    assert spark.sql("SELECT count(*) FROM seven").first()[0] == 7


def test_each_partition_has_a_subscriber_in_the_workers(tmp_path: Path) -> None:
    place = str(tmp_path)

    class Writer:
        """Takes two at a time, and writes what it got into a file of its own."""

        def __init__(self, batch: int, partition: int) -> None:
            self.file = Path(place, f"{batch}-{partition}")
            self.rows: list[Any] = []

        def on_subscribe(self, subscription: Any) -> None:
            self.subscription = subscription
            subscription.request(2)

        def on_next(self, row: Any) -> None:
            self.rows.append(row.number)
            if len(self.rows) % 2 == 0:
                self.subscription.request(2)

        def on_error(self, error: Exception) -> None:
            raise AssertionError from error

        def on_complete(self) -> None:
            assert not self.file.exists()
            self.file.write_text("\n".join(map(str, self.rows)))

    assert result(on_spark(100, batch_rows=30).for_each_partition(Writer)) == []
    written = {file.name: file.read_text().split() for file in tmp_path.iterdir()}
    assert sorted(int(line) for lines in written.values() for line in lines) == [*range(100)]
    batches = [int(name.partition("-")[0]) for name, lines in written.items() if lines]
    assert sorted(set(batches)) == [*range(len(set(batches)))]


def test_a_subscriber_that_raises_in_a_worker_fails_the_stream_with_its_line() -> None:
    class Refusing:
        def on_subscribe(self, subscription: Any) -> None:
            subscription.request(5)

        def on_next(self, row: Any) -> None:
            raise ValueError(f"not {row.number}")

        def on_error(self, error: Exception) -> None: ...

        def on_complete(self) -> None: ...

    with pytest.raises(
        UserError, match=r"ValueError: not 0 \(in for_each_partition, at .*\.py:\d+"
    ):
        result(on_spark(3).for_each_partition(lambda batch, partition: Refusing()))


def test_a_function_that_does_not_take_the_two_numbers_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="with two numbers, that of the batch and that of the part"):
        on_spark(3).for_each_partition(lambda: None)  # type: ignore[misc, arg-type]


# Demand.


def test_no_more_rows_come_than_were_requested_and_the_source_is_not_asked_for_more_than_fits() -> (
    None
):
    made: list[int] = []
    subscriber = Waiting(request=3)
    flow = numbers(100_000).do_on_next(lambda element: made.append(element[0]))
    flow.on_spark(NUMBERS, max_rows=500, batch_rows=100).subscribe(subscriber)
    subscriber.wait_for(lambda: len(subscriber.elements) == 3)
    # At most 500 in the journal; the 100 of the batch in hand are not committed, so among them.
    assert len(made) <= 500
    subscriber.request(300)
    subscriber.wait_for(lambda: len(subscriber.elements) == 303)
    assert len(made) <= 303 + 500
    subscriber.cancel()


def test_all_that_was_requested_comes_when_the_journal_is_small() -> None:
    rows = result(on_spark(2_000, max_rows=150, batch_rows=100).rows())
    assert [row.number for row in rows] == [*range(2_000)]


# Ends and errors.


def test_what_has_come_of_a_source_that_blocks_does_not_wait_for_the_rest() -> None:
    released = threading.Event()

    def three_then_one() -> Any:
        yield from ((number, "early") for number in range(3))
        released.wait(PATIENCE)
        yield 3, "late"

    subscriber = Waiting(request=10)
    Flow.from_iterable(three_then_one()).on_spark(NUMBERS).subscribe(subscriber)
    subscriber.wait_for(lambda: len(subscriber.elements) == 3)
    assert not released.is_set()
    released.set()
    subscriber.wait_for(lambda: subscriber.completed)
    assert [row.number for row in subscriber.elements] == [0, 1, 2, 3]


def test_an_error_from_upstream_comes_at_once_ahead_of_rows_that_nobody_asked_for() -> None:
    subscriber = Waiting(request=1)
    source: Flow[Any] = Flow.concat(numbers(1_000), Flow.error(LookupError("gone")))
    source.on_spark(NUMBERS, batch_rows=10).subscribe(subscriber)
    subscriber.wait_for(lambda: subscriber.error is not None)
    assert isinstance(subscriber.error, LookupError)
    assert len(subscriber.elements) <= 1


def seven(row: Any) -> Any:
    if row.number == 7:
        raise ValueError("it is seven")
    return row


def test_a_users_error_names_the_operator_and_the_line_and_is_short() -> None:
    with pytest.raises(UserError) as caught:
        result(on_spark(10).map(seven).rows())
    text = str(caught.value)
    assert text.startswith("ValueError: it is seven (in map, at ")
    assert "test_spark_flow.py:" in text
    assert text.endswith(", in seven)")
    assert len(text) < 300


def test_a_function_that_makes_what_does_not_fit_is_told_so() -> None:
    with pytest.raises(
        UserError, match="map made a wrong element: 'x' in field 'number' does not fit the schema"
    ):
        result(on_spark(3).map(lambda row: ("x", row.name)).rows())


def test_an_element_that_does_not_fit_ends_the_stream() -> None:
    flow = Flow.of((1, "a"), ("two", "b")).on_spark(NUMBERS)
    with pytest.raises(SchemaMismatch, match="'two' in field 'number'"):
        result(flow.rows())


def test_an_element_that_does_not_fit_is_a_dead_letter_where_somebody_takes_it() -> None:
    letters: list[DeadLetter] = []
    flow = Flow.of((1, "a"), ("two", "b"), (3, "c")).on_spark(NUMBERS, dead_letters=letters.append)
    assert [row.number for row in result(flow.rows())] == [1, 3]
    assert [(letter.element, letter.field) for letter in letters] == [(("two", "b"), "number")]


def test_cancel_stops_the_query_its_threads_and_its_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    subscriber = Waiting(request=1)
    on_spark(1_000, name="cancelled").subscribe(subscriber)
    subscriber.wait_for(lambda: subscriber.elements)
    assert list(tmp_path.iterdir())
    subscriber.cancel()
    join_runs()
    assert not [query.name for query in spark.streams.active]
    assert not list(tmp_path.iterdir())


# Bad input.


@pytest.mark.parametrize(
    ("assemble", "words"),
    [
        (
            lambda: on_spark(1, resume="maybe"),
            "resume is one of from_start, position, none, not 'maybe'",
        ),
        (lambda: on_spark(1, resume="position"), "Flow.resumable"),
        (lambda: on_spark(1, output_mode="all"), "output_mode is one of append, update, complete"),
        (lambda: on_spark(1, batch_rows=0), "batch_rows"),
        (lambda: on_spark(1).sql("SELECT 1"), "sql needs {stream}"),
        (
            lambda: on_spark(1).sql("SELECT {stream.sparkSession.sparkContext} FROM {stream}"),
            "sql knows {stream} only, not '{stream.sparkSession.sparkContext}'",
        ),
        (lambda: on_spark(1).sql("SELECT {0} FROM {stream}"), "not '{0}'"),
        (lambda: on_spark(1).sql("SELECT 1 FROM {stream!r}"), "sql knows {stream} only"),
        (lambda: on_spark(1).sql("SELECT '}' FROM {stream}"), "sql cannot read its query"),
        (lambda: numbers(1).on_spark("number lung"), "lung"),
        (lambda: on_spark(1, master="here"), "a master is local"),
    ],
)
def test_bad_settings_are_refused_at_assembly(assemble: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is looked at
        assemble()
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["scan", "zip", "distinct_until_changed", "take"])
def test_what_needs_one_sequence_is_refused_with_the_line_to_write_instead(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"write \.rows\(\)\.{name}\(\.\.\.\)"):
        getattr(on_spark(1), name)


@pytest.mark.parametrize("name", ["select", "withColumn", "groupBy", "where"])
def test_what_data_frames_can_do_is_refused_with_the_line_to_write_instead(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"write \.frame\(lambda frame: frame\.{name}\(\.\."):
        getattr(on_spark(1), name)


def test_what_both_can_do_is_refused_with_the_lines_for_here_and_for_spark() -> None:
    words = r"write \.rows\(\)\.distinct.*, or \.frame\(lambda frame: frame\.distinct"
    with pytest.raises(AttributeError, match=words):
        on_spark(1).distinct  # noqa: B018 - it is the attribute that is not there


def test_what_nobody_can_do_is_refused_without_advice() -> None:
    with pytest.raises(AttributeError, match="^a SparkFlow has no 'selekt'$"):
        on_spark(1).selekt  # noqa: B018


def test_rows_that_nobody_asked_for_by_name_are_assembled_at_the_last_line_of_the_user() -> None:
    # The tests called rows(): then the line of the user calls into the package.
    def transform(flow: SparkFlow) -> SparkFlow:
        return flow.filter(bool)

    flow = deployed(transform(on_spark(1)), Deployment())
    assert isinstance(flow, Flow)
    site = flow.plan.origin.site
    assert site is not None
    assert site.code is transform.__code__
    assert site.line == transform.__code__.co_firstlineno + 1


def test_a_function_that_cannot_be_sent_is_refused_before_data_moves() -> None:
    made: list[Any] = []
    lock = threading.Lock()
    flow = numbers(3).do_on_next(made.append).on_spark(NUMBERS)
    with pytest.raises(
        TypeError, match="map got a function that cannot be sent to Spark's workers"
    ):
        result(flow.map(lambda row: (row, lock)[0]).rows())
    assert made == []


# After a crash, or a stop.


def test_a_pipeline_that_is_run_again_goes_on_after_what_it_has_delivered(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"

    def run(count: int, wanted: int) -> Waiting:
        subscriber = Waiting(request=wanted)
        on_spark(count, name="again", checkpoint=place, batch_rows=10).subscribe(subscriber)
        return subscriber

    first = run(100, 30)
    first.wait_for(lambda: len(first.elements) == 30)
    first.cancel()
    join_runs()
    second = run(100, 1_000)
    second.wait_for(lambda: second.completed)
    seen = [row.number for row in first.elements], [row.number for row in second.elements]
    assert sorted({*seen[0], *seen[1]}) == [*range(100)]
    assert seen[1] == [*range(seen[1][0], 100)]
    # A batch that was delivered as a whole may come again if the stop came before its commit.
    assert 20 <= seen[1][0] <= 30


def test_a_source_with_positions_goes_on_after_the_last_one(tmp_path: Path) -> None:
    asked: list[object] = []

    def after(position: Any) -> Flow[Any]:
        asked.append(position)
        return Flow.range(0 if position is None else position + 1, 20)

    def run(wanted: int) -> Waiting:
        subscriber = Waiting(request=wanted)
        flow = Flow.resumable(after).map(lambda number: (number, "x"))
        flow.on_spark(
            NUMBERS,
            name="positions",
            checkpoint=tmp_path / "checkpoint",
            position=lambda element: element[0],
            max_rows=10,
            batch_rows=5,
        ).subscribe(subscriber)
        return subscriber

    first = run(5)
    first.wait_for(lambda: len(first.elements) == 5)
    first.cancel()
    join_runs()
    second = run(100)
    second.wait_for(lambda: second.completed)
    assert asked[0] is None
    assert asked[1] is not None
    numbers_seen = {row.number for row in [*first.elements, *second.elements]}
    assert numbers_seen == {*range(20)}


@pytest.mark.parametrize(
    ("schema", "name", "words"),
    [
        ("number long, name string", "other", "belongs to the pipeline 'mine', not to 'other'"),
        ("number long, title string", "mine", "was made for the schema"),
    ],
)
def test_a_foreign_checkpoint_is_refused_with_the_reason(
    tmp_path: Path, schema: str, name: str, words: str
) -> None:
    place = tmp_path / "checkpoint"
    result(on_spark(3, name="mine", checkpoint=place).rows())
    with pytest.raises(CheckpointError) as caught:
        result(numbers(3).on_spark(schema, name=name, checkpoint=place).rows())
    assert words in str(caught.value)


@pytest.mark.parametrize("lost", ["metadata", "offsets", "commits"])
def test_a_checkpoint_that_lacks_files_is_refused(tmp_path: Path, lost: str) -> None:
    place = tmp_path / "checkpoint"
    result(on_spark(30, name="whole", checkpoint=place, batch_rows=10).rows())
    target = place / "spark" / lost
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    with pytest.raises(CheckpointError, match="restore it from a backup, or start with a new"):
        result(on_spark(30, name="whole", checkpoint=place).rows())


def test_a_folder_with_other_things_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("")
    with pytest.raises(CheckpointError, match="is not empty and holds no checkpoint"):
        result(on_spark(1, checkpoint=tmp_path).rows())
