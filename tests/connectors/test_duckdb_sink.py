"""Tables of DuckDB as sinks, read back by DuckDB itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

from penstock import Flow, collect_undelivered
from penstock.connectors import Writer, write_duckdb
from penstock.delivery import DeliveryRefused, Epoch
from penstock.testing import SinkParty, verify_sink
from tests.connectors.flights import Departure, Flight
from tests.connectors.small_files import small_files

PATIENCE = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "flights.duckdb"


def found(file: Path, query: str = "FROM flights") -> list[Any]:
    with duckdb.connect(str(file)) as database:
        return database.execute(query).fetchall()


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def batch(sink: Any, number: int, *elements: Any) -> None:
    assert sink.begin(number)
    for element in elements:
        sink(element)
    sink.commit(number)


def test_elements_become_rows_as_they_are(file: Path) -> None:
    elements = [{"origin": "JFK", "delay": None}, Flight("EWR", 2.5), Departure("LGA", 0.5)]
    written(write_duckdb(file, "flights"), *elements)
    assert found(file) == [("JFK", None), ("EWR", 2.5), ("LGA", 0.5)]
    written(write_duckdb(file, "flights", columns=["origin", "delay"]), ("BOS", 1))
    assert found(file)[-1] == ("BOS", 1.0)


def test_the_types_are_those_of_all_rows_that_come_first(file: Path) -> None:
    rows = [{"n": number, "late": None} for number in range(30)]
    written(write_duckdb(file, "flights"), *rows, {"n": 30, "late": 1.5})
    assert found(file, "SELECT typeof(late), count(*), sum(late) FROM flights GROUP BY 1") == [
        ("DOUBLE", 31, 1.5)
    ]


def test_values_keep_their_types(file: Path) -> None:
    row = {
        "a": 1, "b": "x", "c": 2.5, "d": datetime(2020, 1, 1, tzinfo=UTC), "e": date(2020, 1, 1),
        "f": b"x", "g": True, "h": timedelta(seconds=5), "i": [1, 2], "j": {"k": 1},
    }  # fmt: skip
    written(write_duckdb(file, "flights"), row)
    assert found(file) == [tuple(row.values())]
    columns = {"a": "DECIMAL(10,2)", "b": "UUID", "c": "JSON", "d": "HUGEINT", "e": "TINYINT"}
    row = {"a": Decimal("1.5"), "b": UUID(int=1), "c": {"x": [1]}, "d": 1 << 70, "e": 7}
    written(write_duckdb(file, "typed", columns=columns), row)
    assert found(file, "FROM typed") == [
        (Decimal("1.50"), UUID(int=1), '{"x": [1]}', 1 << 70, 7),
    ]


def test_rows_and_arrow_batches_come_in_their_order(file: Path) -> None:
    table = pa.table({"b": ["x", "y"], "a": [1, 2]})
    sink = write_duckdb(file, "flights").sink
    sink.open(Epoch.begun())
    batch(sink, 0, {"a": 0, "b": "w"}, table, *table.to_batches(), {"b": "z", "a": 3})
    sink.close()
    assert found(file) == [(0, "w"), (1, "x"), (2, "y"), (1, "x"), (2, "y"), (3, "z")]


def test_a_row_with_the_same_key_is_replaced_by_the_last_one(file: Path) -> None:
    sink = write_duckdb(file, "flights", key="a").sink
    sink.open(Epoch.begun())
    again = pa.table({"b": [1, 2], "a": [5, 5]})
    batch(sink, 0, {"a": 1, "b": 0}, {"a": 1, "b": 3}, again, {"a": 5, "b": 7}, {"a": 2, "b": 3})
    assert sorted(found(file)) == [(1, 3), (2, 3), (5, 7)]
    batch(sink, 1, {"a": 5, "b": 8}, pa.record_batch({"a": [1, 1], "b": [8, 9]}))
    sink.close()
    assert sorted(found(file)) == [(1, 9), (2, 3), (5, 8)]
    written(write_duckdb(file, "origins", key=["origin"]), {"origin": "JFK"}, {"origin": "JFK"})
    assert found(file, "FROM origins") == [("JFK",)]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("BIGNUM", 10**60, str(10**60)),
        ("BIGNUM", "-7", "-7"),
        ("BIT", "0101", "0101"),
        ("TIMETZ", time(12, 30, tzinfo=timezone(timedelta(hours=-3))), "12:30:00-03"),
    ],
)
def test_what_arrow_has_no_type_for_comes_as_a_text(
    file: Path, kind: str, value: Any, text: str
) -> None:
    written(write_duckdb(file, "flights", columns={"a": kind}), {"a": value}, {"a": None})
    assert found(file, "SELECT a::VARCHAR FROM flights") == [(text,), (None,)]


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("BIGNUM", 1.5, "it is of type float, and needs to be an integer"),
        ("BIT", 5, "it is of type int, and needs to be a text"),
        ("TIMETZ", time(12, 30), "it needs to be a time with a zone"),
        ("JSON", {1, 2}, "has no form in JSON"),
        ("UUID", "\ud800", "surrogates not allowed"),
    ],
)
def test_what_has_no_such_text_is_shown_with_its_row(
    file: Path, kind: str, value: Any, words: str
) -> None:
    writer = write_duckdb(file, "flights", columns={"a": kind, "b": "INT"})
    with collect_undelivered():
        Flow.of({"a": None, "b": 1}, {"a": value, "b": 2}).subscribe(writer)
        assert writer.wait(PATIENCE)
    line = str(writer.error)
    assert line.startswith(f"write_duckdb: a cannot be {value!r}: ")
    assert words in line
    assert "the row is {" in line


@pytest.mark.parametrize("key", [("a",), ("a", "c")])
def test_rows_without_a_key_are_all_kept(file: Path, key: tuple[str, ...]) -> None:
    with duckdb.connect(str(file)) as database:
        database.execute(f"CREATE TABLE flights (a INT, b INT, c INT, UNIQUE ({', '.join(key)}))")
    rows = [(None, 1, 1), (None, 2, 1), (7, 3, 1), (7, 4, 1), (7, 5, None), (7, 6, None)]
    sink = write_duckdb(file, "flights", columns=["a", "b", "c"], key=key).sink
    sink.open(Epoch.begun())
    batch(sink, 0, *rows)
    batch(sink, 1, pa.table(dict(zip("abc", zip(*rows, strict=True), strict=True))))
    sink.close()
    with_key = [6] if len(key) == 1 else [4]
    without = [1, 2] if len(key) == 1 else [1, 2, 5, 6]
    assert sorted(b for _, b, _ in found(file)) == sorted([*with_key, *without, *without])


def test_any_name_is_a_name_and_nothing_else(file: Path) -> None:
    tables = []
    for name in ('a"b', "a'b", "a;DROP TABLE flights;--", "select", "é", "a.b", "%"):
        for key in ((), (name,)):
            table = f"{name} {len(key)}"
            tables.append('"' + table.replace('"', '""') + '"')
            sink = write_duckdb(file, table, key=key).sink
            sink.open(Epoch.begun())
            batch(sink, 0, {name: "here", "other": 1})
            sink.close()
    with duckdb.connect(str(file)) as database:
        for quoted in tables:
            assert database.execute(f"FROM {quoted}").fetchall() == [("here", 1)]


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ([{"a": "soon", "b": 1}], "a cannot be 'soon': .*; the row is {'a': 'soon', 'b': 1}"),
        ([{"a": None, "b": 1}], "refuses a row: .*NOT NULL"),
        ([{"a": 1, "b": 1}, {"a": 1, "b": 2}], "refuses a row: .*PRIMARY KEY"),
        ([{"a": 1}], "the columns are a, b, but an element has a"),
        ([7], "an element has a, b, not so 7"),
        ([pa.table({"a": ["x"], "b": [1]})], "a batch does not fit: a: it is of type string"),
        ([pa.table({"a": [1]})], "the columns are a, b, but a batch has a"),
    ],
)
def test_what_the_table_does_not_take_is_one_line(
    file: Path, elements: list[Any], words: str
) -> None:
    found(file, "CREATE TABLE flights (a BIGINT PRIMARY KEY, b BIGINT)")
    sink = write_duckdb(file, "flights", columns=["a", "b"]).sink
    sink.open(Epoch.begun())
    with pytest.raises(ValueError, match=words) as refused:
        batch(sink, 0, {"a": 9, "b": 9}, *elements)
    assert "\n" not in str(refused.value)
    batch(sink, 0, {"a": 5, "b": 6})
    sink.close()
    assert found(file) == [(5, 6)]


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ({"a": None}, "the column a is, whose first values are None; give columns="),
        ({"a": Decimal(1)}, "whose first values are decimals; give columns="),
        ({"a": object()}, "a cannot be <object"),
        ((1, 2), "has no names for its values; give columns="),
    ],
)
def test_a_table_that_cannot_be_made_is_one_line(file: Path, element: Any, words: str) -> None:
    sink = write_duckdb(file, "flights").sink
    sink.open(Epoch.begun())
    with pytest.raises(ValueError, match=words):
        batch(sink, 0, element)
    sink.close()


def test_a_table_with_other_columns_is_refused_and_stays(file: Path) -> None:
    found(file, "CREATE TABLE flights AS SELECT 'JFK' AS origin, 'AA' AS carrier")
    for options in ({"columns": ["origin", "delay"]}, {"columns": ["origin"], "key": "origin"}):
        sink = write_duckdb(file, "flights", **options).sink
        for question in (sink.check, sink.open):
            with pytest.raises(DeliveryRefused, match="cannot take the columns origin"):
                question(Epoch.begun())
    assert found(file) == [("JFK", "AA")]


def test_a_table_that_is_changed_in_the_middle_is_told(file: Path) -> None:
    sink = write_duckdb(file, "flights").sink
    sink.open(Epoch.begun())
    batch(sink, 0, {"a": 1, "b": 2})
    found(file, "ALTER TABLE flights DROP COLUMN b")
    with pytest.raises(DeliveryRefused, match="cannot take the rows: .*b") as refused:
        batch(sink, 1, {"a": 1, "b": 2})
    assert "\n" not in str(refused.value)
    sink.close()
    assert found(file) == [(1,)]


def test_a_batch_that_the_disk_has_no_space_for_is_one_line_and_leaves_nothing(file: Path) -> None:
    epoch = Epoch.begun()
    sink = write_duckdb(file, "flights").sink
    sink.open(epoch)
    batch(sink, 0, {"n": 0, "text": "-"})
    rows = [{"n": n, "text": f"{n:100}"} for n in range(5_000)]
    with small_files():
        with pytest.raises(OSError, match="flights.duckdb: .*Could not write file") as told:
            batch(sink, 1, *rows)
        assert "\n" not in str(told.value)
        sink.close()
    again = write_duckdb(file, "flights").sink
    again.open(epoch)
    batch(again, 1, {"n": 1, "text": "-"})
    again.close()
    assert found(file) == [(0, "-"), (1, "-")]


def test_two_sinks_of_one_program_write_into_one_database(file: Path) -> None:
    epoch = Epoch.begun()
    sinks = [write_duckdb(file, table).sink for table in ("one", "two")]
    for sink in sinks:
        sink.open(epoch)
        sink.begin(0)
    for number in range(25_000):
        for sink in sinks:
            sink({"n": number})
    for sink in sinks:
        sink.commit(0)
        sink.close()
    for table in ("one", "two"):
        assert found(file, f"FROM {table}") == [(number,) for number in range(25_000)]


def test_two_starts_at_once_are_noticed(file: Path) -> None:
    first, second = write_duckdb(file, "flights").sink, write_duckdb(file, "flights").sink
    for sink in (first, second):
        sink.open(Epoch.begun())
    assert first.begin(0)
    assert second.begin(0)
    for number in range(10_000):  # the first one is within its transaction
        first({"n": number})
    second({"n": 1})
    with pytest.raises(DeliveryRefused, match="is being written by another pipeline"):
        second.commit(0)
    second.begin(0)
    first.commit(0)
    second({"n": 1})
    with pytest.raises(DeliveryRefused, match="was written by another pipeline since this one"):
        second.commit(0)
    for sink in (first, second):
        sink.close()
    assert found(file, "SELECT count(*) FROM flights") == [(10_000,)]


def test_a_check_says_what_would_be_done_and_changes_nothing(file: Path) -> None:
    epoch = Epoch.begun()
    sink = write_duckdb(file, "flights").sink
    assert sink.check(epoch) == f"makes {file}"
    sink.open(epoch)
    batch(sink, 0, {"a": 1})
    sink.close()
    before = file.read_bytes(), file.stat().st_mtime_ns
    same, other = write_duckdb(file, "flights").sink, write_duckdb(file, "other").sink
    assert same.check(epoch) == f"goes on in the table flights in {file}"
    assert same.check(None) == f"adds to the table flights in {file}"
    assert other.check(epoch) == f"makes the table other in {file}"
    with pytest.raises(DeliveryRefused, match="was written from another checkpoint"):
        same.check(Epoch.begun())
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("penstock_delivery", {}, "is where marks are kept"),
        ("a", {"columns": ["a", "A"]}, "small letters and capitals"),
        ("a", {"columns": {"a": "TEXT); DROP TABLE b"}}, "the type of a is none of SQL"),
        ("a", {"columns": ["a"], "key": "b"}, "the key 'b' is none of the columns a"),
        (" ", {}, "table must not be empty"),
    ],
)
def test_names_that_cannot_be_are_refused_at_once(
    file: Path, table: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        write_duckdb(file, table, **options)


class DuckdbParty(SinkParty):
    """A database in a folder, read by its library."""

    def make(self, place: Path) -> Any:
        return write_duckdb(place / "rows.duckdb", "rows")

    def stored(self, place: Path) -> Sequence[Any]:
        if not (place / "rows.duckdb").exists():
            return []
        with duckdb.connect(str(place / "rows.duckdb")) as database:
            if not database.execute("FROM duckdb_tables() WHERE table_name = 'rows'").fetchall():
                return []
            rows = database.execute("SELECT number, text FROM rows").fetchall()
        return [{"number": number, "text": text} for number, text in rows]


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_sink_stands_the_fault_series(tmp_path: Path) -> None:
    verify_sink(DuckdbParty(), tmp_path, steps=20, moments=20).raise_if_failed()
