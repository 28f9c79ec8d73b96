"""Whole DataFrames as they come here: the same that ``toArrow`` brings, or an error."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from penstock.spark.egress.arrow_batches import LARGE, BatchCollector, read_message, read_number
from penstock.spark.egress.dataframe_sinks import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(300)


def frame_of_all_kinds(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(0, rows, 1, 3).selectExpr(
        "id",
        "IF(id % 3 = 0, NULL, concat('n', id)) AS name",
        "CAST(id AS decimal(20, 3)) AS exact",
        "timestamp_micros(id) AS moment",
        "CAST(timestamp_micros(id) AS timestamp_ntz) AS local",
        "array(id, NULL) AS list",
        "map('a', id) AS map",
        "named_struct('x', id, 'y', CAST(CAST(id AS string) AS binary)) AS struct",
    )


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    assert found.equals(expected)
    assert found.schema.equals(expected.schema, check_metadata=True)


@pytest.mark.classic
def test_it_is_what_spark_brings_itself(spark: SparkSession) -> None:
    collect = BatchCollector()
    for rows in (25_000, 0, 1):
        frame = frame_of_all_kinds(spark, rows)
        assert_same(collect(frame), frame.toArrow())
    spark.conf.set(LARGE, "true")
    try:
        frame = frame_of_all_kinds(spark, 10)
        assert_same(collect(frame), frame.toArrow())
        assert collect(frame).schema.field("name").type == pa.large_string()
    finally:
        spark.conf.unset(LARGE)


@pytest.mark.classic
def test_an_error_of_a_task_is_raised(spark: SparkSession) -> None:
    frame = spark.range(100).selectExpr("IF(id < 99, id, raise_error('the last one')) AS id")
    with pytest.raises(PySparkException, match="the last one"):
        BatchCollector()(frame)


def test_a_struct_with_two_fields_of_one_name_is_refused_as_spark_does(spark: SparkSession) -> None:
    frame = spark.sql("SELECT named_struct('a', 1, 'a', 2) AS both")
    for collect in (BatchCollector(), to_arrow):
        with pytest.raises(PySparkException, match="DUPLICATED_FIELD_NAME"):
            collect(frame)


@pytest.mark.parametrize("came", [b"", b"\0\0", b"\0\0\0\x09short"], ids=["none", "two", "part"])
def test_what_has_not_come_to_its_end_is_no_batch(came: bytes) -> None:
    stream = io.BytesIO(came)
    with pytest.raises(ConnectionError, match="Spark has gone"):
        read_message(stream, read_number(stream), pa.schema([("id", pa.int64())]))
