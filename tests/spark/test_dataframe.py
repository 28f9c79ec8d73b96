"""A DataFrame as a publisher: its rows, as they are wanted, and no partition before its time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from penstock import UNBOUNDED, Flow, X, collect_undelivered
from penstock.connectors import write_json_lines, write_parquet
from penstock.spark.dataframe import DataFramePublisher
from penstock.spark.failures import SparkFailed, UserError
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECONDS = 60.0
ANSWER_SECONDS = 5.0
"""Spark may take them while no thread of this process moves."""
THREADS = "penstock-dataframe"


@pytest.fixture(scope="module")
def row_by_row(spark: SparkSession) -> SparkSession:
    """A session whose batches have one row each; it has worked before, so that it is quick."""
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    Flow.from_dataframe(session.range(3)).count().run_sync()
    return session


def leaving_marks(folder: Path) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """Passes batches on, and leaves a file for each partition that is computed."""

    def mark(batches: Any) -> Iterator[pa.RecordBatch]:
        import uuid

        (folder / str(uuid.uuid4())).touch()
        yield from batches

    return mark


def blocking(folder: Path) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """Never passes a batch on; leaves a file when it is asked for one."""

    def block(batches: Any) -> Iterator[pa.RecordBatch]:
        import threading

        (folder / "entered").touch()
        threading.Event().wait()
        yield from batches

    return block


def blocking_after(number: int, folder: Path) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """Passes the batches on that begin with ``number``, and blocks at all others."""
    block = blocking(folder)

    def pass_or_block(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from [batch] if batch[0][0].as_py() == number else block([batch])

    return pass_or_block


def await_condition(condition: Callable[[], bool], what: str) -> None:
    """Look again and again, in vain for so many seconds at most."""
    pause = threading.Event()
    for _ in range(int(SECONDS / 0.05)):
        if condition():
            return
        pause.wait(0.05)
    pytest.fail(f"in vain: {what}")


def no_thread_is_left() -> bool:
    return not any(thread.name.startswith(THREADS) for thread in threading.enumerate())


# Rows and batches.


def test_structs_are_stored_as_spark_itself_stores_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(20).selectExpr(
        "id",
        "named_struct('start', id * 2, 'no attribute', named_struct('end', id)) AS window",
        "array(named_struct('city', 'NYC', 'gate', id), named_struct('city', 'ORD', 'gate', 7)) "
        "AS stops",
        "map('a', named_struct('delay', id / 2)) AS delays",
    )
    rows, lines, folder = Flow.from_dataframe(frame), tmp_path / "lines", tmp_path / "folder"
    schema = frame.limit(0).toArrow().schema
    for writer in (write_json_lines(lines), write_parquet(folder, schema=schema)):
        rows.subscribe(writer)
        assert writer.wait(SECONDS)
        assert writer.error is None
    theirs = [row.line for row in frame.selectExpr("to_json(struct(*)) AS line").collect()]
    assert [*map(json.loads, lines.read_text().splitlines())] == [*map(json.loads, theirs)]
    assert spark.read.parquet(str(folder)).collect() == frame.collect()


def test_the_rows_of_a_dataframe_are_named_tuples_in_order(spark: SparkSession) -> None:
    squares = spark.range(0, 100, 1, 3).selectExpr("id", "id * id AS square")
    rows = Flow.from_dataframe(squares).to_list().run_sync()
    assert rows == [(number, number * number) for number in range(100)]
    assert rows[3].square == 9


def test_the_example_in_the_documentation_is_right(spark: SparkSession) -> None:
    squares = spark.range(4).selectExpr("id * id AS square")
    assert Flow.from_dataframe(squares).map(X.square).to_list().run_sync() == [0, 1, 4, 9]


def test_the_batches_of_a_dataframe_are_those_of_to_arrow(spark: SparkSession) -> None:
    frame = spark.range(0, 25_000, 1, 2).selectExpr("id", "string(id) AS text", "id / 3 AS third")
    batches = list(Flow.from_dataframe(frame, batches=True).blocking())
    assert pa.Table.from_batches(batches).equals(frame.toArrow())
    assert len(batches) == 4


EVERYTHING = """
    SELECT true AS b, tinyint(1) AS i8, smallint(2) AS i16, 3 AS i32, 4L AS i64,
        float(0.5) AS f32, 0.25D AS f64, 1.50BD AS d, 'é' AS s, X'00FF' AS bin,
        DATE'2013-01-02' AS day, TIMESTAMP'2013-01-02 03:04:05.678901 Europe/Berlin' AS t,
        TIMESTAMP_NTZ'2013-01-02 03:04:05.678901' AS n, INTERVAL '1 02:03:04.5' DAY TO SECOND AS v,
        array(1, null) AS l, map('k', DATE'2013-01-02') AS m,
        struct('x' AS a, array(struct(1 AS c)) AS b) AS st
    UNION ALL
    SELECT null, null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null
