"""Tables of PostgreSQL as sinks, read back by ``psql``."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from threading import Thread
from typing import Any
from uuid import UUID

import psycopg
import pyarrow
import pytest
from psycopg.types.range import Range

from penstock import Flow, Retry
from penstock.connectors import Writer, write_postgres
from penstock.delivery import DeliveryRefused, Epoch
from penstock.runtime import collect_undelivered
from penstock.spark.egress.rows import row_type
from tests.connectors.flights import Departure, Flight
from tests.servers.postgres import PASSWORD, Database, PostgresServer

pytestmark = pytest.mark.postgres

PATIENCE = 60
QUICKLY = Retry(times=None, backoff=0.05, longest=0.05)
HOSTILE = [
    'a"b', "a'b", "a;DROP TABLE flights;--", "select", "a b", "é", "[a]", "%s", "%(a)s", "%", "{}",
    "1", '"', "a\nb", "ctid2", "NULL", "\\", "$1", "A", "a",
]  # fmt: skip


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def failed(writer: Writer, *elements: Any) -> str:
    """The one line with which it ends, without the password."""
    with collect_undelivered():
        Flow.of(*elements).subscribe(writer)
        assert writer.wait(PATIENCE)
    line = str(writer.error)
    assert "\n" not in line
    assert PASSWORD not in line
    assert line != "None"
    return line


def rows_in(
    database: Database, query: str = "SELECT * FROM flights ORDER BY ctid"
) -> list[tuple[str, ...]]:
    return database.psql(query)


def give(sink: Any, batch: int, *elements: Any) -> None:
    assert sink.begin(batch)
    for element in elements:
        sink(element)
    sink.commit(batch)


def test_elements_become_rows_as_they_are(database: Database) -> None:
    elements = [{"origin": "JFK", "delay": 12.0}, Flight("EWR", None), Departure("LGA", 0.5)]
    written(write_postgres(database.conninfo, "flights"), *elements)
    assert rows_in(database) == [("JFK", "12"), ("EWR", r"\N"), ("LGA", "0.5")]
    written(write_postgres(database.conninfo, "flights", columns=["origin", "delay"]), ("BOS", 1))
    assert rows_in(database)[-1] == ("BOS", "1")


def test_an_arrow_batch_is_many_rows(database: Database) -> None:
    table = pyarrow.table({"delay": [*range(2_500)], "origin": ["JFK"] * 2_500})
    elements = [Flight("EWR", -1), table, *table.slice(0, 2).to_batches(), table.slice(0, 0)]
    written(write_postgres(database.conninfo, "flights", commit_rows=100), *elements)
    found = [int(delay) for origin, delay in rows_in(database)]
    assert found == [-1, *range(2_500), 0, 1]
    written(write_postgres(database.conninfo, "others"), table)
    assert rows_in(database, "SELECT count(*), max(delay) FROM others") == [("2500", "2499")]
    line = failed(
        write_postgres(database.conninfo, "flights"), Flight("EWR", 1), table.drop("delay")
    )
    assert line.endswith("the columns are origin, delay, but a batch has origin")


def test_the_table_has_the_types_of_the_first_element(database: Database) -> None:
    element = {
        "a": True, "b": 1, "c": 0.5, "d": "é\t\n\\", "e": b"\0\1", "f": date(2013, 2, 8),
        "g": datetime(2013, 2, 8, 17, 30, tzinfo=UTC), "h": datetime(2013, 2, 8, 17, 30),
        "i": Decimal("12.30"), "j": {"k": [1, None]}, "l": timedelta(minutes=3),
        "m": UUID(int=7), "n": datetime(2013, 2, 8, 17, 30, tzinfo=UTC).timetz(),
    }  # fmt: skip
    written(write_postgres(database.conninfo, "flights"), element)
    types = database.psql(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = current_schema AND table_name = 'flights' ORDER BY ordinal_position"
    )
    assert types == [
        ("a", "boolean"), ("b", "bigint"), ("c", "double precision"), ("d", "text"),
        ("e", "bytea"), ("f", "date"), ("g", "timestamp with time zone"),
        ("h", "timestamp without time zone"), ("i", "numeric"), ("j", "jsonb"),
        ("l", "interval"), ("m", "uuid"), ("n", "time with time zone"),
    ]  # fmt: skip
    with psycopg.connect(database.conninfo) as connection:
        (row,) = connection.execute("SELECT * FROM flights").fetchall()
    assert row == tuple(element.values())


def test_what_has_names_is_json_with_them(database: Database) -> None:
    window = row_type(("start", "from"))(datetime(2013, 2, 8, 12), Flight("JFK", None))
    struct = {"start": "2013-02-08T12:00:00", "from": {"origin": "JFK", "delay": None}}
    rows = [{"id": 1, "window": window}, {"id": 2, "window": {"all": [window]}}]
    written(write_postgres(database.conninfo, "flights"), *rows)
    (kind,) = database.psql('SELECT DISTINCT pg_typeof("window") FROM flights')
    assert kind == ("jsonb",)
    found = database.psql('SELECT id, "window"::text FROM flights ORDER BY id')
    assert [json.loads(text) for _, text in found] == [struct, {"all": [struct]}]
    table = pyarrow.table({"id": [3], "window": [window._asdict() | {"from": None}]})
    written(write_postgres(database.conninfo, "flights"), table)
    (row,) = database.psql('SELECT "window"::text FROM flights WHERE id = 3')
    assert json.loads(row[0]) == struct | {"from": None}


def test_a_tuple_without_names_is_a_composite_value(database: Database) -> None:
    database.psql("CREATE TYPE place AS (city text, gate int)")
    columns = {"id": "int", "place": "place"}
    writer = write_postgres(database.conninfo, "flights", columns=columns)
    written(writer, {"id": 1, "place": ("New York", 7)})
    assert rows_in(database, "SELECT (place).city, (place).gate FROM flights") == [
        ("New York", "7")
    ]


def test_columns_may_have_types(database: Database) -> None:
    columns = {"origin": "varchar(3) NOT NULL", "delay": "numeric(5, 2)", "stops": "text[]"}
    written(write_postgres(database.conninfo, "flights", columns=columns), ("JFK", 1, ["a", None]))
    assert rows_in(database) == [("JFK", "1.00", "{a,NULL}")]


def test_a_table_may_be_in_a_schema_with_its_mark(database: Database) -> None:
    database.psql(f'CREATE SCHEMA "T{database.name}"')
    sink = write_postgres(database.conninfo, f"T{database.name}.Flights").sink
    sink.open(Epoch.begun())
    give(sink, 0, Flight("JFK", 1))
    sink.close()
    assert rows_in(database, f'SELECT * FROM "T{database.name}"."Flights"') == [("JFK", "1")]
    assert rows_in(database, f'SELECT sink FROM "T{database.name}".penstock_delivery') == [
        (f"T{database.name}.Flights",)
    ]


def test_a_row_with_the_same_key_is_replaced(database: Database) -> None:
    rows = [Flight("JFK", 1), Flight("EWR", 2), Flight("JFK", 3), Flight("JFK", 4)]
    written(write_postgres(database.conninfo, "flights", key="origin"), *rows)
    everything = "SELECT * FROM flights ORDER BY origin"
    assert rows_in(database, everything) == [("EWR", "2"), ("JFK", "4")]
    written(write_postgres(database.conninfo, "flights", key="origin"), Flight("EWR", 9))
    assert rows_in(database, everything) == [("EWR", "9"), ("JFK", "4")]


def test_a_key_of_several_columns_and_nothing_else(database: Database) -> None:
    options: dict[str, Any] = {"key": ["origin", "delay"], "commit_rows": 2}
    rows = [Flight("JFK", 1), Flight("JFK", 2), Flight("JFK", 1), Flight("EWR", 1)]
    written(write_postgres(database.conninfo, "flights", **options), *rows)
    found = rows_in(database, "SELECT * FROM flights ORDER BY origin, delay")
    assert found == [("EWR", "1"), ("JFK", "1"), ("JFK", "2")]


def test_rows_without_a_key_are_all_kept(database: Database) -> None:
    database.psql("CREATE TABLE flights (origin text UNIQUE, delay bigint)")
    rows = [Flight(None, 1), Flight(None, 2), Flight("JFK", 3)]  # type: ignore[arg-type]
    written(write_postgres(database.conninfo, "flights", key="origin"), *rows)
    found = rows_in(database, "SELECT * FROM flights ORDER BY delay")
    assert found == [(r"\N", "1"), (r"\N", "2"), ("JFK", "3")]


def test_names_stand_for_themselves_whatever_is_in_them(database: Database) -> None:
    element = dict.fromkeys(HOSTILE, 1)
    for key in ((), HOSTILE[0]):
        table = f'fl"ights;%s {len(key)}'
        written(write_postgres(database.conninfo, table, key=key), element, element)
        with psycopg.connect(database.conninfo) as connection:
            quoted = table.replace('"', '""')
            found = connection.execute(f'SELECT * FROM "{quoted}"'.encode())
            assert [column.name for column in found.description or ()] == HOSTILE


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("penstock_delivery", {}, "penstock_delivery is where marks are kept"),
        ("public.penstock_delivery", {}, "where marks are kept"),
        ("a.b.c", {}, "a name, or one with its schema before it"),
        ("a.", {}, "cannot be the name of a table"),
        ("é" * 32, {}, "the name of a table has at most 63 bytes"),
        ("a", {"columns": ["é" * 32]}, "the name of a column has at most 63 bytes"),
        ("a", {"columns": ["b", "b"]}, "columns must be different names"),
        ("a", {"columns": {"b": "int); DROP TABLE x; --"}}, "the type of b is none of SQL"),
        ("a", {"columns": ["b"], "key": "c"}, "the key 'c' is none of the columns b"),
        ("a", {"columns": ["b\0"]}, "cannot be the name of a column"),
        ("a", {"commit_rows": 0}, "commit_rows must be at least 1"),
        (" ", {}, "table must not be empty"),
    ],
)
def test_names_that_cannot_be_are_refused_at_once(
    table: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        write_postgres("dbname=flights", table, **options)


def test_a_conninfo_that_cannot_be_read_is_not_shown() -> None:
    for conninfo in ("s3cret", "postgresql://me:s3cret@[host/", "passwort=s3cret"):
        with pytest.raises(ValueError, match="conninfo is no connection string") as refused:
            write_postgres(conninfo, "flights")
        assert "s3cret" not in str(refused.value)
    with pytest.raises(TypeError, match="conninfo must be a str, not an object of the class dict"):
        write_postgres({"password": "s3cret"}, "flights")  # type: ignore[arg-type]


def test_a_server_that_does_not_let_us_in_says_why(database: Database) -> None:
    wrong = {
        "password=wrong": "does not let us in: .*password authentication failed",
        "dbname=nowhere": 'does not let us in: .*database "nowhere" does not exist',
        "port=9": "does not answer: .*[Rr]efused",
    }
    for change, words in wrong.items():
        sink = write_postgres(f"{database.conninfo} {change}", "flights").sink
        for question in (sink.check, sink.open):
            with pytest.raises(ConnectionError, match=words) as refused:
                question(None)
            assert "\n" not in str(refused.value)
            assert PASSWORD not in str(refused.value)
        sink.close()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("soon", 'refuses a row: invalid input syntax for type bigint: "soon"; the row is'),
        (1 << 70, "out of range for type bigint; the row is"),
        ("\0", "a value has no form in PostgreSQL: .*NUL.*; the row is"),
        ("\ud800", "a value has no form in PostgreSQL: .*surrogates.*; the row is"),
        (object, "a value has no form in PostgreSQL: cannot adapt type 'type'"),
    ],
)
def test_a_value_that_does_not_fit_is_shown_with_its_row(
    database: Database, value: Any, words: str
) -> None:
    database.psql("CREATE TABLE flights (origin text, delay bigint)")
    rows = [Flight("JFK", 1), Flight("EWR", value), Flight("LGA", 3)]
    line = failed(write_postgres(database.conninfo, "flights"), *rows)
    assert "EWR" in line
    assert "LGA" not in line
    with pytest.raises(ValueError, match=words):
        raise ValueError(line)
    assert rows_in(database) == []


LATE = datetime(2013, 2, 8, 17, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "lost"),
    [
        ("date", LATE, "a time"),
        ("date", LATE.replace(tzinfo=None), "a time"),
        ("timestamp", LATE, "a time zone"),
        ("timestamp(0)", LATE, "a time zone"),
        ("moment", LATE, "a time zone"),
        ("time", LATE, "a date"),
        ("time", LATE.timetz(), "a time zone"),
        ("timetz", LATE, "a date"),
    ],
)
def test_a_date_or_time_of_which_a_part_would_be_dropped_is_refused(
    database: Database, kind: str, value: Any, lost: str
) -> None:
    database.psql("CREATE DOMAIN local AS timestamp; CREATE DOMAIN moment AS local")
    database.psql(f"CREATE TABLE flights (n int, at {kind})")
    for key in (None, "n"):
        if key:
            database.psql("ALTER TABLE flights ADD PRIMARY KEY (n)")
        writer = write_postgres(database.conninfo, "flights", key=key)
        line = failed(writer, {"n": 1, "at": None}, {"n": 2, "at": value}, {"n": 3, "at": None})
        assert f"at cannot be {value!r}, since its column has no place for {lost}; the row" in line
        assert rows_in(database) == []


@pytest.mark.parametrize(
    ("kind", "value", "lost"),
    [
        ("date[]", [LATE.date(), LATE], "a time"),
        ("date[]", [[LATE]], "a time"),
        ("timestamp[]", [LATE], "a time zone"),
        ("time[]", [LATE], "a date"),
        ("daterange", Range(LATE, LATE + timedelta(hours=1)), "a time"),
        ("tsrange", Range(None, LATE), "a time zone"),
    ],
    ids=str,
)
def test_a_part_that_an_array_or_a_range_would_drop_is_refused(
    database: Database, kind: str, value: Any, lost: str
) -> None:
    database.psql(f"CREATE TABLE flights (at {kind})")
    line = failed(write_postgres(database.conninfo, "flights"), {"at": value})
    assert f"at cannot be {LATE!r}, since its column has no place for {lost}; the row" in line
    assert rows_in(database) == []


def test_times_of_which_nothing_is_dropped_are_as_psycopg_has_them(database: Database) -> None:
    values = [LATE.date(), LATE.replace(tzinfo=None), LATE, LATE.time(), LATE.timetz()]
    names = ["day", "moment", "instant", "hour", "hour_there"]
    kinds = ["date", "timestamp", "timestamptz", "time", "timetz"]
    columns = ", ".join(map(" ".join, zip(names, kinds, strict=True)))
    database.psql(f"CREATE TABLE flights ({columns}); CREATE TABLE theirs ({columns})")
    writer = write_postgres(database.conninfo, "flights")
    Flow.of(dict(zip(names, values, strict=True))).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None
    with psycopg.connect(database.conninfo) as theirs:
        theirs.execute("INSERT INTO theirs VALUES (%s, %s, %s, %s, %s)", values)
    assert rows_in(database) == rows_in(database, "SELECT * FROM theirs")


def test_a_row_that_a_rule_of_the_table_forbids_is_told(database: Database) -> None:
    database.psql("CREATE TABLE flights (origin text PRIMARY KEY, delay bigint CHECK (delay > 0))")
    line = failed(write_postgres(database.conninfo, "flights"), Flight("JFK", -1))
    assert 'violates check constraint "flights_delay_check"' in line
    line = failed(write_postgres(database.conninfo, "flights"), *[Flight("JFK", 1)] * 2)
    assert "duplicate key value" in line
    assert "(JFK)" in line
    assert rows_in(database) == []


@pytest.mark.parametrize("delay", [None, [1], 1j])
def test_a_type_that_is_not_clear_is_asked_for(database: Database, delay: Any) -> None:
    line = failed(write_postgres(database.conninfo, "flights"), Flight("JFK", delay))
    assert "it is not clear of which type the column delay is" in line
    assert rows_in(
        database, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema"
    ) == [("0",)]


def test_an_element_with_other_columns_is_refused(database: Database) -> None:
    for element in ({"origin": "JFK"}, {"origin": "JFK", "late": 1}, 7):
        line = failed(write_postgres(database.conninfo, "flights"), Flight("JFK", 1), element)
        assert "origin, delay" in line
    line = failed(write_postgres(database.conninfo, "flights"), ("JFK", 1))
    assert "has no names for its values; give columns=" in line


def test_a_table_with_other_columns_is_refused_and_stays(database: Database) -> None:
    database.psql("CREATE TABLE flights (origin text, carrier text)")
    words = (
        f"the table flights at {database.address} has the columns origin, carrier, and not delay"
    )
    known = write_postgres(database.conninfo, "flights", columns=["origin", "delay"]).sink
    for question in (known.check, known.open):
        with pytest.raises(DeliveryRefused, match=words):
            question(Epoch.begun())
    later = write_postgres(database.conninfo, "flights").sink
    later.open(Epoch.begun())
    with pytest.raises(DeliveryRefused, match=words):
        give(later, 0, Flight("EWR", 1))
    later.close()
    assert rows_in(database) == []


def test_a_table_without_that_key_is_refused(database: Database) -> None:
    database.psql("CREATE TABLE flights (origin text, delay bigint)")
    sink = write_postgres(
        database.conninfo, "flights", columns=["origin", "delay"], key="origin"
    ).sink
    with pytest.raises(DeliveryRefused, match="no unique or exclusion constraint matching"):
        sink.open(None)


@pytest.mark.parametrize("key", [(), "origin"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ALTER TABLE flights DROP COLUMN delay", '"delay" .*does not exist'),
        ("DROP TABLE flights", '"flights" does not exist'),
    ],
)
def test_a_table_that_is_changed_in_the_middle_is_refused(
    database: Database, key: Any, change: str, words: str
) -> None:
    sink = write_postgres(database.conninfo, "flights", key=key).sink
    sink.open(Epoch.begun())
    give(sink, 0, Flight("JFK", 1))
    database.psql(change)
    with pytest.raises(DeliveryRefused, match=words):
        give(sink, 1, Flight("EWR", 2))
    sink.close()


def test_a_type_that_is_changed_in_the_middle_is_told(database: Database) -> None:
    sink = write_postgres(database.conninfo, "flights", key="origin").sink
    sink.open(Epoch.begun())
    give(sink, 0, Flight("JFK", 1))
    database.psql("ALTER TABLE flights ALTER COLUMN delay TYPE date USING current_date")
    with pytest.raises(DeliveryRefused, match='"delay" is of type date but expression is of type'):
        give(sink, 1, Flight("EWR", 2))
    sink.close()


def test_somebody_without_rights_is_told(database: Database) -> None:
    name = f"guest_of_{database.name}"
    database.psql(f"CREATE TABLE flights (origin text, delay bigint); CREATE ROLE {name} LOGIN")
    database.psql(
        f"ALTER ROLE {name} PASSWORD 'guest'; GRANT USAGE ON SCHEMA {database.name} TO {name}"
    )
    guest = f"{database.conninfo} user={name} password=guest"
    sink = write_postgres(guest, "flights", columns=["origin", "delay"]).sink
    with pytest.raises(PermissionError, match="permission denied for table flights"):
        sink.check(None)
    line = failed(write_postgres(guest, "others"), Flight("JFK", 1))
    assert f"permission denied for schema {database.name}" in line


def test_the_table_of_another_checkpoint_is_refused(database: Database) -> None:
    sink = write_postgres(database.conninfo, "flights").sink
    sink.open(Epoch.begun())
    give(sink, 0, Flight("JFK", 1))
    sink.close()
    again = write_postgres(database.conninfo, "flights").sink
    for question in (again.check, again.open):
        with pytest.raises(DeliveryRefused, match="was written from another checkpoint"):
            question(Epoch.begun())
    other = write_postgres(database.conninfo, "flights", name="another pipeline").sink
    other.open(Epoch.begun())
    give(other, 0, Flight("EWR", 2))
    other.close()
    assert rows_in(database) == [("JFK", "1"), ("EWR", "2")]


@pytest.mark.parametrize("batches", [1, 2])
def test_two_pipelines_at_once_are_noticed(database: Database, batches: int) -> None:
    """Also before the first mark is there, when there is no row of it to be locked."""
    epoch = Epoch.begun()
    first, second = (write_postgres(database.conninfo, "flights").sink for _ in range(2))
    for sink in (first, second):
        sink.open(epoch)
    refusals: list[str] = []

    def race() -> None:
        with pytest.raises(DeliveryRefused) as refused:
            give(second, batches - 1, *numbered(0, 2_000))
        refusals.append(str(refused.value))

    for batch in range(batches - 1):
        give(first, batch, Flight("JFK", -1))
    first.begin(batches - 1)
    for flight in numbered(0, 2_000):
        first(flight)  # which holds the lock from the first thousand on
    thread = Thread(target=race)
    thread.start()
    await_lock(database)
    first.commit(batches - 1)
    thread.join()
    for sink in (first, second):
        sink.close()
    assert "was written by another pipeline since this one was opened" in refusals[0]
    assert rows_in(database, "SELECT count(*) FROM flights WHERE delay >= 0") == [("2000",)]


def numbered(first: int, end: int) -> list[Flight]:
    return [Flight("JFK", number) for number in range(first, end)]


def await_lock(database: Database) -> None:
    """Return when somebody waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while database.psql(waiting) == [("0",)]:
        pass


