"""Tables of SQLite as sinks, read back by SQLite itself."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest

from penstock import Flow
from penstock.connectors import Writer, write_sqlite
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.flights import Departure, Flight

PATIENCE = 60
HOSTILE = [
    'a"b', "a'b", "a;DROP TABLE flights;--", "select", "a b", "é", "[a]", "`a`", "a.b", "?", ":a",
    "1", '"', "a\nb", "rowid", "NULL", "%s", "{}", "\\",
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "flights.db"


@pytest.fixture
def database(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        yield database


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def rows_in(file: Path, query: str = "SELECT * FROM flights") -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def test_elements_become_rows_as_they_are(file: Path) -> None:
    elements = [{"origin": "JFK", "delay": 12}, Flight("EWR", None), Departure("LGA", 0.5)]
    written(write_sqlite(file, "flights"), *elements)
    assert rows_in(file) == [("JFK", 12), ("EWR", None), ("LGA", 0.5)]
    written(write_sqlite(file, "flights", columns=["origin", "delay"]), ("BOS", b"\0"))
    assert rows_in(file)[-1] == ("BOS", b"\0")


def test_dates_and_decimals_are_texts(file: Path) -> None:
    when = datetime(2013, 2, 8, 17, 30, tzinfo=UTC)
    element = {"at": when, "on": date(2013, 2, 8), "cost": Decimal("12.30"), "is": True}
    written(write_sqlite(file, "flights"), element)
    assert rows_in(file) == [("2013-02-08T17:30:00+00:00", "2013-02-08", "12.30", 1)]


def test_columns_may_have_types(file: Path) -> None:
    columns = {"origin": "TEXT NOT NULL", "delay": "DECIMAL(5, 2)"}
    written(write_sqlite(file, "flights", columns=columns), ("JFK", 1))
    assert rows_in(file, "SELECT name, type, \"notnull\" FROM pragma_table_info('flights')") == [
        ("origin", "TEXT", 1),
        ("delay", "DECIMAL(5, 2)", 0),
    ]


def test_a_row_with_the_same_key_is_replaced(file: Path) -> None:
    writer = write_sqlite(file, "flights", key="origin")
    written(writer, Flight("JFK", 1), Flight("EWR", 2), Flight("JFK", 3))
    assert rows_in(file) == [("JFK", 3), ("EWR", 2)]
    written(write_sqlite(file, "flights", key=["origin"]), Flight("EWR", 4))
    assert rows_in(file) == [("JFK", 3), ("EWR", 4)]
    written(write_sqlite(file, "origins", key=["origin"]), {"origin": "JFK"}, {"origin": "JFK"})
    assert rows_in(file, "SELECT * FROM origins") == [("JFK",)]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_a_name_and_nothing_else(file: Path, name: str) -> None:
    written(write_sqlite(file, "flights"), {"origin": "JFK"})
    element = {name: "here", "other": 1}
    for key in ((), (name,)):
        table = f"{name} {len(key)}"
        sink = write_sqlite(file, table, key=key).sink
        sink.open(Epoch.begun())
        sink.begin(0)
        sink(element)
        sink.commit(0)
        sink.close()
        quoted = '"' + table.replace('"', '""') + '"'
        with closing(sqlite3.connect(file)) as database:
            database.row_factory = sqlite3.Row
            rows = [dict(row) for row in database.execute(f"SELECT * FROM {quoted}")]
        assert rows == [element]
    assert rows_in(file) == [("JFK",)]


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("penstock_delivery", {}, "is where marks are kept"),
        ("SQLite_x", {}, "belong to SQLite itself"),
        ("a\0b", {}, "cannot be the name of a table"),
        ("a", {"columns": []}, "columns must be different names"),
        ("a", {"columns": ["a", "A"]}, "small letters and capitals"),
        ("a", {"columns": ["a", "a"]}, "columns must be different names"),
        ("a", {"columns": {"a": "TEXT); DROP TABLE b"}}, "the type of a is none of SQL"),
        ("a", {"columns": ["a"], "key": "b"}, "the key 'b' is none of the columns a"),
        ("a", {"commit_rows": 0}, "commit_rows must be at least 1"),
        (" ", {}, "table must not be empty"),
    ],
)
def test_names_that_cannot_be_are_refused_at_once(
    file: Path, table: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        write_sqlite(file, table, **options)


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ({"origin": "JFK", "delay": [1]}, "delay is \\[1\\], and SQLite holds texts"),
        ({"origin": "JFK", "delay": 1 << 63}, "delay is 9223372036854775808, and SQLite has 64"),
        ({"origin": "JFK"}, "the columns are origin, delay, but an element has origin"),
        (7, "an element has origin, delay, not so 7"),
        (("JFK", float("nan")), "delay is nan, for which SQLite would hold NULL"),
        (("JFK", numpy.float64("nan")), "delay is .*nan.*, for which SQLite would hold NULL"),
    ],
)
def test_an_element_that_does_not_fit_is_refused(file: Path, element: Any, words: str) -> None:
    sink = write_sqlite(file, "flights").sink
    sink.open(None)
    sink(Flight("JFK", 1))
    with pytest.raises((TypeError, ValueError), match=words):
        sink(element)
    sink.close()
    assert rows_in(file) == [("JFK", 1)]


@pytest.mark.parametrize("is_in_batch", [False, True])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": 2, "text": None}, "refuses a row: NOT NULL constraint failed: flights.text"),
        ({"id": None, "text": "b"}, "the key id of a row is NULL; the row is {'id': None, 'text':"),
        ({"id": 2, "text": "\ud800"}, r"text is '\\ud800', which is no text that can be stored"),
    ],
)
def test_a_row_that_the_table_cannot_take_is_told_and_no_other_row_is_touched(
    file: Path, database: sqlite3.Connection, row: Any, words: str, is_in_batch: bool
) -> None:
    """SQLite would make a number of the key that is NULL, and the next row may have that one."""
    database.execute("CREATE TABLE flights (id INTEGER PRIMARY KEY, text NOT NULL)")
    sink = write_sqlite(file, "flights", key="id").sink
    sink.open(Epoch.begun() if is_in_batch else None)
    try:
        if is_in_batch:
            sink.begin(0)
        sink(row)
        sink({"id": 1, "text": "a"})
        with pytest.raises(ValueError, match=words) as refused:
            sink.commit(0) if is_in_batch else sink.close()
    finally:
        sink.close()
    assert str(refused.value).startswith("write_sqlite: ")
    assert rows_in(file) == []


def test_values_without_names_need_columns(file: Path) -> None:
    sink = write_sqlite(file, "flights").sink
    sink.open(None)
    with pytest.raises(ValueError, match="has no names for its values; give columns="):
        sink(("JFK", 1))
    sink.close()


def test_a_table_with_other_columns_is_refused_and_stays(
    file: Path, database: sqlite3.Connection
) -> None:
    database.execute("CREATE TABLE flights (origin, carrier)")
    database.execute("INSERT INTO flights VALUES ('JFK', 'AA')")
    words = f"the table flights in {file} has the columns origin, carrier, and not delay"
    known = write_sqlite(file, "flights", columns=["origin", "delay"]).sink
    for question in (known.check, known.open):
        with pytest.raises(DeliveryRefused, match=words):
            question(Epoch.begun())
    later = write_sqlite(file, "flights").sink
    later.open(Epoch.begun())
    later.begin(0)
    later(Flight("EWR", 1))
    with pytest.raises(DeliveryRefused, match=words):
        later.commit(0)
    later.close()
    assert rows_in(file) == [("JFK", "AA")]


def test_a_table_that_is_changed_in_the_middle_is_told(
    file: Path, database: sqlite3.Connection
) -> None:
    for change in ("ALTER TABLE flights DROP COLUMN delay", "DROP TABLE flights"):
        sink = write_sqlite(file, "flights", name=change).sink
        sink.open(Epoch.begun())
        sink.begin(0)
        sink(Flight("JFK", 1))
        sink.commit(0)
        database.execute(change)
        sink.begin(1)
        sink(Flight("EWR", 2))
        with pytest.raises(
            DeliveryRefused, match="flights in .* cannot take the rows: "
        ) as refused:
            sink.commit(1)
        assert "\n" not in str(refused.value)
        sink.close()
        database.execute("DROP TABLE IF EXISTS flights")


def test_a_table_without_that_key_is_refused(file: Path, database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE flights (origin, delay)")
    sink = write_sqlite(file, "flights", columns=["origin", "delay"], key="origin").sink
    with pytest.raises(DeliveryRefused, match="by the key origin: ON CONFLICT clause does not"):
        sink.open(None)


def test_a_file_that_is_no_database_is_refused_and_stays(file: Path) -> None:
    file.write_text("origin,delay\nJFK,1\n" * 100)
    sink = write_sqlite(file, "flights").sink
    for question in (sink.check, sink.open):
        with pytest.raises(DeliveryRefused, match="flights.db is no SQLite database"):
            question(None)
    assert file.read_text() == "origin,delay\nJFK,1\n" * 100


def test_the_table_of_another_checkpoint_is_refused(file: Path) -> None:
    sink = write_sqlite(file, "flights").sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink(Flight("JFK", 1))
    sink.commit(0)
    sink.close()
    again = write_sqlite(file, "flights").sink
    for question in (again.check, again.open):
        with pytest.raises(DeliveryRefused, match="was written from another checkpoint"):
            question(Epoch.begun())
    other = write_sqlite(file, "flights", name="another pipeline").sink
    other.open(Epoch.begun())
    other.begin(0)
    other(Flight("EWR", 2))
    other.commit(0)
    other.close()
    assert rows_in(file) == [("JFK", 1), ("EWR", 2)]


def test_two_starts_at_once_are_noticed_at_the_first_row(file: Path) -> None:
    first, second = write_sqlite(file, "flights").sink, write_sqlite(file, "flights").sink
    for sink in (first, second):
        sink.open(Epoch.begun())
        sink.begin(0)
        sink(Flight("JFK", 1))
    first.commit(0)
    with pytest.raises(DeliveryRefused, match="was written by another pipeline since this one"):
        second.commit(0)
    for sink in (first, second):
        sink.close()
    assert rows_in(file) == [("JFK", 1)]


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_two_sinks_of_one_program_do_not_wait_for_each_other(
    file: Path, database: sqlite3.Connection, mode: str
) -> None:
    database.execute(f"PRAGMA journal_mode = {mode}")
    database.execute("CREATE TABLE two (n INTEGER)")
    epoch = Epoch.begun()
    sinks = [
        write_sqlite(file, "one", timeout=0.1).sink,
        write_sqlite(file, "two", timeout=0.1, columns=["n"]).sink,
        write_sqlite(file, "three", timeout=0.1, key="n").sink,
    ]
    for sink in sinks:
        sink.open(epoch)
    for batch in (0, 1):
        for sink in sinks:
            assert sink.begin(batch)
        for number in range(1_200):
            for sink in sinks:
                sink({"n": number % 1_100})
        for sink in reversed(sinks):
            sink.commit(batch)
    for sink in sinks:
        assert not sink.begin(1)
        sink.close()
    numbers = [(number % 1_100,) for number in range(1_200)]
    assert rows_in(file, "SELECT n FROM one ORDER BY rowid") == numbers * 2
    assert rows_in(file, "SELECT n FROM two ORDER BY rowid") == numbers * 2
    assert rows_in(file, "SELECT n FROM three ORDER BY n") == [(n,) for n in range(1_100)]


def test_a_rival_of_a_sink_that_waits_to_write_is_noticed(file: Path) -> None:
    sinks = [write_sqlite(file, "flights").sink for _ in range(2)]
    for sink in sinks:
        sink.open(Epoch.begun())
        sink.begin(0)
    for number in range(600):
        for sink in sinks:
            sink(Flight("JFK", number))
    first, second = sinks
    second.commit(0)
    with pytest.raises(DeliveryRefused, match="was written by another pipeline meanwhile"):
        first.commit(0)
    for sink in sinks:
        sink.close()
    assert rows_in(file, "SELECT delay FROM flights") == [(number,) for number in range(600)]


NOT_A_NUMBER = float("nan")
INFINITE = float("inf")


@pytest.mark.parametrize("before", [[], [None], [0.5], ["text", None, True], [7], [INFINITE]])
@pytest.mark.parametrize("is_arrow", [False, True])
def test_the_number_that_is_none_is_found_among_others(
    file: Path, before: list[Any], is_arrow: bool
) -> None:
    """SQLite would hold NULL for it in silence."""
    values = [*before, NOT_A_NUMBER, -INFINITE]
    if is_arrow:
        values = [each for each in values if not isinstance(each, str | bool)]
    elements = [pyarrow.table({"x": values})] if is_arrow else [{"x": each} for each in values]
    with pytest.raises(ValueError, match="x is nan, for which SQLite would hold NULL"):
        store(write_sqlite(file, "t", columns=["x"]).sink, elements)


def store(sink: Any, elements: list[Any]) -> None:
    """As one batch."""
    sink.open(Epoch.begun())
    try:
        sink.begin(0)
        for each in elements:
            sink(each)
        sink.commit(0)
    finally:
        sink.close()


def test_infinite_numbers_are_held(file: Path) -> None:
    rows = [{"x": each} for each in (INFINITE, -INFINITE, None, 0.5)]
    written(write_sqlite(file, "flights"), *rows, pyarrow.Table.from_pylist(rows))
    assert rows_in(file) == [(INFINITE,), (-INFINITE,), (None,), (0.5,)] * 2


def test_arrow_batches_become_rows(file: Path) -> None:
    at = datetime(2013, 2, 8, 17, 30, tzinfo=UTC)
    table = pyarrow.table({"n": [1, 2], "at": [at, None], "x": [0.5, None]})
    written(write_sqlite(file, "flights"), table, *table.to_batches(), {"n": 3, "at": "", "x": 0})
    text = "2013-02-08T17:30:00+00:00"
    assert rows_in(file) == [*[(1, text, 0.5), (2, None, None)] * 2, (3, "", 0)]


def test_a_batch_is_seen_by_others_when_it_is_committed(file: Path) -> None:
    sink = write_sqlite(file, "flights").sink
    sink.open(Epoch.begun())
    sink.begin(0)
    for number in range(5_000):
        sink((number,) if number else {"n": number})
    assert rows_in(file, "SELECT count(*) FROM sqlite_master") == [(0,)]
    sink.commit(0)
    counted = "SELECT count(*), count(DISTINCT n), min(n), max(n) FROM flights"
    assert rows_in(file, counted) == [(5_000, 5_000, 0, 4_999)]
    sink.close()


def test_somebody_who_writes_for_too_long_is_named(
    file: Path, database: sqlite3.Connection
) -> None:
    sink = write_sqlite(file, "flights", timeout=0.01).sink
    sink.open(None)
    database.execute("BEGIN IMMEDIATE")
    for number in range(999):
        sink(Flight("JFK", number))
    with pytest.raises(TimeoutError, match="another program has been writing into .*flights.db"):
        sink(Flight("JFK", 999))
    database.execute("ROLLBACK")
    sink.close()
    assert rows_in(file, "SELECT delay FROM flights") == [(number,) for number in range(1_000)]


def test_the_journal_mode_of_a_database_that_is_there_stays(
    file: Path, database: sqlite3.Connection
) -> None:
    database.execute("CREATE TABLE others (a)")
    written(write_sqlite(file, "flights"), Flight("JFK", 1))
    assert rows_in(file, "PRAGMA journal_mode") == [("delete",)]
    new = file.with_name("new.db")
    written(write_sqlite(new, "flights"), Flight("JFK", 1))
    assert rows_in(new, "PRAGMA journal_mode") == [("wal",)]


def test_a_check_says_what_would_be_done_and_changes_nothing(file: Path) -> None:
    epoch = Epoch.begun()
    sink = write_sqlite(file, "flights").sink
    sink.open(epoch)
    sink.begin(0)
    sink(Flight("JFK", 1))
    sink.commit(0)
    sink.close()
    before = file.read_bytes(), file.stat().st_mtime_ns
    same, other = write_sqlite(file, "flights").sink, write_sqlite(file, "other").sink
    assert same.check(epoch) == f"goes on in the table flights in {file}"
    assert same.check(None) == f"adds to the table flights in {file}"
    assert other.check(epoch) == f"makes the table other in {file}"
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


KILLED = """
import os, signal, sys
from penstock.connectors import write_sqlite
from penstock.delivery import Epoch
sink = write_sqlite(sys.argv[1], "flights").sink
sink.open(Epoch.read(sys.argv[2]))
sink.begin(0)
for number in range(10_000):
    sink({"n": number})
if sys.argv[3] == "after":
    sink.commit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("point", "count"), [("before", 0), ("after", 10_000)])
def test_a_kill_leaves_the_whole_batch_or_nothing(file: Path, point: str, count: int) -> None:
    first = Epoch.begun()
    command = [sys.executable, "-c", KILLED, str(file), first.text, point]
    assert subprocess.run(command, check=False).returncode == -9
    second = Epoch.begun(first.starts, planned=0)
    sink = write_sqlite(file, "flights").sink
    sink.open(second)
    assert sink.begin(0) is (count == 0)
    sink.close()
    tables = rows_in(file, "SELECT count(*) FROM sqlite_master WHERE name = 'flights'")
    assert tables == [(1 if count else 0,)]
    if count:
        assert rows_in(file, "SELECT count(*), count(DISTINCT n) FROM flights") == [(count, count)]