"""


def test_values_of_every_type_arrive_as_python_has_them(spark: SparkSession) -> None:
    full, empty = list(Flow.from_dataframe(spark.sql(EVERYTHING)).blocking())
    moment = datetime(2013, 1, 2, 3, 4, 5, 678901)
    assert full == (
        True, 1, 2, 3, 4, 0.5, 0.25, Decimal("1.50"), "é", b"\x00\xff", date(2013, 1, 2),
        moment.replace(hour=2, tzinfo=UTC), moment,
        timedelta(days=1, hours=2, minutes=3, seconds=4.5),
        [1, None], {"k": date(2013, 1, 2)}, ("x", [(1,)]),
    )  # fmt: skip
    assert full.st.b[0].c == 1
    assert set(empty) == {None}


def test_columns_of_the_same_name_are_reached_by_place(spark: SparkSession) -> None:
    (row,) = list(Flow.from_dataframe(spark.sql("SELECT 1 AS a, 2 AS a")).blocking())
    assert (row, row.a, row._1) == ((1, 2), 1, 2)


def test_a_dataframe_without_rows_completes(spark: SparkSession) -> None:
    assert Flow.from_dataframe(spark.range(0)).to_list().run_sync() == []
    assert Flow.from_dataframe(spark.range(9).where("id > 10")).to_list().run_sync() == []


def test_every_subscriber_has_the_rows_computed_anew(spark: SparkSession, tmp_path: Path) -> None:
    marked = spark.range(0, 2, 1, 2).mapInArrow(leaving_marks(tmp_path), "id long")
    flow = Flow.from_dataframe(marked)
    assert flow.to_list().run_sync() == flow.to_list().run_sync() == [(0,), (1,)]
    assert len(list(tmp_path.iterdir())) == 4


def test_large_strings_are_read_as_they_are_sent(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    rows = Flow.from_dataframe(session.sql("SELECT 'text' AS a")).to_list().run_sync()
    assert rows == [("text",)]


# Demand.


@pytest.mark.classic
def test_partitions_are_computed_as_their_rows_are_wanted(
    spark: SparkSession, tmp_path: Path
) -> None:
    marked = spark.range(0, 40, 1, 4).mapInArrow(leaving_marks(tmp_path), "id long")
    subscriber: ManualSubscriber[Any] = ManualSubscriber()
    Flow.from_dataframe(marked).subscribe(subscriber)
    assert list(tmp_path.iterdir()) == []
    for wanted, partitions in ((1, 1), (10, 1), (11, 2), (30, 3)):
        subscriber.request(wanted - len(subscriber.elements))
        subscriber.await_elements(wanted, timeout=SECONDS)
        assert len(list(tmp_path.iterdir())) == partitions
    subscriber.cancel()
    await_condition(no_thread_is_left, "the threads of the stream end")
    assert len(list(tmp_path.iterdir())) == 3
    assert [row.id for row in subscriber.elements] == list(range(30))
    subscriber.assert_no_rule_broken()


@pytest.mark.classic
def test_one_partition_and_no_more_is_computed_ahead_if_so_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    marked = spark.range(0, 40, 1, 4).mapInArrow(leaving_marks(tmp_path), "id long")
    subscriber: ManualSubscriber[Any] = ManualSubscriber()
    Flow.from_dataframe(marked, prefetch_partitions=True).subscribe(subscriber)
    assert list(tmp_path.iterdir()) == []
    for wanted, partitions in ((1, 2), (10, 2), (11, 3), (30, 4)):
        subscriber.request(wanted - len(subscriber.elements))
        subscriber.await_elements(wanted, timeout=SECONDS)
        await_condition(partial(has_files, tmp_path, partitions), f"{partitions} are computed")
    subscriber.request(11)
    subscriber.await_end(timeout=SECONDS)
    assert [row.id for row in subscriber.elements] == list(range(40))
    assert has_files(tmp_path, 4)
    subscriber.assert_no_rule_broken()
    await_condition(no_thread_is_left, "the threads of the stream end")


@pytest.mark.classic
@pytest.mark.parametrize("of", ["flow", "publisher"])
def test_one_partition_and_no_more_is_computed_ahead_where_all_rows_are_wanted(
    spark: SparkSession, tmp_path: Path, of: str
) -> None:
    marked = spark.range(0, 3, 1, 3).mapInArrow(leaving_marks(tmp_path), "id long")
    subscriber = LookingSubscriber(tmp_path)
    if of == "flow":
        Flow.from_dataframe(marked).subscribe(subscriber)
    else:
        DataFramePublisher(marked).subscribe(subscriber)
    subscriber.await_end(timeout=SECONDS)
    subscriber.assert_completed()
    assert subscriber.seen == [2, 3, 3]
    await_condition(no_thread_is_left, "the threads of the stream end")


class LookingSubscriber(ManualSubscriber[Any]):
    """Takes an element once as much is computed as may be; ``seen`` is how much that was."""

    def __init__(self, folder: Path) -> None:
        super().__init__(request=UNBOUNDED)
        self._folder = folder
        self.seen: list[int] = []

    def on_next(self, element: Any) -> None:
        expected = min(len(self.seen) + 2, 3)
        await_condition(partial(has_files, self._folder, expected), f"{expected} are computed")
        self.seen.append(len(list(self._folder.iterdir())))
        super().on_next(element)


@pytest.mark.classic
@pytest.mark.parametrize(
    "run",
    [
        pytest.param(lambda flow: flow.take(5).to_list().run_sync(), id="take"),
        pytest.param(lambda flow: flow.first().run_sync(), id="first"),
        pytest.param(lambda flow: next(iter(flow.blocking())), id="blocking"),
        pytest.param(lambda flow: list(flow.blocking()), id="blocking to the end"),
    ],
)
def test_no_partition_is_computed_ahead_where_some_rows_are_wanted_or_so_told(
    spark: SparkSession, tmp_path: Path, run: Callable[[Flow[Any]], object]
) -> None:
    computed: list[int] = []

    def look(row: Any) -> None:
        computed.append(len(list(tmp_path.iterdir())))

    marked = spark.range(0, 20, 1, 2).mapInArrow(leaving_marks(tmp_path), "id long")
    run(Flow.from_dataframe(marked).do_on_next(look))
    assert computed[:10] == [1] * len(computed[:10])
    computed.clear()
    for path in tmp_path.iterdir():
        path.unlink()
    Flow.from_dataframe(marked, prefetch_partitions=False).do_on_next(look).count().run_sync()
    assert computed == [1] * 10 + [2] * 10


def has_files(folder: Path, count: int) -> bool:
    return len(list(folder.iterdir())) == count


@pytest.mark.classic
def test_cancel_stops_the_partition_that_is_computed_ahead(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(0, 2, 1, 2).mapInArrow(blocking_after(0, tmp_path), "id long")
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    Flow.from_dataframe(frame, prefetch_partitions=True).subscribe(subscriber)
    subscriber.await_elements(1, timeout=SECONDS)
    await_condition((tmp_path / "entered").exists, "Spark computes ahead")
    subscriber.cancel()
    tracker = spark.sparkContext.statusTracker()
    await_condition(lambda: not tracker.getActiveJobsIds(), "Spark stops")
    await_condition(no_thread_is_left, "the threads of the stream end")
    subscriber.assert_not_ended()


def test_batches_are_counted_one_by_one(row_by_row: SparkSession) -> None:
    subscriber: ManualSubscriber[pa.RecordBatch] = ManualSubscriber()
    DataFramePublisher(row_by_row.range(0, 5, 1, 1)).subscribe(subscriber)
    subscriber.await_subscription(timeout=SECONDS)
    subscriber.request(2)
    subscriber.await_elements(2, timeout=SECONDS)
    subscriber.request(4)
    subscriber.await_end(timeout=SECONDS)
    assert [batch.to_pydict() for batch in subscriber.elements] == [
        {"id": [number]} for number in range(5)
    ]
    subscriber.assert_completed()
    subscriber.assert_no_rule_broken()
    await_condition(no_thread_is_left, "the threads of the stream end")


@pytest.mark.classic
def test_cancel_stops_what_spark_computes(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(1).mapInArrow(blocking(tmp_path), "id long")
    assert_cancel_stops(spark, frame, tmp_path)


@pytest.mark.classic
def test_cancel_stops_what_spark_computes_before_the_first_partition(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(2).mapInArrow(blocking(tmp_path), "id long").groupBy("id").count()
    assert_cancel_stops(spark, frame, tmp_path)


def assert_cancel_stops(spark: SparkSession, frame: DataFrame, folder: Path) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    with collect_undelivered() as undelivered:
        Flow.from_dataframe(frame).subscribe(subscriber)
        await_condition((folder / "entered").exists, "Spark begins")
        subscriber.cancel()
        tracker = spark.sparkContext.statusTracker()
        await_condition(lambda: not tracker.getActiveJobsIds(), "Spark stops")
        await_condition(no_thread_is_left, "the threads of the stream end")
    assert list(undelivered) == []
    subscriber.assert_not_ended()


def test_an_illegal_request_is_answered_while_spark_computes(
    spark: SparkSession, tmp_path: Path
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    frame = spark.range(1).mapInArrow(blocking(tmp_path), "id long")
    DataFramePublisher(frame).subscribe(subscriber)
    await_condition((tmp_path / "entered").exists, "Spark begins")
    subscriber.subscription.request(0)
    subscriber.await_end(timeout=SECONDS)
    subscriber.assert_failed(ValueError, match="3.9")
    await_condition(no_thread_is_left, "the threads of the stream end")


@pytest.mark.classic  # a server of Spark Connect computes ahead of what is wanted
def test_take_leaves_the_rest_uncomputed(spark: SparkSession, tmp_path: Path) -> None:
    marked = spark.range(0, 4, 1, 4).mapInArrow(leaving_marks(tmp_path), "id long")
    assert Flow.from_dataframe(marked).take(2).to_list().run_sync() == [(0,), (1,)]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_publisher_of_batches_passes_the_kit(row_by_row: SparkSession) -> None:
    report = verify_publisher(
        lambda count: DataFramePublisher(row_by_row.range(0, count, 1, 1)),
        failed=lambda: DataFramePublisher(row_by_row.sql("SELECT raise_error('no') AS a")),
        concurrent_requests=True,
        strict_types=True,
        explains_illegal_requests=True,
        passes_interrupts=False,
        reports_to_hook=True,
        repeatable=True,
        answers_within=ANSWER_SECONDS,
    )
    assert report.passed, str(report)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_flow_of_rows_passes_the_kit(spark: SparkSession) -> None:
    report = verify_publisher(
        lambda count: Flow.from_dataframe(spark.range(0, count, 1, 1)),
        failed=lambda: Flow.from_dataframe(spark.sql("SELECT raise_error('no') AS a")),
        concurrent_requests=True,
        passes_interrupts=False,
        repeatable=True,
        answers_within=ANSWER_SECONDS,
    )
    assert report.passed, str(report)


CONNECTED = """
import os, sys, threading
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from penstock import Flow
from penstock.testing import ManualSubscriber

