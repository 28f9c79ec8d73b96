"""The server of the tests: it stops, starts again and is killed, and keeps what it has stored."""

from __future__ import annotations

import pytest

from tests.servers.postgres import Database, running_postgres

pytestmark = pytest.mark.postgres


def test_what_is_stored_outlives_a_stop_and_a_kill() -> None:
    with running_postgres() as server:
        database = server.database()
        database.psql("CREATE TABLE numbers (number bigint)")
        for number, end in enumerate((server.stop, server.kill)):
            database.psql(f"INSERT INTO numbers VALUES ({number})")
            end()
            server.start()
        assert database.psql("SELECT * FROM numbers") == [("0",), ("1",)]


def test_two_tests_have_two_schemas(postgres_database: Database) -> None:
    assert postgres_database.psql("SELECT current_schema()") == [(postgres_database.name,)]