def test_somebody_who_keeps_the_table_locked_is_named(database: Database) -> None:
    database.psql("CREATE TABLE flights (origin text, delay bigint)")
    with psycopg.connect(database.conninfo) as connection:
        connection.execute("LOCK TABLE flights")
        line = failed(write_postgres(database.conninfo, "flights", timeout=0.01), Flight("JFK", 1))
    assert "another program has kept the table flights at" in line
    assert "locked for 0.01 s" in line


def test_a_batch_that_failed_can_be_given_again(database: Database) -> None:
    database.psql("CREATE TABLE flights (origin text, delay bigint)")
    sink = write_postgres(database.conninfo, "flights", timeout=0.01).sink
    sink.open(Epoch.begun())
    with psycopg.connect(database.conninfo) as connection:
        connection.execute("LOCK TABLE flights")
        with pytest.raises(TimeoutError):
            give(sink, 0, Flight("JFK", 1))
    with pytest.raises(ValueError, match="refuses a row"):
        give(sink, 0, Flight("JFK", 0.5))
    give(sink, 0, Flight("JFK", 2))
    sink.close()
    assert rows_in(database) == [("JFK", "2")]


def test_a_batch_is_seen_by_others_when_it_is_committed(database: Database) -> None:
    sink = write_postgres(database.conninfo, "flights").sink
    sink.open(Epoch.begun())
    sink.begin(0)
    for number in range(5_000):
        sink({"n": number})
    assert rows_in(database) == []
    sink.commit(0)
    counted = "SELECT count(*), count(DISTINCT n), min(n), max(n) FROM flights"
    assert rows_in(database, counted) == [("5000", "5000", "0", "4999")]
    sink.close()


