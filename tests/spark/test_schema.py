"""A schema is the same thing to Arrow, to Spark and to people."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, CalendarIntervalType, LongType, StringType, StructType

from penstock.spark.ingest.schema import Schema, SchemaError
from penstock.spark.private_api import arrow_schema_of
from tests.spark.values import SCHEMAS, SIMPLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYTHING = (
    ", ".join(f"f{number} {kind}" for number, kind in enumerate(SIMPLE))
    + ", l array<array<string>>, m map<string, map<int,date>> NOT NULL"
    + ", s struct<a: int NOT NULL, `b c`: array<timestamp>> COMMENT 'two of them'"
)


def test_a_text_becomes_the_arrow_schema_that_it_describes() -> None:
    schema = Schema.of("flight long, origin string NOT NULL, hour timestamp, tags array<string>")
    assert schema.arrow == pa.schema(
        [
            pa.field("flight", pa.int64()),
            pa.field("origin", pa.string(), nullable=False),
            pa.field("hour", pa.timestamp("us", tz="UTC")),
            pa.field("tags", pa.list_(pa.field("element", pa.string()))),
        ]
    )
    assert schema.names == ("flight", "origin", "hour", "tags")


def test_spark_reads_a_schema_as_we_do(spark: SparkSession) -> None:
    schema = Schema.of(EVERYTHING)
    assert StructType.fromDDL(schema.ddl) == schema.spark


@given(SCHEMAS)
def test_the_arrow_schema_is_the_one_that_spark_expects(schema: Schema) -> None:
    expected = arrow_schema_of(schema.spark, large=False)
    assert schema.arrow.equals(expected)


@given(SCHEMAS)
def test_every_form_of_a_schema_leads_back_to_it(schema: Schema) -> None:
    assert Schema.of(schema.ddl) == Schema.of(schema.arrow) == Schema.of(schema.spark) == schema
    assert Schema.of(schema) is schema


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("A BIGINT", "A long"),
        ("a tinyint, b smallint, c integer", "a byte, b short, c int"),
        ("a real, b timestamp_ltz", "a float, b timestamp"),
        ("a numeric(5,1), b dec(4), c decimal", "a decimal(5,1), b decimal(4,0), c decimal(10,0)"),
        ("a: int not null", "a int NOT NULL"),
        ("struct<a: int, b: string>", "a int, b string"),
        ("struct int", "struct int"),
        (" a\n int,\tb\tlong ", "a int, b long"),
        ("a int COMMENT 'x, y', b long", "a int, b long"),
        ("1st int", "1st int"),
    ],
)
def test_there_are_several_ways_to_write_the_same(text: str, same: str) -> None:
    assert Schema.of(text) == Schema.of(same)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at its end, marked by ^ in '^': expected the name of a field"),
        ("a", "at its end, marked by ^ in 'a^': expected a type; allowed are boolean, byte"),
        ("a lng, b int", "at character 3, marked by ^ in 'a ^lng, b int': 'lng' is not a type"),
        ("a strnig", "'strnig' is not a type, perhaps 'string' is meant"),
        ("a int b int", "'a int ^b int': expected ',' or the end"),
        ("a int,", "'a int,^': expected the name of a field"),
        ("a int; b int", "'a int^; b int': ';' cannot stand here"),
        ("a array<int", "'a array<int^': expected '>'"),
        ("a array int", "'a array ^int': expected '<'"),
        ("a map<int>", "'a map<int^>': expected ','"),
        ("a struct<>", "'a struct<^>': expected the name of a field"),
        ("a decimal(39,0)", "the precision of a decimal must be a number from 1 to 38"),
        ("a decimal(3,4)", "the scale of a decimal must be a number from 0 to 3"),
        ("a int, A long", "'a int, ^A long': the name 'A' stands here a second time"),
        ("a interval year to month", "only 'interval day to second' is allowed"),
        ("a int COMMENT x", "'a int COMMENT ^x': expected a comment in quotes"),
        ("a int DEFAULT 3", "'a int ^DEFAULT 3': expected ',' or the end"),
        ("`` int", "expected the name of a field"),
        ("a " + "array<" * 40 + "int" + ">" * 40, "nested more than 32 deep"),
    ],
)
def test_a_wrong_text_is_refused_with_the_place_and_what_is_allowed(text: str, reason: str) -> None:
    with pytest.raises(SchemaError) as refused:
        Schema.of(text)
    assert reason in str(refused.value)


@given(st.text(alphabet="ab int,<>()`'\"struct array:decimal09\n", max_size=40))
def test_any_text_is_a_schema_or_refused_by_a_schema_error(text: str) -> None:
    try:
        schema = Schema.of(text)
    except SchemaError:
        return
    assert Schema.of(schema.ddl) == schema


@pytest.mark.parametrize(
    ("given_type", "taken"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.binary(4), pa.binary()),
        (pa.date64(), pa.date32()),
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("s", tz="Europe/Berlin"), pa.timestamp("us", tz="UTC")),
        (pa.duration("s"), pa.duration("us")),
        (pa.decimal256(20, 3), pa.decimal128(20, 3)),
        (pa.dictionary(pa.int8(), pa.string()), pa.string()),
        (pa.large_list(pa.int64()), pa.list_(pa.field("element", pa.int64()))),
        (pa.list_(pa.int64(), 3), pa.list_(pa.field("element", pa.int64()))),
        (
            pa.list_(pa.field("item", pa.int64(), nullable=False)),
            pa.list_(pa.field("element", pa.int64())),
        ),
    ],
)
def test_types_of_arrow_become_those_that_spark_has(
    given_type: pa.DataType, taken: pa.DataType
) -> None:
    assert Schema.of(pa.schema([("a", given_type)])).arrow == pa.schema([("a", taken)])


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (pa.schema([("a", pa.uint8())]), "the field 'a' is a uint8, which is not allowed; use"),
        (pa.schema([("a", pa.struct([("b", pa.null())]))]), "the field 'a.b' is a null"),
        (pa.schema([("a", pa.list_(pa.float16()))]), "the field 'a.element' is a halffloat"),
        (pa.schema([("a", pa.decimal256(50, 3))]), "is at most 38"),
        (pa.schema([("a", pa.int8()), ("A", pa.int8())]), "has the name 'A' twice"),
        (pa.schema([("", pa.int8())]), "a field without a name"),
        (pa.schema([]), "has no fields"),
        (StructType().add("a", CalendarIntervalType()), "the field 'a' is a interval"),
    ],
)
def test_a_schema_that_spark_cannot_have_is_refused_with_its_field(
    schema: pa.Schema, reason: str
) -> None:
    with pytest.raises(SchemaError, match=reason):
        Schema.of(schema)


def test_what_spark_says_of_nulls_in_arrays_is_widened_to_what_a_text_can_say() -> None:
    strict = StructType().add("a", ArrayType(LongType(), containsNull=False), nullable=False)
    assert Schema.of(strict).ddl == "a array<long> NOT NULL"


def test_something_else_is_no_schema() -> None:
    with pytest.raises(TypeError, match="not StringType"):
        Schema.of(StringType())


def test_schemas_are_compared_by_their_fields() -> None:
    assert Schema.of("a int") == Schema.of("a int")
    assert Schema.of("a int") != Schema.of("a int NOT NULL")
    assert str(Schema.of("a INT, `b c` string")) == "a int, `b c` string"


def test_a_schema_needs_no_pyspark_and_penstock_no_pyarrow() -> None:
    program = (
        "import sys, penstock\n"
        "assert not {'pyarrow', 'pyspark', 'numpy'} & set(sys.modules)\n"
        "from penstock.spark.ingest.conversion import Converter\n"
        "from penstock.spark.ingest.schema import Schema\n"
        "import penstock.spark.session.spark_session, penstock.spark.dataframe\n"
        "Converter(Schema.of('a int')).convert([(1,)])\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