spark = SparkSession.builder.remote("local[2]").getOrCreate()
frame = spark.range(0, 25_000, 1, 2)
assert [row.id for row in Flow.from_dataframe(frame).blocking()] == list(range(25_000))

def block(batches):
    threading.Event().wait()
    yield from batches

subscriber = ManualSubscriber(request=1)
Flow.from_dataframe(spark.range(1).mapInArrow(block, "id long")).subscribe(subscriber)
threading.Event().wait(3)
subscriber.cancel()
for thread in threading.enumerate():
    if thread.name.startswith("penstock-dataframe"):
        thread.join(60)
        assert not thread.is_alive()
print("done")
"""


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_dataframe_of_spark_connect_is_read_and_cancelled_as_well() -> None:
    said = subprocess.check_output(
        [sys.executable, "-c", CONNECTED], encoding="utf-8", stderr=subprocess.DEVNULL
    )
    assert said.splitlines()[-1] == "done"


# What can go wrong.


def test_an_error_in_a_function_of_the_user_is_short_and_names_its_line(
    spark: SparkSession,
) -> None:
    def checked(batches: Any) -> Any:
        for batch in batches:
            raise ValueError(f"{batch.num_rows} is too much")

    frame = spark.range(0, 70, 1, 1).mapInArrow(checked, "id long")
    with pytest.raises(UserError) as failed:
        Flow.from_dataframe(frame).to_list().run_sync()
    line = checked.__code__.co_firstlineno + 2
    assert str(failed.value) == (f"ValueError: 70 is too much (at {__file__}:{line}, in checked)")
    assert "from_dataframe" in failed.value.__notes__[0]


@pytest.mark.classic
def test_an_error_of_spark_is_short_and_says_what_to_do(spark: SparkSession) -> None:
    with pytest.raises(SparkFailed, match=r"^\w+: \[DIVIDE_BY_ZERO\] Division by zero. Use"):
        Flow.from_dataframe(spark.sql("SELECT 1 / (id - 1) FROM range(3)")).to_list().run_sync()


def test_what_came_before_an_error_is_delivered(spark: SparkSession) -> None:
    frame = spark.range(0, 4, 1, 4).selectExpr("IF(id < 2, id, raise_error('no')) AS a")
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=9)
    Flow.from_dataframe(frame).subscribe(subscriber)
    subscriber.await_end(timeout=SECONDS)
    assert subscriber.elements == [(0,), (1,)]
    subscriber.assert_failed(SparkFailed, match="no")


def test_something_else_is_no_dataframe() -> None:
    with pytest.raises(TypeError, match="from_dataframe needs a DataFrame of Spark, not \\[1\\]"):
        Flow.from_dataframe([1])


def test_a_dataframe_that_is_a_stream_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="needs a DataFrame that ends, and this one is a stream"):
        Flow.from_dataframe(spark.readStream.format("rate").load())


def test_without_pyarrow_one_sentence_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from penstock import Flow\n"
        "try:\n"
        "    Flow.from_dataframe(1)\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    said = subprocess.check_output([sys.executable, "-c", program], encoding="utf-8")
    assert said == "from_dataframe needs pyarrow, which is not installed; install penstock[spark]\n"
