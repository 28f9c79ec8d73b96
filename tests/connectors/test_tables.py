"""Queries of SQLite and DuckDB as sources, beside their own libraries."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import enumerate as enumerate_threads
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

from penstock import Flow
from penstock.connectors import read_duckdb, read_sqlite, write_duckdb, write_sqlite
from penstock.delivery import DeliveryRefused, Epoch
from penstock.flow.resume.planning import resumption_of
from penstock.testing import ManualSubscriber, collect_undelivered

PATIENCE = 60
MAKERS = {"sqlite": write_sqlite, "duckdb": write_duckdb}
ENDLESS = {
    "sqlite": "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n",
    "duckdb": "SELECT range AS id FROM range(1, 1000000000000)",
}
FLIGHTS = [{"id": n, "origin": "JFK", "delay": n * 0.5} for n in range(1, 5_001)]


@dataclass(frozen=True)
class Store:
    """A database, its source, and its own library."""

    kind: str
    path: Path

    @contextmanager
    def library(self) -> Iterator[Any]:
        if self.kind == "duckdb":
            with duckdb.connect(str(self.path)) as database:
                yield database
        else:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
                yield database

    def do(self, *statements: str) -> list[Any]:
        """What the last one of these gives."""
        found: list[Any] = []
        with self.library() as database:
            for statement in statements:
                found = database.execute(statement).fetchall()
        return found

    def read(self, query: str = "SELECT * FROM flights", **options: Any) -> Flow[Any]:
        return (read_duckdb if self.kind == "duckdb" else read_sqlite)(self.path, query, **options)


@pytest.fixture(params=["sqlite", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    store = Store(request.param, tmp_path / f"flights.{request.param}")
    with store.library() as database:
        if store.kind == "duckdb":
            database.execute(
                "CREATE TABLE flights AS SELECT range AS id, 'JFK' AS origin, "
                "range * 0.5::DOUBLE AS delay FROM range(1, 5001)"
            )
        else:
            database.execute("CREATE TABLE flights (id INTEGER PRIMARY KEY, origin, delay)")
            database.execute("BEGIN")
            rows = [tuple(row.values()) for row in FLIGHTS]
            database.executemany("INSERT INTO flights VALUES (?, ?, ?)", rows)
            database.execute("COMMIT")
    return store


def ids(flow: Flow[Any]) -> list[int]:
    return [row["id"] for row in flow.to_list().run_sync() or []]


def test_rows_are_those_that_the_library_gives(store: Store) -> None:
    flow = store.read("SELECT * FROM flights ORDER BY id;  ")
    found = [tuple(row.values()) for row in flow.to_list().run_sync() or []]
    assert found == store.do("SELECT * FROM flights ORDER BY id")
    assert flow.to_list().run_sync() == FLIGHTS
    assert store.read(key="id", fetch=7).to_list().run_sync() == FLIGHTS


def test_a_query_without_end_goes_on_as_far_as_is_wanted(store: Store) -> None:
    flow = store.read(ENDLESS[store.kind])
    assert ids(flow.take(3)) == [1, 2, 3]
    flow.subscribe(subscriber := ManualSubscriber[Any](request=0))
    for wanted in (1, 7, 2_500):
        before = len(subscriber.elements)
        subscriber.request(wanted)
        subscriber.await_elements(before + wanted)
    subscriber.cancel()
    assert [row["id"] for row in subscriber.elements] == [*range(1, 2_509)]


@pytest.mark.parametrize("key", [None, "id"])
def test_nothing_to_read_is_an_end(store: Store, key: str | None) -> None:
    assert store.read("SELECT * FROM flights WHERE id < 0", key=key).to_list().run_sync() == []


def test_a_query_goes_on_after_a_key(store: Store) -> None:
    name = "$" if store.kind == "duckdb" else ":"
    for query, parameters in (
        ("SELECT * FROM flights WHERE origin LIKE 'J%' -- all", None),
        ("SELECT * FROM flights WHERE id <= ?", [5_000]),
        (f"SELECT * FROM flights WHERE id <= {name}most", {"most": 5_000}),
    ):
        flow = store.read(query, key="id", parameters=parameters, after=4_997)
        assert ids(flow) == [4_998, 4_999, 5_000]
        pairs = f"SELECT id % 10 AS one, * FROM ({query}\n) WHERE id < 100"
        several = {"key": ["one", "id"], "parameters": parameters}
        assert ids(store.read(pairs, **several, after=(9, 79))) == [89, 99]
        assert ids(store.read(pairs, **several))[:3] == [10, 20, 30]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DATE", [date(2013, 2, 8), date(2013, 2, 9)]),
        ("TIMESTAMP", [datetime(2013, 2, 8, 17, 30, 0, 1), datetime(2013, 2, 8, 17, 30, 0, 2)]),
        (
            "TIMESTAMPTZ",
            [datetime(2013, 2, 8, 17, 30, 0, 1, UTC), datetime(2013, 2, 8, 17, 30, 0, 2, UTC)],
        ),
        ("DECIMAL(5, 1)", [Decimal("0.1"), Decimal("0.2")]),
        ("UUID", [UUID(int=1), UUID(int=2)]),
        ("VARCHAR", ["B", "a"]),
        ("DOUBLE", [0.1, 0.2]),
        ("HUGEINT", [1 << 80, 1 << 81]),
    ],
)
@pytest.mark.parametrize("key", ["moment", ["moment", "n"]])
def test_a_key_of_duckdb_may_be_of_any_type_that_has_an_order(
    tmp_path: Path, kind: str, values: list[Any], key: Any
) -> None:
    store = Store("duckdb", tmp_path / "times.duckdb")
    with store.library() as database:
        database.execute(f"CREATE TABLE times (moment {kind}, n INTEGER)")
        database.executemany("INSERT INTO times VALUES (?, 1)", [[value] for value in values])
    resumption = resumption_of(store.read("FROM times", key=key))
    first, last = resumption.positioned(None).to_list().run_sync() or []
    assert [first.element["moment"], last.element["moment"]] == values
    (again,) = resumption.positioned(first.position).to_list().run_sync() or []
    assert again.element["moment"] == values[1]


def test_texts_that_sqlite_takes_for_the_same_are_not_lost(tmp_path: Path) -> None:
    store = Store("sqlite", tmp_path / "names.db")
    store.do(
        "CREATE TABLE names (name TEXT COLLATE NOCASE)",
        "INSERT INTO names VALUES ('a'), ('A'), ('b'), ('B'), (1), (2.5)",
    )
    flow = store.read("SELECT * FROM names", key="name", fetch=1)
    assert [row["name"] for row in flow.to_list().run_sync() or []] == [
        "1", "2.5", "A", "B", "a", "b",
    ]  # fmt: skip


def test_without_a_key_nothing_is_said_to_be_replayed(store: Store) -> None:
    assert (
        store.read().plan.origin.replay,
        store.read(key="id").plan.origin.replay,
    ) == ("none", "position")


def test_new_rows_are_asked_for_again_and_again(store: Store) -> None:
    options = {"read_only": False} if store.kind == "duckdb" else {}
    flow = store.read("SELECT * FROM flights WHERE id > 4990", key="id", poll=0.01, **options)
    flow.subscribe(subscriber := ManualSubscriber[Any](request=11))
    subscriber.await_elements(10)
    store.do("INSERT INTO flights VALUES (5001, 'EWR', 0), (5002, 'EWR', 0)")
    subscriber.await_elements(11)
    assert subscriber.elements[-1]["id"] == 5_001
    subscriber.request(1)
    subscriber.await_elements(12)
    assert subscriber.elements[-1]["id"] == 5_002
    store.do("ALTER TABLE flights RENAME COLUMN id TO number")
    subscriber.request(1)
    subscriber.await_end()
    assert isinstance(subscriber.error, LookupError)
    assert "id" in str(subscriber.error)
    assert "\n" not in str(subscriber.error)


@pytest.mark.parametrize(
    ("query", "options", "kind", "words"),
    [
        ("SELECT * FROM nowhere", {}, LookupError, "nowhere"),
        ("SELECT unknown FROM flights", {}, LookupError, "unknown"),
        ("SELECT * FROM flights", {"key": "nil"}, LookupError, "nil"),
        ("SELEC 1", {}, ValueError, 'near "SELEC"'),
        ("DELETE FROM flights", {}, ValueError, "(?i)read.?only"),
        ("SELECT 1 AS a, 2 AS a", {}, ValueError, "two columns of the query are called a"),
        ("SELECT 1 AS a WHERE 1 = ?", {"parameters": []}, ValueError, "(?i)supplied|provided"),
        ("SELECT NULL AS a", {"key": "a"}, ValueError, "the key a of a row is NULL"),
        ("SELECT id / 2 AS a FROM flights WHERE id < 9", {"key": "origin"}, LookupError, "origin"),
        ("SELECT 1 AS a FROM flights", {"key": "a", "fetch": 1}, ValueError, "than one row has a"),
        ("SELECT 1 AS a FROM flights", {"key": "a"}, ValueError, "more than one row has a"),
        ("SELECT id, 1 AS b, NULL AS c FROM flights", {"key": ["b", "c"]}, ValueError, "NULL"),
    ],
)  # fmt: skip
def test_a_query_that_cannot_be_is_one_line(
    store: Store, query: str, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as refused:
        store.read(query, **options).to_list().run_sync()
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"read_{store.kind}: ")
    assert type(refused.value).__module__ == "builtins"
    assert store.do("SELECT count(*) FROM flights") == [(5_000,)]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"path": "/nowhere"}, FileNotFoundError, "nowhere"),
        ({"query": " "}, ValueError, "query must not be empty"),
        ({"after": 1}, ValueError, "after is the key of a row, so it needs key="),
        ({"poll": 1}, ValueError, "poll asks for rows after the last key, so it needs key="),
        ({"key": ()}, ValueError, "key must be different names"),
        ({"key": "a", "after": object()}, ValueError, "a key is a number, a text, a time"),
        ({"parameters": "a"}, TypeError, "parameters must be a list or a dict"),
        ({"fetch": 0}, ValueError, "fetch must be at least 1"),
        ({"timeout": 0}, ValueError, "timeout"),
    ],
)
@pytest.mark.parametrize("read", [read_sqlite, read_duckdb])
def test_arguments_that_cannot_be_are_refused_at_once(
    tmp_path: Path, read: Any, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    (tmp_path / "a").touch()
    given: dict[str, Any] = {"path": tmp_path / "a", "query": "SELECT 1", **options}
    with pytest.raises(kind, match=words):
        read(given.pop("path"), given.pop("query"), **given)


def test_a_file_that_is_no_database_is_one_line(tmp_path: Path) -> None:
    for kind in ("sqlite", "duckdb"):
        store = Store(kind, tmp_path / kind)
        store.path.write_text("origin,delay\nJFK,1\n" * 1_000)
        with pytest.raises(ValueError, match=f"{kind} is no (SQLite|DuckDB) database"):
            store.read().to_list().run_sync()


LOCKING = {
    "sqlite": """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
