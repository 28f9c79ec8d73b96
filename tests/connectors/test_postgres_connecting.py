"""Connections to a PostgreSQL server that comes and goes."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from penstock.connectors.postgres.connecting import DatabaseAccess
from penstock.connectors.shared.reconnecting import ConnectionLost
from tests.servers.postgres import Database, PostgresServer

pytestmark = pytest.mark.postgres


def test_a_server_that_starts_and_is_stopped_meanwhile_is_one_that_is_gone(
    postgres_server: PostgresServer,
    postgres_database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is away at the first attempt, is there when it is asked, and stops at the second one."""
    access = DatabaseAccess("write_postgres", postgres_database.conninfo)
    connect = psycopg.connect
    clients: list[Any] = []

    def connected(*arguments: Any, **options: Any) -> Any:
        if not clients:
            postgres_server.stop()
            try:
                return connect(*arguments, **options)
            finally:
                postgres_server.start()
                clients.append(connect(postgres_database.conninfo))
        postgres_server.stop_softly()
        return connect(*arguments, **options)

    monkeypatch.setattr(psycopg, "connect", connected)
    try:
        with pytest.raises(ConnectionLost, match="is shutting down"):
            access.connect()
    finally:
        for client in clients:
            client.close()
        postgres_server.stop()
        postgres_server.start()
