"""Streams that Spark reads itself: what comes out, when it is computed, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark import CheckpointError, SparkFlow, StateChanged, UserError
from penstock.spark.egress.batch_delivery import BatchHandoff
from penstock.spark.stream_input import known_source, stream_input
from tests.spark.test_spark_flow import Waiting, result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 240.0
SCHEMA = "number long, name string"

pytestmark = pytest.mark.timeout(300)


def rows_of(file: int, count: int) -> list[tuple[int, str]]:
    return [(100 * file + place, f"n{place}") for place in range(count)]


def write(folder: Path, file: int, count: int) -> None:
    """A file of JSON lines, which is there at once, and newer than those before."""
    lines = [json.dumps({"number": number, "name": name}) for number, name in rows_of(file, count)]
    hidden = folder / f".{file}.json"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    os.utime(hidden, (1_000_000_000 + file, 1_000_000_000 + file))
    hidden.rename(folder / f"{file}.json")


def reading(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def counting(spark: SparkSession, rows: int = 10) -> DataFrame:
    """Numbers from 0 on, so many in each batch."""
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).load()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files with 4, 0, 3, 5 rows."""
    made = tmp_path / "in"
    made.mkdir()
    for file, count in enumerate((4, 0, 3, 5)):
        write(made, file, count)
    return made


