"""Connections to a PostgreSQL server that comes and goes."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from penstock import Retry
from penstock.connectors import read_postgres, read_postgres_changes, write_postgres
from penstock.connectors.postgres.connecting import DatabaseAccess, ServerFull
from penstock.connectors.postgres.refusal import LET_IN, code_of_refusal
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.testing import ManualSubscriber
from tests.servers.postgres import Database, PostgresServer, running_postgres

pytestmark = pytest.mark.postgres

PATIENCE = 60
QUICKLY = Retry(times=None, backoff=0.02, longest=0.05)


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


class Narrow:
    """A database with a role that is let in as long as there is room for it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._role = role = f"{database.name}_narrow"
        database.psql("CREATE TABLE flights (id bigint PRIMARY KEY)")
        database.psql("INSERT INTO flights SELECT generate_series(1, 5)")
        database.psql(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'p'")
        database.psql(f"GRANT ALL ON SCHEMA {database.name} TO {role}")
        database.psql(f"GRANT ALL ON ALL TABLES IN SCHEMA {database.name} TO {role}")
        self.conninfo = f"{database.conninfo} user={role} password=p"
        self.told: list[str] = []
        self.is_full = Event()

    def tell(self, words: str) -> None:
        self.told.append(words)
        if "too many connections for role" in words and "next attempt" in words:
            self.is_full.set()

    def fill(self) -> None:
        """Cut off who is there, and let nobody in."""
        self.database.psql(f"ALTER ROLE {self._role} CONNECTION LIMIT 0")
        there = f"FROM pg_stat_activity WHERE usename = '{self._role}'"
        self.database.psql(f"SELECT pg_terminate_backend(pid) {there}")

    def leave(self) -> None:
        """Make room, once somebody was refused."""
        assert self.is_full.wait(PATIENCE), self.told
        self.database.psql(f"ALTER ROLE {self._role} CONNECTION LIMIT -1")


@pytest.fixture
def narrow(postgres_database: Database) -> Narrow:
    return Narrow(postgres_database)


@pytest.mark.parametrize("is_first", [True, False])
def test_rows_are_read_on_once_a_full_server_has_room(narrow: Narrow, is_first: bool) -> None:
    if is_first:
        narrow.fill()
    flow = read_postgres(
        narrow.conninfo,
        "SELECT id FROM flights",
        key="id",
        fetch=2,
        reconnect=QUICKLY,
        on_state=narrow.tell,
    )
    flow.subscribe(subscriber := ManualSubscriber[Any](request=2))
    if not is_first:
        subscriber.await_elements(2)
        narrow.fill()
    subscriber.request(9)
    narrow.leave()
    subscriber.await_end()
    assert [row["id"] for row in subscriber.elements] == [1, 2, 3, 4, 5]


def test_changes_are_read_on_once_a_full_server_has_room(narrow: Narrow) -> None:
    database, slot = narrow.database, f"{narrow.database.name}_slot"
    database.psql(f"CREATE PUBLICATION {slot} FOR TABLE flights")
    database.psql(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    flow = read_postgres_changes(
        narrow.conninfo, slot, slot, reconnect=QUICKLY, on_state=narrow.tell
    )
    flow.subscribe(subscriber := ManualSubscriber[Any](request=2))
    database.psql("INSERT INTO flights VALUES (6)")
    subscriber.await_elements(1)
    narrow.fill()
    database.psql("INSERT INTO flights VALUES (7)")
    narrow.leave()
    subscriber.await_elements(2)
    subscriber.cancel()
    assert [change.row["id"] for change in subscriber.elements] == [6, 7]


def test_a_batch_is_stored_once_a_full_server_has_room(narrow: Narrow) -> None:
    writer = write_postgres(
        narrow.conninfo, "flights", key="id", reconnect=QUICKLY, on_state=narrow.tell
    )
    sink = writer.sink
    sink.open(None)
    sink.begin(0)
    sink({"id": 6})
    narrow.fill()
    storing = Thread(target=sink.commit, args=(0,))
    storing.start()
    narrow.leave()
    storing.join(PATIENCE)
    sink.close()
    found = narrow.database.psql("SELECT id FROM flights ORDER BY id")
    assert found == [(str(number),) for number in range(1, 7)]


def test_who_does_not_wait_is_told_that_the_server_is_full(narrow: Narrow) -> None:
    narrow.fill()
    once = read_postgres(narrow.conninfo, "SELECT id FROM flights", reconnect=Retry(times=0))
    with pytest.raises(ConnectionError, match="too many connections for role") as told:
        once.to_list().run_sync()
    assert "\n" not in str(told.value)
    with pytest.raises(ConnectionError, match="has no connection for us: .*too many") as told:
        write_postgres(narrow.conninfo, "flights", key="id").sink.open(None)
    assert "\n" not in str(told.value)


def test_a_refusal_is_known_by_its_code(narrow: Narrow, postgres_database: Database) -> None:
    whole = postgres_database.conninfo
    assert code_of_refusal(whole, PATIENCE) == LET_IN
    assert code_of_refusal(f"{whole} password=wrong", PATIENCE) == "28P01"
    assert code_of_refusal(f"{whole} dbname=absent", PATIENCE) == "3D000"
    narrow.fill()
    assert code_of_refusal(narrow.conninfo, PATIENCE) == "53300"
    assert code_of_refusal("host=127.0.0.1 port=1", PATIENCE) is None


@pytest.mark.full
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_full_server_is_known_whatever_language_it_speaks(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGUAGE", language)
    with running_postgres(lc_messages="C.utf8") as server:
        narrow = Narrow(server.database())
        narrow.fill()
        refused = "zu viele Verbindungen" if language == "de" else "too many connections"
        access = DatabaseAccess("read_postgres", narrow.conninfo)
        with pytest.raises(ServerFull, match=refused):
            access.connect()
        with pytest.raises(ConnectionError, match=f"has no connection for us: .*{refused}"):
            write_postgres(narrow.conninfo, "flights", key="id").sink.open(None)
        wrong = DatabaseAccess("read_postgres", f"{narrow.database.conninfo} password=wrong")
        with pytest.raises(ConnectionError, match="does not let us in"):
            wrong.connect()


@pytest.mark.full
def test_a_server_that_has_all_the_clients_that_it_can_have_is_waited_for() -> None:
    settings = {"max_connections": "5", "superuser_reserved_connections": "0"}
    with running_postgres(**settings, max_wal_senders="0") as server:
        database = server.database()
        clients = [psycopg.connect(database.conninfo) for _ in range(5)]
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(database.conninfo)
        is_full = Event()

        def tell(words: str) -> None:
            if "too many clients already" in words:
                is_full.set()

        flow = read_postgres(database.conninfo, "SELECT 1 AS n", reconnect=QUICKLY, on_state=tell)
        flow.subscribe(subscriber := ManualSubscriber[Any](request=9))
        assert is_full.wait(PATIENCE)
        for client in clients:
            client.close()
        subscriber.await_end()
        assert subscriber.elements == [{"n": 1}]
