"""Sources upstream of Spark: a pipeline goes on after the last element that was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.connectors import (
    Change,
    Request,
    from_websocket,
    read_postgres_changes,
    serve_websocket,
)
from penstock.connectors.postgres.pgoutput import lsn_of
from penstock.spark import SparkFlow
from tests.servers.postgres import Database

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


def test_a_pipeline_that_was_stopped_asks_for_what_it_has_not_recorded(tmp_path: Path) -> None:
    asked_for: list[Any] = []

    def departures(request: Request) -> Flow[Any]:
        asked_for.append(request.after)
        first = 0 if request.after is None else request.after + 1
        return Flow.range(first, 2_000).map(lambda number: {"number": number})

    def number_of(element: Any) -> int:
        number: int = element["number"]
        return number

    with serve_websocket(departures) as server:

        def pipeline() -> SparkFlow:
            return from_websocket(server.address, position_of=number_of).on_spark(
                "number long",
                checkpoint=tmp_path,
                max_rows=300,
                batch_rows=100,
            )

        with pipeline().rows().blocking() as rows:
            before = [row.number for _, row in zip(range(50), rows, strict=False)]
        after = [row.number for row in pipeline().rows().to_list().run_sync() or []]
    assert before == [*range(50)]
    assert {*before, *after} == {*range(2_000)}
    assert asked_for[0] is None
    assert asked_for[1] is not None
    assert 50 <= asked_for[1] < 1_999


@pytest.mark.postgres
def test_a_pipeline_that_was_stopped_has_each_change_of_a_table(
    tmp_path: Path, postgres_database: Database
) -> None:
    database = postgres_database
    database.psql("CREATE TABLE flights (id bigint PRIMARY KEY)")
    database.psql(f"CREATE PUBLICATION {database.name} FOR TABLE flights")
    database.psql(f"SELECT pg_create_logical_replication_slot('{database.name}', 'pgoutput')")
    asked = (
        f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{database.name}'"
    )

    def insert(first: int, end: int) -> None:
        for begin in range(first, end, 100):
            numbers = f"generate_series({begin}, {begin + 99})"
            database.psql(f"INSERT INTO flights SELECT * FROM {numbers}")

    def number_of(change: Change) -> dict[str, Any]:
        return {"number": -1 if change.row is None else change.row["id"]}

    def pipeline() -> SparkFlow:
        changes = read_postgres_changes(database.conninfo, database.name, database.name)
        return changes.map(number_of).on_spark(
            "number long", checkpoint=tmp_path, max_rows=300, batch_rows=100
        )

    insert(0, 1_000)
    ((start,),) = database.psql(asked)
    with pipeline().rows().blocking() as rows:
        before = [row.number for _, row in zip(range(500), rows, strict=False)]
    insert(1_000, 2_000)
    ((confirmed,),) = database.psql(asked)
    with pipeline().rows().blocking() as rows:
        after = []
        while 1_999 not in after:
            after.append(next(rows).number)
    assert before == [*range(500)]
    assert {*before, *after} == {*range(2_000)}
    assert len(after) == len({*after})
    ((end,),) = database.psql(asked)
    assert lsn_of(start) <= lsn_of(confirmed) < lsn_of(end)