ALL = [row for file, count in enumerate((4, 0, 3, 5)) for row in rows_of(file, count)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Waits until a batch of that number has asked whether it is to be computed."""
    changed, seen = threading.Condition(), set[int]()
    admit = BatchHandoff.admit

    def noted(handoff: BatchHandoff, number: int, *, on_demand: bool) -> None:
        with changed:
            seen.add(number)
            changed.notify_all()
        admit(handoff, number, on_demand=on_demand)

    def wait_for(number: int) -> None:
        with changed:
            assert changed.wait_for(lambda: number in seen, PATIENCE)

    monkeypatch.setattr(BatchHandoff, "admit", noted)
    return wait_for


def jobs_of(spark: SparkSession, name: str) -> int:
    """How many jobs Spark has run for the query of a flow."""
    (query,) = [each for each in spark.streams.active if str(each.name).startswith(name)]
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()  # the tracker is told of jobs by that
    tracker = spark.sparkContext.statusTracker()
    return len(tracker.getJobIdsForGroup(str(query.runId)))


# What comes out.


def test_files_come_out_row_by_row_as_python_reads_them(spark: SparkSession, folder: Path) -> None:
    flow = SparkFlow.from_stream(reading(spark, folder), until_end=True)
    assert [tuple(row) for row in result(flow.rows())] == ALL


def test_all_that_a_spark_flow_can_do_is_done_to_it(spark: SparkSession, folder: Path) -> None:
    flow = (
        SparkFlow.from_stream(reading(spark, folder), until_end=True)
        .filter(lambda row: row.number % 2)
        .map(lambda row: (row.number, row.name.upper()))
        .sql("SELECT number + 1 AS next, name FROM {stream}")
    )
    expected = [(number + 1, name.upper()) for number, name in ALL if number % 2]
    assert [tuple(row) for row in result(flow.rows())] == expected


def test_batches_have_the_numbers_of_spark_and_the_rows_of_one_file(
    spark: SparkSession, folder: Path
) -> None:
    flow = SparkFlow.from_stream(reading(spark, folder), until_end=True)
    batches = result(flow.numbered_batches())
    assert [(each.batch_id, each.num_rows) for each in batches] == [(0, 4), (1, 0), (2, 3), (3, 5)]


@pytest.mark.classic
def test_a_function_gets_each_batch(spark: SparkSession, folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    flow = SparkFlow.from_stream(reading(spark, folder), until_end=True)
    result(flow.for_each_batch(lambda frame, number: seen.append((number, frame.count()))))
    assert seen == [(0, 4), (1, 0), (2, 3), (3, 5)]


def test_spark_writes_it_by_a_sink_of_its_own(spark: SparkSession, folder: Path) -> None:
    out = folder.with_name("out")
    flow = SparkFlow.from_stream(reading(spark, folder), until_end=True)
    assert result(flow.write("parquet", path=str(out))) == []
    written = spark.read.parquet(str(out)).collect()
    assert sorted((row.number, row.name) for row in written) == sorted(ALL)


# Demand.


@pytest.mark.classic
@pytest.mark.parametrize("source", ["rate", "rate-micro-batch"])
def test_nothing_is_computed_while_nothing_is_wanted(
    spark: SparkSession, asked: Callable[[int], None], source: str
) -> None:
    option = {"rate": "rowsPerSecond", "rate-micro-batch": "rowsPerBatch"}[source]
    frame = spark.readStream.format(source).option(option, 10).option("numPartitions", 1).load()
    idle, busy = Waiting(), Waiting(request=30)
    SparkFlow.from_stream(frame, name=f"idle {source}").rows().subscribe(idle)
    asked(0)
    SparkFlow.from_stream(counting(spark), name="busy").rows().subscribe(busy)
    busy.wait_for(lambda: len(busy.elements) == 30)
    busy.cancel()
    assert (jobs_of(spark, f"idle {source}"), idle.elements) == (0, [])
    idle.request(25)
    idle.wait_for(lambda: len(idle.elements) == 25)
    assert [row.value for row in idle.elements] == list(range(25))
    idle.cancel()


@pytest.mark.classic
def test_a_batch_is_computed_only_for_what_the_ones_before_did_not_have(
    spark: SparkSession, asked: Callable[[int], None]
) -> None:
    subscriber = Waiting(request=20)
    SparkFlow.from_stream(counting(spark), name="exact").rows().subscribe(subscriber)
    subscriber.wait_for(lambda: len(subscriber.elements) == 20)
    asked(2)
    jobs = jobs_of(spark, "exact")
    assert jobs == 2
    subscriber.request(1)
    subscriber.wait_for(lambda: len(subscriber.elements) == 21)
    assert jobs_of(spark, "exact") == 3
    subscriber.cancel()


def test_empty_batches_use_up_nobodys_demand(spark: SparkSession, tmp_path: Path) -> None:
    for file in range(3):
        write(tmp_path, file, 0)
    write(tmp_path, 3, 2)
    subscriber = Waiting(request=1)
    SparkFlow.from_stream(reading(spark, tmp_path)).rows().subscribe(subscriber)
    subscriber.wait_for(lambda: subscriber.elements)
    assert [tuple(row) for row in subscriber.elements] == rows_of(3, 2)[:1]
    subscriber.cancel()


def test_what_comes_later_comes_out_later(spark: SparkSession, folder: Path) -> None:
    subscriber = Waiting(request=1_000)
    SparkFlow.from_stream(reading(spark, folder)).rows().subscribe(subscriber)
    subscriber.wait_for(lambda: len(subscriber.elements) == len(ALL))
    write(folder, 4, 6)
    subscriber.wait_for(lambda: len(subscriber.elements) == len(ALL) + 6)
    assert [tuple(row) for row in subscriber.elements] == ALL + rows_of(4, 6)
    assert not subscriber.completed
    subscriber.cancel()


# With inputs that go through journals.


@pytest.mark.parametrize("first", ["stream", "journal"])
def test_it_is_united_with_what_goes_through_a_journal(
    spark: SparkSession, folder: Path, first: str
) -> None:
    journaled = [(number, "journaled") for number in range(50)]
    stream = SparkFlow.from_stream(reading(spark, folder))
    other = Flow.from_iterable(journaled).on_spark(SCHEMA, batch_rows=20)
    subscriber = Waiting(request=1_000)
    (stream.union(other) if first == "stream" else other.union(stream)).rows().subscribe(subscriber)
    subscriber.wait_for(lambda: len(subscriber.elements) == len(ALL) + 50)
    assert sorted(tuple(row) for row in subscriber.elements) == sorted(ALL + journaled)
    assert not subscriber.completed
    subscriber.cancel()


def test_it_is_joined_with_what_goes_through_a_journal(spark: SparkSession, folder: Path) -> None:
    cities = [(number, f"c{number}") for number in range(0, 400, 3)]
    expected = sorted((number, name, f"c{number}") for number, name in ALL if number % 3 == 0)
    subscriber = Waiting(request=1_000)
    journaled = Flow.from_iterable(cities).on_spark("number long, city string")
    joined = SparkFlow.from_stream(reading(spark, folder)).join(journaled, "number")
    joined.rows().subscribe(subscriber)
    subscriber.wait_for(lambda: len(subscriber.elements) == len(expected))
    assert sorted(tuple(row) for row in subscriber.elements) == expected
    subscriber.cancel()


# Checkpoints.


def taken(flow: SparkFlow, count: int) -> list[Any]:
    """The first rows of a flow, which is then cancelled; its last batch was not done."""
    return result(flow.rows().take(count))


def test_a_restart_goes_on_with_the_batch_that_was_not_done(
    spark: SparkSession, folder: Path
) -> None:
    def flow() -> SparkFlow:
        place = folder.with_name("checkpoint")
        return SparkFlow.from_stream(reading(spark, folder), checkpoint=place, until_end=True)

    assert [tuple(row) for row in taken(flow(), 6)] == ALL[:6]
    assert [tuple(row) for row in result(flow().rows())] == ALL[4:]
    assert result(flow().rows()) == []
    write(folder, 4, 2)
    assert [tuple(row) for row in result(flow().rows())] == rows_of(4, 2)


@pytest.mark.classic
def test_a_checkpoint_that_was_made_for_other_inputs_is_refused(
    spark: SparkSession, folder: Path
) -> None:
    place = folder.with_name("checkpoint")
    taken(SparkFlow.from_stream(reading(spark, folder), checkpoint=place), 1)
    others = [
        SparkFlow.from_stream(counting(spark), checkpoint=place),
        Flow.range(3).map(lambda number: (number, "")).on_spark(SCHEMA, checkpoint=place),
    ]
    now = ["stream of rate-micro-batch", f"schema '{SCHEMA}'"]
    for other, words in zip(others, now, strict=True):
        with pytest.raises(CheckpointError) as refused:
            result(other.rows())
        assert f"was made for the stream of json {folder}, " in str(refused.value)
        assert f"the pipeline now has the {words}; name another place" in str(refused.value)


def test_a_checkpoint_has_one_run_at_a_time(
    spark: SparkSession, asked: Callable[[int], None], tmp_path: Path
) -> None:
    flow = SparkFlow.from_stream(counting(spark), checkpoint=tmp_path / "checkpoint")
    first = Waiting()
    flow.rows().subscribe(first)
    asked(0)
    with pytest.raises(CheckpointError, match="is in use by another run of the pipeline"):
        taken(flow, 1)
    first.request(3)
    first.wait_for(lambda: len(first.elements) == 3)
    first.cancel()
    assert len(taken(flow, 1)) == 1


def test_state_over_files_keeps_its_meaning(spark: SparkSession, folder: Path) -> None:
    def flow(query: str) -> SparkFlow:
        stream = SparkFlow.from_stream(
            reading(spark, folder),
            checkpoint=folder.with_name("checkpoint"),
            output_mode="complete",
            until_end=True,
        )
        return stream.sql(query)

    last = result(flow("SELECT count(*) AS rows FROM {stream}").rows())[-1]
    assert last.rows == len(ALL)
    write(folder, 4, 2)
    with pytest.raises(StateChanged, match="keeps the state of Aggregate"):
        result(flow("SELECT sum(number) AS rows FROM {stream}").rows())
    assert result(flow("SELECT count(*) AS rows FROM {stream}").rows())[-1].rows == len(ALL) + 2


# What is refused, and what fails.


def test_what_is_no_stream_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="from_stream needs a DataFrame of Spark, not 5"):
        SparkFlow.from_stream(5)
    with pytest.raises(ValueError, match=r"this DataFrame ends; use Flow.from_dataframe"):
        SparkFlow.from_stream(spark.range(3))


@pytest.mark.classic
def test_a_source_that_would_give_all_it_has_in_one_batch_is_refused(
    spark: SparkSession, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unlimited = spark.readStream.schema(SCHEMA).json(str(folder))
    with pytest.raises(ValueError, match=r"needs a limit for the source json .*in: .*maxFilesPer"):
        SparkFlow.from_stream(unlimited)
    with pytest.raises(ValueError, match="needs a limit for the source json"):
        SparkFlow.from_stream(counting(spark).unionByName(unlimited, allowMissingColumns=True))
    with caplog.at_level(logging.WARNING, "penstock"):
        SparkFlow.from_stream(counting(spark))
        assert caplog.messages == []
        SparkFlow.from_stream(spark.readStream.format("rate").load())
    (warning,) = caplog.messages
    assert "of the source rate no limit of its batches is known" in warning


@pytest.mark.classic
def test_what_is_read_is_known_from_the_plan_of_spark(spark: SparkSession, folder: Path) -> None:
    both = reading(spark, folder).select("number").union(counting(spark).select("value"))
    given = stream_input("from_stream", both.where("number > 1"))
    files, numbers = given.sources
    assert (files.name, files.place) == ("json", str(folder))
    assert (files.limited, files.limit) == (True, "maxFilesPerTrigger")
    assert (numbers.name, numbers.limited, numbers.limit) == ("rate-micro-batch", True, "")
    assert given.description == f"{files.description} and rate-micro-batch"


@pytest.mark.parametrize(
    ("name", "options", "description"),
    [
        ("kafka", {"subscribe": "orders", "kafka.sasl.jaas.config": "s3cret"}, "kafka orders"),
        ("kafka", {"subscribePattern": "orders-.*"}, "kafka orders-.*"),
        ("json", {"path": "s3a://key:s3cret@bucket/in"}, "json s3a://bucket/in"),
        ("csv", {"path": "/data/a@b"}, "csv /data/a@b"),
        ("mine", {"password": "s3cret"}, "mine"),
    ],
)
def test_a_source_is_described_without_secrets(
    name: str, options: dict[str, str], description: str
) -> None:
    source = known_source(name, options)
    assert source.description == description
    assert "s3cret" not in repr(source)


def test_streams_that_end_and_others_do_not_go_together(spark: SparkSession) -> None:
    ends = SparkFlow.from_stream(counting(spark), until_end=True)
    other = Flow.range(3).map(lambda number: (number,)).on_spark("value long")
    with pytest.raises(ValueError, match="give until_end to each from_stream"):
        ends.union(other)


def test_it_goes_together_with_its_own_session_only(spark: SparkSession) -> None:
    stream = SparkFlow.from_stream(counting(spark))
    numbers = Flow.range(3).map(lambda number: (number,))
    stream.union(numbers.on_spark("value long", session=spark))
    for options in ({"master": "spark://elsewhere:7077"}, {"session": spark.newSession()}):
        with pytest.raises(ValueError, match="what runs in its own session only"):
            numbers.on_spark("value long", **options).union(stream)


def test_the_error_of_a_function_names_its_line(spark: SparkSession) -> None:
    flow = SparkFlow.from_stream(counting(spark)).map(lambda row: row.value / 0)
    with pytest.raises(UserError, match=r"ZeroDivisionError.*in map, at .*test_from_stream.py"):
        result(flow.rows().take(1))


@pytest.mark.classic
def test_kafka_without_its_package_is_the_error_of_spark(spark: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "localhost:1")
    with pytest.raises(AnalysisException, match="Failed to find data source: kafka"):
        reader.option("subscribe", "orders").load()


# How it shows itself.


def test_it_is_drawn_with_what_spark_reads(spark: SparkSession) -> None:
    flow = SparkFlow.from_stream(counting(spark), name="numbers").filter(lambda row: row.value)
    assert repr(flow) == "<SparkFlow numbers: from_stream filter>"
    drawn = flow._repr_html_()
    assert "rate-micro-batch" in drawn
    assert "read by Spark" in drawn
    assert "journal" not in drawn
    assert "from_stream" in str(flow.rows().explain())