""",
    "duckdb": """
import duckdb, sys
database = duckdb.connect(sys.argv[1])
""",
}


@contextmanager
def locked(store: Store) -> Iterator[subprocess.Popen[str]]:
    """By another program, until it is told to end."""
    program = LOCKING[store.kind] + "print('locked', flush=True); input()"
    command = [sys.executable, "-c", program, str(store.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        yield other
        other.kill()


def test_a_file_that_another_program_has_locked_is_waited_for(store: Store) -> None:
    with locked(store) as other:
        with pytest.raises(TimeoutError, match=f"{store.path} .*; stop that one, or") as refused:
            store.read(timeout=0.01).to_list().run_sync()
        assert "\n" not in str(refused.value)
        write = write_duckdb if store.kind == "duckdb" else write_sqlite
        writer = write(store.path, "others", timeout=0.01)
        with collect_undelivered():
            Flow.of({"a": 1}).subscribe(writer)
            assert writer.wait(PATIENCE)
        assert isinstance(writer.error, TimeoutError)
        store.read(key="id").subscribe(subscriber := ManualSubscriber[Any](request=10_000))
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        subscriber.await_end()
    assert subscriber.elements == FLIGHTS


def test_a_reader_that_stalls_lets_others_write_into_sqlite(tmp_path: Path) -> None:
    store = Store("sqlite", tmp_path / "plain.db")
    store.do("PRAGMA journal_mode = DELETE", "CREATE TABLE flights (id)")
    rows = [{"id": number} for number in range(1, 2_501)]
    Flow.from_iterable(rows).subscribe(writer := write_sqlite(store.path, "flights"))
    assert writer.wait(PATIENCE)
    flow = store.read(key="id", fetch=100)
    copied = write_sqlite(store.path, "copied", timeout=0.5)
    flow.subscribe(copied)
    assert copied.wait(PATIENCE)
    assert copied.error is None
    assert store.do("SELECT * FROM copied") == [(row["id"],) for row in rows]


def test_a_query_that_still_runs_is_interrupted_at_any_moment(store: Store) -> None:
    slow = f"SELECT max(id) AS id FROM ({ENDLESS[store.kind]}) AS n"
    for turns in range(0, 100_000, 10_000):
        store.read(slow).subscribe(subscriber := ManualSubscriber[Any](request=1))
        readers = [each for each in enumerate_threads() if store.kind in each.name]
        for _ in range(turns):  # so that each cancel comes at another moment
            pass
        subscriber.cancel()
        for reader in readers:
            reader.join(PATIENCE)
            assert not reader.is_alive()
        assert subscriber.elements == []


# Arrow batches of DuckDB.


@pytest.fixture
def columns(tmp_path: Path) -> Store:
    store = Store("duckdb", tmp_path / "columns.duckdb")
    store.do("CREATE TABLE flights AS SELECT range AS id, range % 7 AS seven FROM range(50000)")
    return store


def test_batches_have_the_rows_of_the_library(columns: Store) -> None:
    batches = columns.read(key="id", batches=True, fetch=6_000).to_list().run_sync() or []
    assert {type(batch) for batch in batches} == {pa.RecordBatch}
    assert max(batch.num_rows for batch in batches) <= 6_000
    found = pa.Table.from_batches(batches).to_pydict()
    assert [*zip(*found.values(), strict=True)] == columns.do("FROM flights ORDER BY id")


def test_batches_go_on_after_the_last_row_of_one(columns: Store) -> None:
    for key in ("id", ["seven", "id"]):
        flow = columns.read(key=key, batches=True, fetch=2_048)
        resumption = resumption_of(flow)
        first, second, *_ = resumption.positioned(None).take(2).to_list().run_sync() or []
        (again,) = resumption.positioned(first.position).take(1).to_list().run_sync() or []
        assert again.element.equals(second.element)


def test_a_batch_is_read_when_it_is_wanted(columns: Store) -> None:
    flow = columns.read(ENDLESS["duckdb"], batches=True, fetch=2_048)
    flow.subscribe(subscriber := ManualSubscriber[Any](request=2))
    subscriber.await_elements(2)
    subscriber.cancel()
    numbers = [number for batch in subscriber.elements for number in batch["id"].to_pylist()]
    assert numbers == [*range(1, len(numbers) + 1)]
    with pytest.raises(ValueError, match="more than one row has one") as refused:
        columns.read("SELECT 1 AS one FROM flights", key="one", batches=True).count().run_sync()
    assert "\n" not in str(refused.value)
    failing = "SELECT CASE WHEN id = 40000 THEN 'a' ELSE '1' END::INT AS n FROM flights"
    with pytest.raises(ValueError, match="Could not convert"):
        columns.read(failing, batches=True).count().run_sync()


@pytest.mark.parametrize("again", [100, 2_048])  # within a batch, and from one to the next
def test_a_key_that_comes_twice_is_found_in_batches(columns: Store, again: int) -> None:
    query = f"SELECT 1 AS one, CASE WHEN id = {again} THEN id - 1 ELSE id END AS n FROM flights"
    for key in ("n", ["one", "n"]):
        with pytest.raises(ValueError, match=rf"more than one row has .*\b{again - 1}\b"):
            columns.read(query, key=key, batches=True, fetch=2_048).count().run_sync()


def test_a_column_that_a_batch_cannot_hold_is_refused(columns: Store) -> None:
    query = "SELECT * FROM (VALUES (TIMETZ '17:30:00+02'), (TIMETZ '17:30:00+03')) AS times (hour)"
    rows = columns.read(query, key="hour").to_list().run_sync() or []
    assert len(rows) == 2
    assert columns.read(query, key="hour", after=rows[0]["hour"]).to_list().run_sync() == rows[1:]
    for name, kind, asked in (
        ("hour", "TIME WITH TIME ZONE", query),
        ("a", "BIT", "SELECT '0101'::BIT AS a"),
        ("a", "BIGNUM", "SELECT 7::BIGNUM AS a"),
    ):
        with pytest.raises(ValueError, match=f"column {name} is {kind}, which an Arrow batch can"):
            columns.read(asked, batches=True).to_list().run_sync()
    texts = columns.read(f"SELECT CAST(hour AS VARCHAR) AS hour FROM ({query})", batches=True)
    (batch,) = texts.to_list().run_sync() or []
    assert batch.to_pydict() == {"hour": ["17:30:00+02", "17:30:00+03"]}


def test_a_program_reads_what_it_writes_at_the_same_time(columns: Store) -> None:
    sink = write_duckdb(columns.path, "copied").sink
    sink.open(None)
    assert columns.read(key="id").count().run_sync() == 50_000  # through the instance of the sink
    sink.close()
    flow = columns.read(key="id", batches=True, read_only=False)
    flow.subscribe(writer := write_duckdb(columns.path, "copied", key="id"))
    assert writer.wait(PATIENCE)
    assert writer.error is None
    assert columns.do("FROM copied ORDER BY id") == columns.do("FROM flights ORDER BY id")
    flow = columns.read(key="id")
    flow.subscribe(reader := ManualSubscriber[Any](request=1))
    reader.await_elements(1)
    with pytest.raises(TimeoutError, match="which is this one: it reads with read_only=True"):
        write_duckdb(columns.path, "copied", timeout=0.01).sink.open(None)
    reader.cancel()


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
def test_a_database_that_is_removed_while_it_is_open_is_noticed(
    kind: str, is_replaced: bool, tmp_path: Path
) -> None:
    """Its rows would be in a file that has no name, and the ledger would have none as lost."""
    path = tmp_path / "flights"
    sink = MAKERS[kind](path, "t").sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    sink.commit(0)
    path.rename(tmp_path / "moved")
    if is_replaced:
        path.touch()
    sink.begin(1)
    sink({"n": 2})
    with pytest.raises(DeliveryRefused, match="was removed or replaced since it was opened"):
        sink.commit(1)
    sink.close()
    assert not is_replaced or not path.stat().st_size