def test_a_check_says_what_would_be_done_and_changes_nothing(database: Database) -> None:
    epoch = Epoch.begun()
    sink = write_postgres(database.conninfo, "flights", key="origin").sink
    sink.open(epoch)
    give(sink, 0, Flight("JFK", 1))
    sink.close()
    state = (
        "SELECT relname, relfilenode FROM pg_class "
        "WHERE relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
    before = rows_in(database, state), rows_in(database)
    same = write_postgres(database.conninfo, "flights", columns=["origin", "delay"], key="origin")
    other = write_postgres(database.conninfo, "other").sink
    assert same.sink.check(epoch) == f"goes on in the table flights at {database.address}"
    assert same.sink.check(None) == f"adds to the table flights at {database.address}"
    assert other.check(epoch) == f"makes the table other at {database.address}"
    assert (rows_in(database, state), rows_in(database)) == before


# A server that goes away.


@pytest.mark.parametrize("key", [pytest.param((), marks=pytest.mark.full), "delay"])
def test_a_server_that_is_stopped_amid_and_between_batches_has_each_row_once(
    postgres_server: PostgresServer, database: Database, key: Any
) -> None:
    told: list[str] = []
    sink = write_postgres(
        database.conninfo, "flights", key=key, reconnect=QUICKLY, on_state=told.append
    ).sink
    sink.open(Epoch.begun())
    for batch, end in enumerate((postgres_server.stop, postgres_server.kill)):
        sink.begin(batch)
        for flight in numbered(batch * 5_000, batch * 5_000 + 2_500):
            sink(flight)
        end()
        for flight in numbered(batch * 5_000 + 2_500, batch * 5_000 + 5_000):
            sink(flight)
        restart_when_missed(postgres_server, told, lambda: sink.commit(batch))  # noqa: B023
        end()
        postgres_server.start()
    give(sink, 2, Flight("JFK", 10_000))
    sink.close()
    found = rows_in(database, "SELECT delay FROM flights ORDER BY delay")
    assert found == [(str(number),) for number in range(10_001)]
    assert PASSWORD not in "".join(told)


def restart_when_missed(
    server: PostgresServer, told: list[str], work: Callable[[], object]
) -> None:
    """Let somebody work while the server is away, and start it when that was noticed."""
    before = len(told)
    thread = Thread(target=work)
    thread.start()
    while len(told) == before and thread.is_alive():
        thread.join(0.01)
    server.start()
    thread.join()


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("epoch", [Epoch.begun(), None])
def test_a_commit_of_which_no_answer_came_is_neither_lost_nor_done_again(
    database: Database, is_done: bool, epoch: Epoch | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = psycopg.Connection.execute
    cuts: list[str] = []

    def cut(connection: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        if query != "COMMIT" or cuts:
            return execute(connection, query, *arguments, **options)
        cuts.append(query)
        if is_done:
            execute(connection, query)
        database.psql(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
        return execute(connection, "SELECT 1")

    monkeypatch.setattr(psycopg.Connection, "execute", cut)
    sink = write_postgres(database.conninfo, "flights", reconnect=QUICKLY).sink
    sink.open(epoch)
    give(sink, 0, *numbered(0, 1_500))
    give(sink, 1, *numbered(1_500, 2_000))
    sink.close()
    assert cuts == ["COMMIT"]
    found = rows_in(database, "SELECT delay FROM flights ORDER BY delay")
    assert found == [(str(number),) for number in range(2_000)]


def test_a_server_that_stays_away_is_given_up(
    postgres_server: PostgresServer, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    sink = write_postgres(database.conninfo, "flights", reconnect=Retry(times=2, backoff=0.01)).sink
    sink.open(None)
    sink.begin(0)
    sink(Flight("JFK", 1))
    postgres_server.stop()
    try:
        with (
            caplog.at_level(logging.INFO),
            pytest.raises(ConnectionError, match="write_postgres gave up on .* after 3 attempts"),
        ):
            sink.commit(0)
        sink.close()
    finally:
        postgres_server.start()
    assert "next attempt in" in caplog.text
    assert PASSWORD not in caplog.text


def test_another_pipeline_that_writes_while_the_connection_is_lost_is_noticed(
    database: Database,
) -> None:
    epoch = Epoch.begun()
    first, second = (
        write_postgres(database.conninfo, "flights", reconnect=QUICKLY).sink for _ in range(2)
    )
    for sink in (first, second):
        sink.open(epoch)
    first.begin(0)
    for flight in numbered(0, 2_000):
        first(flight)
    database.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE state = 'active' AND application_name = '{database.name}'"
    )
    give(second, 0, *numbered(0, 2_000))
    with pytest.raises(DeliveryRefused, match="by another pipeline while the connection was lost"):
        first.commit(0)
    for sink in (first, second):
        sink.close()
    assert rows_in(database, "SELECT count(*) FROM flights") == [("2000",)]


# A program that is killed.

KILLED = """
import os, signal, sys
from penstock.connectors import write_postgres
from penstock.delivery import Epoch
sink = write_postgres(sys.argv[1], "flights").sink
sink.open(Epoch.read(sys.argv[2]))
sink.begin(0)
for number in range(10_000):
    sink({"n": number})
if sys.argv[3] == "after":
    sink.commit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("point", "count"), [("before", 0), ("after", 10_000)])
def test_a_kill_leaves_the_whole_batch_or_nothing(
    database: Database, point: str, count: int
) -> None:
    first = Epoch.begun()
    command = [sys.executable, "-c", KILLED, database.conninfo, first.text, point]
    assert subprocess.run(command, check=False).returncode == -9
    second = Epoch.begun(first.starts, planned=0)
    sink = write_postgres(database.conninfo, "flights").sink
    sink.open(second)
    assert sink.begin(0) is (count == 0)
    sink.close()
    counted = rows_in(database, "SELECT count(*), count(DISTINCT n) FROM flights")
    assert counted == [(str(count), str(count))]
