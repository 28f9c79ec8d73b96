"""Values of other libraries, and odd ones of Python: kept as they are, or refused by a line."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from deltalake import DeltaTable

from penstock import Flow, collect_undelivered
from penstock.connectors import (
    Writer,
    write_csv,
    write_delta,
    write_duckdb,
    write_json_lines,
    write_parquet,
    write_sqlite,
)
from penstock.delivery import Epoch

PATIENCE = 60
TOKYO = ZoneInfo("Asia/Tokyo")


@dataclass
class Pair:
    a: int
    b: str


def given(writer: Writer, *elements: Any) -> str:
    """What went wrong, if so."""
    with collect_undelivered():
        Flow.from_iterable(elements).subscribe(writer)
        assert writer.wait(PATIENCE)
    return "" if writer.error is None else str(writer.error)


def parquet_of(
    folder: Path, *values: Any, kind: pyarrow.DataType | None = None
) -> tuple[str, list[Any]]:
    schema = None if kind is None else pyarrow.schema([("v", kind)])
    error = given(write_parquet(folder / "p", schema=schema), *({"v": value} for value in values))
    found = pyarrow.parquet.read_table(folder / "p") if [*folder.glob("p/*.parquet")] else None
    return error, [] if found is None else found.column("v").to_pylist()


def duckdb_of(folder: Path, kind: str, *elements: Any) -> tuple[str, list[str]]:
    with duckdb.connect(str(folder / "d")) as database:
        database.execute(f"CREATE TABLE t (v {kind})")
    error = given(write_duckdb(folder / "d", "t"), *elements)
    with duckdb.connect(str(folder / "d")) as database:
        return error, [text for (text,) in database.execute("SELECT v::VARCHAR FROM t").fetchall()]


LARGE = 2**64 - 5


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([numpy.datetime64("2020-01-01", "s")], [datetime(2020, 1, 1)]),
        (
            [numpy.datetime64("2020-01-01T01:02:03.004", "ms")],
            [datetime(2020, 1, 1, 1, 2, 3, 4000)],
        ),
        ([numpy.timedelta64(7, "s")], [timedelta(seconds=7)]),
        ([numpy.float32(0.5), 2], [0.5, 2.0]),
    ],
    ids=repr,
)
def test_scalars_of_numpy_are_kept(values: list[Any], kept: list[Any], tmp_path: Path) -> None:
    assert parquet_of(tmp_path, *values) == ("", kept)


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (
            [1.5, numpy.uint64(LARGE)],
            pyarrow.float64(),
            "v cannot be np.uint64(18446744073709551611)",
        ),
        ([1, numpy.timedelta64(5, "ns")], pyarrow.int64(), "it is of type timedelta64"),
        ([1.5, numpy.longdouble("1e4000")], pyarrow.float64(), "it is of type longdouble"),
        ([1, 2049], pyarrow.float16(), "it has too many digits, and needs to be halffloat"),
        ([[1.5]], pyarrow.list_view(pyarrow.int64()), "no values of Python are made"),
        (
            [None, {datetime(2020, 1, 1): 1, datetime(2020, 1, 1, tzinfo=UTC): 2}],
            pyarrow.map_(pyarrow.timestamp("us", "UTC"), pyarrow.int64()),
            "the key '2020-01-01 00:00:00+00:00' comes twice",
        ),
    ],
    ids=repr,
)
def test_what_would_become_another_value_is_refused_after_what_comes_before(
    values: list[Any], kind: pyarrow.DataType, words: str, tmp_path: Path
) -> None:
    error, kept = parquet_of(tmp_path, *values, kind=kind)
    assert words in error
    assert kept == values[:-1]


@pytest.mark.parametrize("before", [1, 3, 700, 3_000])
def test_the_first_value_that_does_not_go_with_those_before_is_named(
    before: int, tmp_path: Path
) -> None:
    values = [*range(before), "soon", *range(100)]
    error, kept = parquet_of(tmp_path, *values)
    assert "the values of v do not go together: 'soon' is the first that does not fit" in error
    assert kept == values[:before]


def test_a_file_of_parquet_that_could_not_be_written_is_not_there(tmp_path: Path) -> None:
    fields = [("a", pyarrow.int64()), pyarrow.field("v", pyarrow.int64(), nullable=False)]
    schema = pyarrow.schema(fields)
    bad = pyarrow.record_batch({"a": [3, 4], "v": pyarrow.array([None, 4])})
    error = given(write_parquet(tmp_path / "p", schema=schema), {"a": 9, "v": 9}, bad)
    assert error == "write_parquet: v is NOT NULL, and a batch has a row without it"
    assert pyarrow.parquet.read_table(tmp_path / "p").to_pylist() == [{"a": 9, "v": 9}]


def test_a_part_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is full: the file would have no end."""
    sink = write_parquet(tmp_path / "p").sink
    sink.open(None)
    sink({"v": 1})
    broken = pyarrow.ArrowInvalid("no more")

    def refuse(*arguments: object, **options: object) -> None:
        raise broken

    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "write_table", refuse)
    with pytest.raises(pyarrow.ArrowInvalid):
        sink.close()
    assert [*(tmp_path / "p").iterdir()] == []


