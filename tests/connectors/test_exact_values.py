"""Values that a column would change: sinks that write by Arrow refuse them, and keep the others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy
import pyarrow
import pyarrow.parquet
import pytest

from penstock import Flow, collect_undelivered
from penstock.connectors import (
    Writer,
    write_delta,
    write_duckdb,
    write_iceberg,
    write_parquet,
)
from tests.lake.delta import delta_rows
from tests.lake.iceberg import catalog_in, iceberg_rows, settings_in

PATIENCE = 60
LATE = datetime(2013, 2, 8, 17, 30)
LATER: dict[str, tuple[Any, Any]] = {
    "a float among integers": (1, 1.5),
    "a decimal among integers": (1, Decimal("1.5")),
    "a short float among integers": (1, numpy.float16(1.5)),
    "a truth of NumPy among integers": (5, numpy.bool_(True)),
    "a float among integers in a list": ([1], [1.5]),
    "a float among integers in a struct": ({"n": 1}, {"n": 1.5}),
    "a truth among numbers": (1.5, True),
    "a moment among days": (date(2013, 2, 8), LATE),
    "a number among days": (date(2013, 2, 8), 1),
    "bytes among texts": ("a", b"b"),
    "a text among bytes": (b"a", "b"),
    "a text among lists": (["a"], "bc"),
}
"""A first value, which says the type of the column, and one that it would change."""


def parquet_rows(place: Path) -> list[Any]:
    rows: list[Any] = pyarrow.parquet.read_table(place).to_pylist()
    return rows


def duckdb_rows(place: Path) -> list[Any]:
    with duckdb.connect(str(place)) as database:
        return [{"v": value} for (value,) in database.execute("SELECT v FROM t").fetchall()]


def parquet(folder: Path) -> tuple[Writer, Callable[[], list[Any]]]:
    place = folder / "parquet"
    return write_parquet(place, file_rows=1), lambda: parquet_rows(place)


def delta(folder: Path) -> tuple[Writer, Callable[[], list[Any]]]:
    place = str(folder / "delta")
    return write_delta(place, commit_rows=1), lambda: delta_rows(folder / "delta")


def iceberg(folder: Path) -> tuple[Writer, Callable[[], list[Any]]]:
    catalog_in(folder).close()
    writer = write_iceberg(settings_in(folder), "lake.rows", commit_rows=1)
    return writer, lambda: catalog_rows(folder)


def catalog_rows(folder: Path) -> list[Any]:
    with closing(catalog_in(folder)) as catalog:
        return iceberg_rows(catalog)


def of_duckdb(folder: Path) -> tuple[Writer, Callable[[], list[Any]]]:
    place = folder / "duckdb"
    return write_duckdb(place, "t", commit_rows=1), lambda: duckdb_rows(place)


STORES = [parquet, delta, iceberg, of_duckdb]


@pytest.mark.parametrize("pair", LATER.values(), ids=LATER)
@pytest.mark.parametrize("store", STORES)
def test_a_value_that_its_column_would_change_is_refused_after_those_before(
    store: Any, pair: tuple[Any, Any], tmp_path: Path
) -> None:
    first, second = pair
    writer, rows = store(tmp_path)
    with collect_undelivered():
        Flow.of({"v": first}, {"v": second}).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert isinstance(writer.error, ValueError)
    assert f"v cannot be {second!r}: " in str(writer.error)
    assert [{"v": row["v"]} for row in rows()] == [{"v": first}]


@pytest.mark.parametrize("pair", LATER.values(), ids=LATER)
def test_first_values_have_a_type_that_holds_all_of_them_or_are_refused(
    pair: tuple[Any, Any], tmp_path: Path
) -> None:
    writer = write_parquet(tmp_path / "parquet")
    with collect_undelivered():
        Flow.from_iterable({"v": value} for value in pair).subscribe(writer)
        assert writer.wait(PATIENCE)
    if writer.error is None:
        assert parquet_rows(tmp_path / "parquet") == [{"v": value} for value in pair]
        assert not isinstance(pair[1], bool | numpy.bool_)
    else:
        assert "the values of v do not go together: " in str(writer.error)


BATCHES: dict[str, tuple[str, pyarrow.Array]] = {
    "a float for an integer": ("INTEGER", pyarrow.array([1.5])),
    "a float for a decimal": ("DECIMAL(5, 2)", pyarrow.array([1.234])),
    "a moment for a day": ("DATE", pyarrow.array([LATE])),
    "a zone": ("TIMESTAMP", pyarrow.array([LATE], pyarrow.timestamp("us", "Asia/Tokyo"))),
    "a fraction of a second": ("TIMESTAMP_S", pyarrow.array([LATE.replace(microsecond=7)])),
    "a number for a truth": ("BOOLEAN", pyarrow.array([2])),
    "a large integer for a float": ("DOUBLE", pyarrow.array([2**60 + 1])),
    "a field": ("STRUCT(a INT)", pyarrow.array([{"a": 1, "b": 2}])),
    "a float in a list": ("INT[]", pyarrow.array([[1.5]])),
    "bytes for bits": ("BIT", pyarrow.array([b"\x04\xf5"])),
    "a time without a zone": ("TIMETZ", pyarrow.array([LATE.time()])),
}


@pytest.mark.parametrize(("kind", "column"), BATCHES.values(), ids=BATCHES)
def test_a_batch_of_which_duckdb_would_change_a_value_is_refused(
    kind: str, column: pyarrow.Array, tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "duckdb")) as database:
        database.execute(f"CREATE TABLE t (v {kind})")
    writer = write_duckdb(tmp_path / "duckdb", "t")
    with collect_undelivered():
        Flow.of(pyarrow.record_batch({"v": column})).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert "write_duckdb: a batch does not fit: v" in str(writer.error)
    assert duckdb_rows(tmp_path / "duckdb") == []


@pytest.mark.parametrize(
    ("kind", "column", "text"),
    [
        ("INTEGER", pyarrow.array([7.0]), "7"),
        ("DECIMAL(5, 2)", pyarrow.array([7]), "7.00"),
        ("HUGEINT", pyarrow.array([7]), "7"),
        ("BIGNUM", pyarrow.array([7]), "7"),
        ("BIT", pyarrow.array(["0101"]), "0101"),
        ("ENUM('a', 'b')", pyarrow.array(["b"]), "b"),
        ("VARCHAR", pyarrow.array(["a"], pyarrow.large_string()), "a"),
        ("JSON", pyarrow.array([{"a": 1}]), '{"a":1}'),
        ("UUID", pyarrow.array([UUID(int=7)]), str(UUID(int=7))),
        ("INTERVAL", pyarrow.array([timedelta(hours=1)]), "01:00:00"),
        ("DOUBLE[2]", pyarrow.array([[1.0, 2.0]]), "[1.0, 2.0]"),
        ("STRUCT(a INT, b INT)", pyarrow.array([{"b": 1, "a": 2}]), "{'a': 2, 'b': 1}"),
    ],
    ids=lambda given: given if isinstance(given, str) else str(given.type),
)
def test_a_batch_of_other_types_with_the_same_values_is_taken(
    kind: str, column: pyarrow.Array, text: str, tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "duckdb")) as database:
        database.execute(f"CREATE TABLE t (v {kind})")
    Flow.of(pyarrow.record_batch({"v": column})).subscribe(
        writer := write_duckdb(tmp_path / "duckdb", "t")
    )
    assert writer.wait(PATIENCE)
    assert writer.error is None
    with duckdb.connect(str(tmp_path / "duckdb")) as database:
        assert database.execute("SELECT v::VARCHAR FROM t").fetchall() == [(text,)]
