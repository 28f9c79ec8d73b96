"""Queries of PostgreSQL as sources: what came, and what the server's own log says was asked."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from threading import Event, Thread
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock import Flow, Retry
from penstock.connectors import read_postgres
from penstock.flow.resume.planning import resumption_of
from penstock.testing import ManualSubscriber
from tests.servers.postgres import PASSWORD, Database, PostgresServer

pytestmark = pytest.mark.postgres

QUICKLY = Retry(times=None, backoff=0.05, longest=0.05)
ONCE = Retry(times=0)


@pytest.fixture
def database(postgres_database: Database) -> Database:
    postgres_database.psql(
        "CREATE TABLE flights AS "
        "SELECT number AS id, 'JFK' AS origin, number * 0.5::float8 AS delay"
        " FROM generate_series(1, 5000) AS number"
    )
    return postgres_database


def ids(flow: Flow[Any]) -> list[int]:
    return [row["id"] for row in flow.to_list().run_sync() or []]


def test_rows_are_dictionaries(database: Database) -> None:
    flow = read_postgres(database.conninfo, "SELECT * FROM flights ORDER BY id LIMIT 2;  ")
    rows = [{"id": 1, "origin": "JFK", "delay": 0.5}, {"id": 2, "origin": "JFK", "delay": 1.0}]
    assert flow.to_list().run_sync() == rows
    assert flow.to_list().run_sync() == rows


def test_nothing_is_fetched_that_was_not_requested(
    postgres_server: PostgresServer, database: Database
) -> None:
    flow = read_postgres(database.logged, "SELECT * FROM flights", key="id", fetch=100)
    flow.subscribe(subscriber := ManualSubscriber[Any](request=0))
    assert postgres_server.statements(database, "DECLARE") == []
    for wanted in (1, 7, 250):
        before = len(subscriber.elements)
        subscriber.request(wanted)
        subscriber.await_elements(before + wanted)
    subscriber.cancel()
    assert [row["id"] for row in subscriber.elements] == [*range(1, 259)]
    fetches = [int(each.split()[2]) for each in postgres_server.statements(database, "FETCH")]
    assert fetches[:2] == [1, 7]
    assert sum(fetches) == 258
    assert max(fetches) <= 100


def test_as_many_are_fetched_as_are_ever_taken(
    postgres_server: PostgresServer, database: Database
) -> None:
    for key in (None, "id"):
        assert (
            len(ids(read_postgres(database.logged, "SELECT * FROM flights", key=key).take(3))) == 3
        )
    fetches = [int(each.split()[2]) for each in postgres_server.statements(database, "FETCH")]
    assert fetches == [3, 3]


def test_the_end_comes_without_another_question(
    postgres_server: PostgresServer, database: Database
) -> None:
    flow = read_postgres(database.logged, "SELECT * FROM flights", fetch=3_000)
    assert sorted(ids(flow)) == [*range(1, 5_001)]
    assert len(postgres_server.statements(database, "FETCH")) == 2
    assert len(postgres_server.statements(database, "COMMIT")) == 1


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("SELECT * FROM flights WHERE origin LIKE 'J%' -- all", None),
        ("SELECT * FROM flights WHERE id <= %s AND origin LIKE 'J%%'", [5_000]),
        ("SELECT * FROM flights WHERE id <= %(most)s", {"most": 5_000}),
    ],
)
def test_a_query_goes_on_after_a_key(database: Database, query: str, parameters: Any) -> None:
    options: dict[str, Any] = {"key": "id", "parameters": parameters}
    assert ids(read_postgres(database.conninfo, query, **options)) == [*range(1, 5_001)]
    after = read_postgres(database.conninfo, query, after=4_997, **options)
    assert ids(after) == [4_998, 4_999, 5_000]


def test_a_key_may_be_several_columns(database: Database) -> None:
    query = 'SELECT id / 10 AS ten, id % 10 AS "o%e", id FROM flights WHERE id < 100'
    flow = read_postgres(database.conninfo, query, key=["ten", "o%e"], after=(9, 7))
    assert ids(flow) == [98, 99]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("date", [date(2013, 2, 8), date(2013, 2, 9)]),
        (
            "timestamptz",
            [datetime(2013, 2, 8, 17, 30, 0, 1, UTC), datetime(2013, 2, 8, 17, 30, 0, 2, UTC)],
        ),
        ("numeric", [Decimal("0.1"), Decimal("0.2")]),
        ("uuid", [UUID(int=1), UUID(int=2)]),
        ("text", ["a", "b"]),
        ("float8", [0.1, 0.2]),
        ("float4", [0.1, 0.2]),
    ],
)
def test_a_key_may_be_of_any_type_that_has_an_order(
    database: Database, kind: str, values: list[Any]
) -> None:
    with psycopg.connect(database.conninfo) as connection:
        connection.execute(f"CREATE TABLE times (at {kind})")
        for value in values:
            connection.execute("INSERT INTO times VALUES (%s)", (value,))
    flow = read_postgres(database.conninfo, "SELECT * FROM times", key="at")
    resumption = resumption_of(flow)
    first, last = resumption.positioned(None).to_list().run_sync() or []
    assert [first.element["at"], last.element["at"]] == values
    (again,) = resumption.positioned(first.position).to_list().run_sync() or []
    assert again.element["at"] == values[1]
    assert read_postgres(
        database.conninfo, "SELECT * FROM times", key="at", after=values[0]
    ).to_list().run_sync() == [{"at": values[1]}]


def test_without_a_key_nothing_is_said_to_be_replayed(database: Database) -> None:
    plain = read_postgres(database.conninfo, "SELECT * FROM flights")
    keyed = read_postgres(database.conninfo, "SELECT * FROM flights", key="id")
    assert (plain.plan.origin.replay, keyed.plan.origin.replay) == ("none", "position")


def test_new_rows_are_asked_for_again_and_again(
    postgres_server: PostgresServer, database: Database
) -> None:
    flow = read_postgres(
        database.logged, "SELECT * FROM flights WHERE id > 4990", key="id", poll=0.01
    )
    flow.subscribe(subscriber := ManualSubscriber[Any](request=11))
    subscriber.await_elements(10)
    database.psql("INSERT INTO flights VALUES (5001, 'EWR', 0), (5002, 'EWR', 0)")
    subscriber.await_elements(11)
    assert subscriber.elements[-1]["id"] == 5_001
    subscriber.request(1)
    subscriber.await_elements(12)
    subscriber.cancel()
    assert subscriber.elements[-1]["id"] == 5_002
    declared = postgres_server.statements(database, "DECLARE")
    assert len(declared) >= 2
    assert {each.split()[2] for each in postgres_server.statements(database, "FETCH")} >= {"1"}


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_server_that_goes_away_is_gone_on_with_after_the_last_row(
    postgres_server: PostgresServer, database: Database, is_killed: bool
) -> None:
    told: list[str] = []
    is_missed = Event()

    def tell(words: str) -> None:
        told.append(words)
        if "next attempt" in words:
            is_missed.set()

    flow = read_postgres(
        database.conninfo, "SELECT * FROM flights", key="id", reconnect=QUICKLY, fetch=100,
        on_state=tell,
    )  # fmt: skip
    flow.subscribe(subscriber := ManualSubscriber[Any](request=1_234))
    subscriber.await_elements(1_234)
    (postgres_server.kill if is_killed else postgres_server.stop)()
    subscriber.request(10_000)
    assert is_missed.wait(60)
    postgres_server.start()
    subscriber.await_end()
    assert [row["id"] for row in subscriber.elements] == [*range(1, 5_001)]
    assert PASSWORD not in "".join(told)


def test_a_lost_connection_without_a_key_is_an_error_that_names_the_remedy(
    database: Database,
) -> None:
    flow = read_postgres(database.conninfo, "SELECT * FROM flights", reconnect=QUICKLY)
    flow.subscribe(subscriber := ManualSubscriber[Any](request=10))
    subscriber.await_elements(10)
    end_others(database)
    subscriber.request(1)
    subscriber.await_end()
    error = subscriber.error
    assert isinstance(error, ConnectionError)
    assert "the connection was lost after 10 rows, and without key= it is not known" in str(error)


def test_a_transaction_that_was_idle_for_too_long_is_gone_on_with(database: Database) -> None:
    impatient = f"-c search_path={database.name} -c idle_in_transaction_session_timeout=50"
    conninfo = f"{database.conninfo} options='{impatient}'"
    flow = read_postgres(conninfo, "SELECT * FROM flights", key="id", reconnect=QUICKLY)
    flow.subscribe(subscriber := ManualSubscriber[Any](request=10))
    subscriber.await_elements(10)
    ours = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{database.name}'"
    while database.psql(ours) != [("0",)]:
        pass
    subscriber.request(10_000)
    subscriber.await_end()
    assert [row["id"] for row in subscriber.elements] == [*range(1, 5_001)]


def end_others(database: Database) -> None:
    database.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE application_name = '{database.name}'"
    )


def test_a_query_that_still_runs_is_cancelled_at_the_server(database: Database) -> None:
    flow = read_postgres(database.conninfo, "SELECT 1 AS id, pg_sleep(3000)")
    flow.subscribe(subscriber := ManualSubscriber[Any](request=1))
    active = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'"
    while database.psql(active) == [("0",)]:
        pass
    subscriber.cancel()
    ours = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{database.name}'"
    while database.psql(ours) != [("0",)]:
        pass
    assert subscriber.elements == []


@pytest.mark.parametrize(
    ("query", "options", "kind", "words"),
    [
        ("SELECT * FROM nowhere", {}, LookupError, 'relation "nowhere" does not exist'),
        ("SELECT nothing FROM flights", {}, LookupError, 'column "nothing" does not exist'),
        ("SELECT * FROM flights", {"key": "no"}, LookupError, "column q.no does not exist"),
        ("SELEC 1", {}, ValueError, 'syntax error at or near "SELEC"'),
        ("DELETE FROM flights", {}, ValueError, "syntax error"),
        ("SELECT 1 AS a, 2 AS a", {}, ValueError, "two columns of the query are called a"),
        ("SELECT 1 / 0 AS a", {}, ValueError, "division by zero"),
        ("SELECT 1 AS a WHERE 1 = %s", {"parameters": ["b"]}, ValueError, "invalid input syntax"),
        ("SELECT 1 AS a WHERE 1 = %s", {"parameters": []}, ValueError, "1 placeholders but 0"),
        ("SELECT NULL::int AS a", {"key": "a"}, ValueError, "the key a of a row is NULL"),
        ("SELECT id / 2 AS a FROM flights", {"key": "a", "fetch": 1}, ValueError, "than one row"),
        ("SELECT id / 2 AS a FROM flights", {"key": "a"}, ValueError, "more than one row has a"),
        ("SELECT ARRAY[1] AS a", {"key": "a"}, ValueError, "and a key is a number, a text, a time"),
        ("SELECT id, 1 AS b, NULL AS c FROM flights", {"key": ["b", "c"]}, ValueError, "NULL"),
    ],
)  # fmt: skip
def test_a_query_that_cannot_be_is_one_line(
    database: Database, query: str, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as refused:
        read_postgres(database.conninfo, query, reconnect=ONCE, **options).to_list().run_sync()
    assert "\n" not in str(refused.value)
    assert PASSWORD not in str(refused.value)
    assert type(refused.value).__module__ == "builtins"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("password=wrong", "does not let us in: .*password authentication failed"),
        ("dbname=nowhere", 'does not let us in: .*database "nowhere" does not exist'),
        ("port=9", "gave up on postgresql://127.0.0.1:9/.* after 1 attempt: .*refused"),
    ],
)
def test_a_server_that_does_not_let_us_in_says_why(
    database: Database, change: str, words: str
) -> None:
    flow = read_postgres(f"{database.conninfo} {change}", "SELECT 1", reconnect=ONCE)
    with pytest.raises(ConnectionError, match=words) as refused:
        flow.to_list().run_sync()
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"query": " "}, ValueError, "query must not be empty"),
        ({"after": 1}, ValueError, "after is the key of a row, so it needs key="),
        ({"poll": 1}, ValueError, "poll asks for rows after the last key, so it needs key="),
        ({"key": "a", "poll": 0}, ValueError, "poll"),
        ({"key": ()}, ValueError, "key must be different names"),
        ({"key": ["a", "a"]}, ValueError, "key must be different names"),
        ({"key": ["a", "b"], "after": 1}, ValueError, "after must have a value for each of a, b"),
        ({"key": "a", "after": object()}, ValueError, "a key is a number, a text, a time"),
        ({"parameters": "s3cret"}, TypeError, "parameters must be a list or a dict"),
        ({"fetch": 0}, ValueError, "fetch must be at least 1"),
        ({"conninfo": "s3cret"}, ValueError, "conninfo is no connection string"),
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(
    options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    given: dict[str, Any] = {"conninfo": "", "query": "SELECT 1", **options}
    with pytest.raises(kind, match=words) as refused:
        read_postgres(given.pop("conninfo"), given.pop("query"), **given)
    assert "s3cret" not in str(refused.value)


def test_a_table_that_is_changed_in_the_middle_is_told(database: Database) -> None:
    flow = read_postgres(database.conninfo, "SELECT * FROM flights", key="id", poll=0.01)
    flow.subscribe(subscriber := ManualSubscriber[Any](request=10_000))
    subscriber.await_elements(5_000)
    changing = Thread(target=database.psql, args=("ALTER TABLE flights DROP COLUMN id",))
    changing.start()
    subscriber.await_end()
    error = subscriber.error
    changing.join()
    assert isinstance(error, LookupError)
    assert "column q.id does not exist" in str(error)