def test_a_file_of_parquet_that_cannot_begin_is_removed(tmp_path: Path) -> None:
    assert given(write_parquet(tmp_path / "p"), {"v": {}})
    assert [*(tmp_path / "p").iterdir()] == []


@pytest.mark.parametrize("text", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_partition_of_delta_is_no_text_that_stands_for_null(text: str, tmp_path: Path) -> None:
    writer = write_delta(str(tmp_path / "d"), partition_by="p")
    assert f"p cannot be {text!r}" in given(writer, {"p": text, "n": 1})


def test_a_partition_of_delta_that_nobody_could_read_is_refused(tmp_path: Path) -> None:
    place = str(tmp_path / "d")
    assert given(write_delta(place, partition_by="p"), {"p": Decimal("1.50"), "n": 0}) == ""
    refused = given(write_delta(place, partition_by="p"), {"p": Decimal("-3.25"), "n": 1})
    assert "p cannot be less than 0" in refused
    rows = DeltaTable(place).to_pyarrow_table().to_pylist()
    assert rows == [{"p": Decimal("1.50"), "n": 0}]


def test_plain_tuples_go_by_the_schema_and_not_by_the_table(tmp_path: Path) -> None:
    place, (a, b) = str(tmp_path / "d"), (("a", pyarrow.int64()), ("b", pyarrow.int64()))
    assert given(write_delta(place, schema=pyarrow.schema([a, b])), (1, 2)) == ""
    assert given(write_delta(place, schema=pyarrow.schema([b, a])), (20, 10)) == ""
    rows = DeltaTable(place).to_pyarrow_table().to_pylist()
    assert sorted(row["a"] for row in rows) == [1, 10]
    assert sorted(row["b"] for row in rows) == [2, 20]


DAY = pyarrow.array([1999], pyarrow.duration("ns"))
PARTS = pyarrow.array([(1, 2, 1999)], pyarrow.month_day_nano_interval())
HUGE = pyarrow.array([[("a", 1e300)]], pyarrow.map_(pyarrow.string(), pyarrow.float64()))


@pytest.mark.parametrize(
    ("kind", "element", "words"),
    [
        ("INTERVAL", {"v": pandas.Timedelta(1001, "ns")}, "it has nanoseconds"),
        ("INTERVAL", pyarrow.record_batch({"v": DAY}), "would lose data"),
        ("INTERVAL", pyarrow.record_batch({"v": PARTS}), "it has nanoseconds"),
        ("TIMETZ", {"v": time(12, tzinfo=TOKYO)}, "a zone that is the same on each day"),
        ("MAP(VARCHAR, FLOAT)", pyarrow.record_batch({"v": HUGE}), "a value is too large"),
        ("DOUBLE", {"v": numpy.uint64(LARGE)}, "v cannot be "),
        ("BIGINT", {"v": numpy.timedelta64(7, "ns")}, "it is of type timedelta64"),
    ],
    ids=repr,
)
def test_what_duckdb_would_change_is_refused(
    kind: str, element: Any, words: str, tmp_path: Path
) -> None:
    error, kept = duckdb_of(tmp_path, kind, element)
    assert words in error
    assert kept == []


def test_a_batch_may_call_the_columns_of_duckdb_by_other_capitals(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d")) as database:
        database.execute('CREATE TABLE t ("ID" BIGINT, "V" INTEGER)')
    batch = pyarrow.record_batch({"id": [7], "v": [8]})
    assert given(write_duckdb(tmp_path / "d", "t"), batch, {"id": 9, "v": 10}) == ""
    with duckdb.connect(str(tmp_path / "d")) as database:
        assert database.execute("FROM t").fetchall() == [(7, 8), (9, 10)]


@pytest.mark.parametrize("value", [[], {"a": None}, [[None]]], ids=repr)
def test_a_table_of_duckdb_is_not_made_of_what_says_no_type(value: Any, tmp_path: Path) -> None:
    error = given(write_duckdb(tmp_path / "d", "t"), {"v": value})
    assert "it is not clear of which type the column v is" in error


def test_the_last_of_the_rows_with_one_key_stays_whatever_the_columns_are_called(
    tmp_path: Path,
) -> None:
    """``rowid`` is a column of SQLite's own, and another one is a column of ours."""
    name = "penstock_ordinal"
    writer = write_duckdb(tmp_path / "d", "t", key="id")
    assert given(writer, *({"id": 1, name: each, "v": each} for each in (9, 5, 7))) == ""
    with duckdb.connect(str(tmp_path / "d")) as database:
        assert database.execute("FROM t").fetchall() == [(1, 7, 7)]
    sinks = [
        write_sqlite(tmp_path / "s", "t", key="id").sink,
        write_sqlite(tmp_path / "s", "u").sink,
    ]
    for sink in sinks:
        sink.open(Epoch.begun())
    for sink in sinks:
        sink.begin(0)
    for each in (9, 5, 7):
        sinks[0]({"id": 1, "rowid": each, "v": each})
    sinks[1]({"x": 1})
    for sink in sinks:
        sink.commit(0)
    for sink in sinks:
        sink.close()
    with closing(sqlite3.connect(tmp_path / "s")) as database:
        assert database.execute("SELECT id, v FROM t").fetchall() == [(1, 7)]


def test_integers_of_other_classes_come_to_sqlite(tmp_path: Path) -> None:
    """It would take for ever to look for one among all that SQLite holds."""
    assert given(write_sqlite(tmp_path / "s", "t"), {"v": HTTPStatus.OK}, {"v": True}) == ""
    with closing(sqlite3.connect(tmp_path / "s")) as database:
        assert database.execute("SELECT v FROM t").fetchall() == [(200,), (1,)]


@pytest.mark.parametrize(
    "make",
    [lambda path: write_sqlite(path, "t"), write_json_lines],
    ids=["sqlite", "json"],
)
@pytest.mark.parametrize("value", [pandas.NaT, math.nan], ids=repr)
def test_no_time_and_no_number_have_no_form(
    make: Callable[[Path], Writer], value: Any, tmp_path: Path
) -> None:
    error = given(make(tmp_path / "s"), {"v": date(2013, 2, 8)}, {"v": value})
    assert "None" in error or "not JSON compliant" in error


@pytest.mark.parametrize(
    "value", [Pair(1, "x"), object(), print, [1]], ids=lambda each: str(type(each))
)
def test_what_only_python_reads_has_no_form_in_csv(value: Any, tmp_path: Path) -> None:
    error = given(write_csv(tmp_path / "c", ["v"]), {"v": 1}, {"v": value})
    assert "which has no form in CSV" in error
    assert (tmp_path / "c").read_text().split() == ["v", "1"]


def test_other_classes_have_the_text_that_they_say(tmp_path: Path) -> None:
    values = [HTTPStatus.OK, numpy.float64(0.5), Decimal("1.50"), timedelta(hours=1)]
    assert given(write_csv(tmp_path / "c", ["v"]), *({"v": each} for each in values)) == ""
    assert (tmp_path / "c").read_text().split() == ["v", "200", "0.5", "1.50", "1:00:00"]


@pytest.mark.parametrize(
    "make",
    [write_parquet, lambda path: write_duckdb(path, "t"), lambda path: write_sqlite(path, "t")],
    ids=["parquet", "duckdb", "sqlite"],
)
def test_what_is_no_text_is_no_name(make: Callable[[Path], Writer], tmp_path: Path) -> None:
    assert "1 cannot be the name of a column" in given(make(tmp_path / "x"), {1: "a"})
