"""Values of all kinds of columns, as changes and as rows of a query; psycopg alone is the judge."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from penstock import Retry
from penstock.connectors import read_postgres, read_postgres_changes
from tests.servers.postgres import Database

pytestmark = pytest.mark.postgres

ONCE = Retry(times=0)
VALUES = {
    "integers int[]": "'{1,2,NULL}'",
    "nested text[]": "'{{a,b},{c,\"d,e\"}}'",
    "days date[]": "'{2013-02-08}'",
    "json json": "'{\"a\": 1}'",
    "jsonb jsonb": "'[1, null]'",
    "decimal numeric(20, 5)": "123.45",
    "uuid uuid": "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'",
    "instant timestamptz": "'2013-02-08 17:30:00.123+05:30'",
    "instants tstzrange": "'[2013-02-08 17:30+00, 2013-02-09 17:30+00)'",
    "moment timestamp": "'2013-02-08 17:30'",
    "day date": "'2013-02-08'",
    "hour time": "'17:30'",
    "hour_there timetz": "'17:30+02'",
    "length interval": "'1 year 2 mons 3 days 04:05:06.7'",
    "before interval": "'-1 day -2:00'",
    "mood mood": "'fine'",
    "moods mood[]": "'{fine,bad}'",
    "pair pair": "'(1,abc)'",
    "rank rank": "7",
    "top_rank top_rank": "8",
    "ranks ranks": "'{1,2}'",
    "each_rank rank[]": "'{1,2}'",
    "bytes bytea": "'\\x00ff10'",
    "address inet": "'10.0.0.1/8'",
    "net cidr": "'10.0.0.0/8'",
    "range int4range": "'[1,5)'",
    "several int4multirange": "'{[1,3),[5,7)}'",
    "place point": "'(1,2)'",
    "bits bit(3)": "'101'",
    "single float4": "0.1",
    "double float8": "1.0 / 3.0::float8",
    "infinite float8": "'-Infinity'",
    "padded char(5)": "'ab'",
    "flag bool": "false",
    "nothing text": "''",
    "unknown int": "NULL",
}
OTHER_SETTINGS = {
    "DateStyle": "German",
    "IntervalStyle": "iso_8601",
    "bytea_output": "escape",
    "extra_float_digits": "-5",
    "TimeZone": "Asia/Kolkata",
}


@pytest.fixture
def database(postgres_database: Database) -> Database:
    """One with a table of all types, which has one row."""
    name = postgres_database.name
    postgres_database.psql(
        "CREATE TYPE mood AS ENUM ('fine', 'bad'); CREATE TYPE pair AS (a int, b text);"
        "CREATE DOMAIN rank AS int CHECK (VALUE > 0); CREATE DOMAIN top_rank AS rank;"
        f"CREATE DOMAIN ranks AS int[]; CREATE TABLE kinds ({', '.join(VALUES)});"
        f"CREATE PUBLICATION {name} FOR TABLE kinds"
    )
    postgres_database.psql(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    postgres_database.psql(f"INSERT INTO kinds VALUES ({', '.join(VALUES.values())})")
    return postgres_database


def judged(database: Database) -> dict[str, Any]:
    """The row as psycopg has it, with the settings that it understands."""
    with psycopg.connect(database.conninfo, row_factory=dict_row) as connection:
        for statement in ("SET DateStyle = ISO", "SET IntervalStyle = postgres",
                          "SET extra_float_digits = 3", "SET TimeZone = 'UTC'"):  # fmt: skip
            connection.execute(statement)
        (row,) = connection.execute("SELECT * FROM kinds").fetchall()
        return row


def conninfo_with(database: Database, settings: dict[str, str]) -> str:
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return f"{database.conninfo} options='-c search_path={database.name} {options}'"


@pytest.mark.parametrize("settings", [{}, OTHER_SETTINGS])
def test_a_change_has_the_values_of_a_query_whatever_the_settings_of_the_session(
    database: Database, settings: dict[str, str]
) -> None:
    conninfo = conninfo_with(database, settings)
    flow = read_postgres_changes(conninfo, database.name, database.name, reconnect=ONCE)
    change = flow.first().run_sync()
    assert change is not None
    assert change.row == judged(database)


def test_a_query_has_its_values_whatever_the_settings_of_the_session(database: Database) -> None:
    conninfo = conninfo_with(database, {**OTHER_SETTINGS, "extra_float_digits": "1"})
    row = read_postgres(conninfo, "SELECT * FROM kinds", reconnect=ONCE).first().run_sync()
    assert row == judged(database)


def test_a_value_that_python_does_not_have_is_named_with_its_place(
    postgres_database: Database,
) -> None:
    name = postgres_database.name
    postgres_database.psql("CREATE TABLE days (id int PRIMARY KEY, day date)")
    postgres_database.psql(f"CREATE PUBLICATION {name} FOR TABLE days")
    postgres_database.psql(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    postgres_database.psql("INSERT INTO days VALUES (1, '2013-02-08'), (2, 'infinity')")
    postgres_database.psql("UPDATE days SET day = '0044-03-15 BC' WHERE id = 1")
    postgres_database.psql("INSERT INTO days VALUES (3, '2013-02-10')")

    def read(count: int, seen: list[Any] | None = None, after: Any = None) -> list[Any]:
        changes = [] if seen is None else seen
        flow = read_postgres_changes(postgres_database.conninfo, name, name, after=after)
        flow.take(count).for_each(changes.append).run_sync()
        return changes

    (before,) = read(1)
    seen: list[Any] = []
    with pytest.raises(ValueError, match=f"the column day of {name}.days is 'infinity'") as refused:
        read(2, seen=seen)
    assert seen == [before]
    skipped = [before.lsn, 1]
    assert f"after={skipped} leaves the change out" in str(refused.value)
    with pytest.raises(ValueError, match="the column day of .* is '0044-03-15 BC'") as refused:
        read(1, after=skipped)
    place = str(refused.value).partition("after=['")[2].partition("'")[0]
    (last,) = read(1, after=[place, 0])
    assert last.row["id"] == 3
