"""A job that runs now and then: each run takes what its source has got since the last one.

What is added comes by the server's own client or by the bare library.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from penstock import Flow
from penstock.connectors import (
    read_delta,
    read_duckdb,
    read_iceberg,
    read_jetstream,
    read_kafka,
    read_parquet,
    read_postgres,
    read_redis_stream,
    read_sqlite,
)
from tests.lake.iceberg import catalog_in

pytestmark = pytest.mark.timeout(300)

QUERY = "SELECT number FROM numbers"
TABLE = "CREATE TABLE IF NOT EXISTS numbers (number BIGINT PRIMARY KEY)"


class Growing(NamedTuple):
    """A source, what adds to it, and the number in one of its elements."""

    flow: Callable[[], Flow[Any]]
    add: Callable[[Sequence[int]], object]
    number: Callable[[Any], int] = lambda row: int(row["number"])


def lines(numbers: Sequence[int]) -> list[bytes]:
    return [json.dumps({"number": number}).encode() for number in numbers]


def values(numbers: Sequence[int]) -> str:
    return ", ".join(f"({number})" for number in numbers)


def arrow(numbers: Sequence[int]) -> pyarrow.Table:
    return pyarrow.table({"number": [*numbers]})


def in_sqlite(folder: Path, request: pytest.FixtureRequest) -> Growing:
    def add(numbers: Sequence[int]) -> None:
        with closing(sqlite3.connect(folder / "a.db")) as database, database:
            database.execute(TABLE)
            database.execute(f"INSERT INTO numbers VALUES {values(numbers)}")

    return Growing(lambda: read_sqlite(folder / "a.db", QUERY, key="number"), add)


def in_duckdb(folder: Path, request: pytest.FixtureRequest) -> Growing:
    def add(numbers: Sequence[int]) -> None:
        with duckdb.connect(str(folder / "a.duckdb")) as database:
            database.execute(TABLE)
            database.execute(f"INSERT INTO numbers VALUES {values(numbers)}")

    return Growing(lambda: read_duckdb(folder / "a.duckdb", QUERY, key="number"), add)


def in_parquet(folder: Path, request: pytest.FixtureRequest) -> Growing:
    (folder / "parquet").mkdir()

    def add(numbers: Sequence[int]) -> None:
        parquet.write_table(arrow(numbers), folder / "parquet" / f"{numbers[0]:04}.parquet")

    return Growing(lambda: read_parquet(folder / "parquet"), add)


def in_delta(folder: Path, request: pytest.FixtureRequest) -> Growing:
    def add(numbers: Sequence[int]) -> None:
        write_deltalake(folder / "delta", arrow(numbers), mode="append")

    return Growing(lambda: read_delta(folder / "delta", follow=True, until_end=True), add)


def in_iceberg(folder: Path, request: pytest.FixtureRequest) -> Growing:
    catalog = catalog_in(folder)
    request.addfinalizer(catalog.close)
    table = catalog.create_table("lake.numbers", arrow([0]).schema)
    return Growing(
        lambda: read_iceberg(catalog, "lake.numbers", follow=True, until_end=True),
        lambda numbers: table.append(arrow(numbers)),
    )


def in_postgres(folder: Path, request: pytest.FixtureRequest) -> Growing:
    database = request.getfixturevalue("postgres_database")
    database.psql(TABLE)
    return Growing(
        lambda: read_postgres(database.conninfo, QUERY, key="number"),
        lambda numbers: database.psql(f"INSERT INTO numbers VALUES {values(numbers)}"),
    )


def in_kafka(folder: Path, request: pytest.FixtureRequest) -> Growing:
    kafka = request.getfixturevalue("kafka")
    topic = kafka.create(2)
    return Growing(
        lambda: read_kafka(kafka.servers, topic, until_end=True),
        lambda numbers: kafka.produce(topic, lines(numbers)),
        lambda message: int(message.value["number"]),
    )


def in_jetstream(folder: Path, request: pytest.FixtureRequest) -> Growing:
    server = request.getfixturevalue("nats_server")
    stream = server.create()
    return Growing(
        lambda: read_jetstream(server.url, stream, until_end=True),
        lambda numbers: server.publish(f"{stream}.rows", lines(numbers)),
        lambda message: int(message.value["number"]),
    )


def in_redis(folder: Path, request: pytest.FixtureRequest) -> Growing:
    server = request.getfixturevalue("redis_server")
    stream = server.new_name()

    def add(numbers: Sequence[int]) -> None:
        for number in numbers:
            server.command("XADD", stream, "*", "number", number)

    return Growing(
        lambda: read_redis_stream(server.url, stream, until_end=True),
        add,
        lambda entry: int(entry.fields["number"]),
    )


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "make",
    [
        in_sqlite,
        in_duckdb,
        in_parquet,
        in_delta,
        in_iceberg,
        pytest.param(in_postgres, marks=pytest.mark.postgres),
        pytest.param(in_kafka, marks=pytest.mark.kafka),
        pytest.param(in_jetstream, marks=pytest.mark.nats),
        pytest.param(in_redis, marks=pytest.mark.redis),
    ],
)
def test_each_run_takes_what_has_come_since_the_last_one(
    make: Callable[[Path, pytest.FixtureRequest], Growing],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    flow, add, number = make(tmp_path, request)
    place = tmp_path / "checkpoint"
    for new in (range(5), range(5, 8), range(0), range(8, 20)):
        if new:
            add(new)
        rows = flow().map(lambda element: (number(element),))
        through = rows.on_spark("number long", name="again", checkpoint=place).rows()
        assert sorted(row.number for row in through.to_list().run_sync() or []) == [*new]


@pytest.mark.usefixtures("spark")
def test_a_version_of_a_table_has_no_more(tmp_path: Path) -> None:
    """Later ones are for those who follow it."""
    for numbers, expected in ((range(5), [*range(5)]), (range(5, 8), [])):
        write_deltalake(tmp_path / "delta", arrow(numbers), mode="append")
        rows = read_delta(tmp_path / "delta")
        through = rows.on_spark("number long", name="once", checkpoint=tmp_path / "checkpoint")
        assert [row.number for row in through.rows().to_list().run_sync() or []] == expected


@pytest.mark.parametrize("read", [read_delta, read_iceberg])
def test_one_version_ends_anyway(read: Callable[..., object], tmp_path: Path) -> None:
    write_deltalake(tmp_path / "delta", arrow([1]))
    table = [tmp_path / "delta"] if read is read_delta else [{"type": "sql"}, "lake.numbers"]
    with pytest.raises(ValueError, match=r"until_end says where it ends that follow=True goes on"):
        read(*table, until_end=True)
