"""Changes of tables of PostgreSQL, made and looked at by ``psql``."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from decimal import Decimal
from threading import Event
from typing import Any

import pytest

from penstock import Flow, Retry
from penstock.connectors import Change, read_postgres_changes
from penstock.connectors.postgres import changes as changes_module
from penstock.connectors.postgres.pgoutput import lsn_of
from penstock.flow.resume.planning import resumption_of
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber
from tests.servers.postgres import PASSWORD, Database, PostgresServer, running_postgres

pytestmark = pytest.mark.postgres

QUICKLY = Retry(times=None, backoff=0.05, longest=0.05)
ONCE = Retry(times=0)


@pytest.fixture
def database(postgres_database: Database) -> Database:
    postgres_database.psql("CREATE TABLE flights (id bigint PRIMARY KEY, origin text)")
    postgres_database.psql(f"CREATE PUBLICATION {postgres_database.name} FOR TABLE flights")
    postgres_database.psql(
        f"SELECT pg_create_logical_replication_slot('{postgres_database.name}', 'pgoutput')"
    )
    return postgres_database


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be confirmed is confirmed with each fetch; a server that is silent is asked soon."""
    monkeypatch.setattr(changes_module, "CONFIRM_SECONDS", 0.0)
    monkeypatch.setattr(changes_module, "IDLE_SECONDS", 0.2)


def changes_of(database: Database, **options: Any) -> Flow[Change]:
    options = {"reconnect": QUICKLY, **options}
    return read_postgres_changes(database.conninfo, database.name, database.name, **options)


def first(count: int, flow: Flow[Change]) -> list[Change]:
    return flow.take(count).to_list().run_sync() or []


def confirmed(database: Database) -> int:
    ((lsn,),) = database.psql(
        f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{database.name}'"
    )
    return lsn_of(lsn)


def insert(database: Database, first_id: int, end: int, each: int = 1_000_000) -> None:
    """The rows of these ids, so many in a transaction."""
    for begin in range(first_id, end, each):
        last = min(begin + each, end) - 1
        database.psql(
            f"INSERT INTO flights SELECT n, 'JFK' FROM generate_series({begin}, {last}) AS n"
        )


def test_each_kind_of_change_is_told_with_its_row(database: Database) -> None:
    for statement in (
        "INSERT INTO flights VALUES (1, 'JFK'), (2, NULL)",
        "UPDATE flights SET origin = 'EWR' WHERE id = 1",
        "UPDATE flights SET id = 3 WHERE id = 2",
        "DELETE FROM flights WHERE id = 1",
        "TRUNCATE flights",
    ):
        database.psql(statement)
    changes = first(6, changes_of(database))
    assert [(each.kind, each.row, each.old) for each in changes] == [
        ("insert", {"id": 1, "origin": "JFK"}, None),
        ("insert", {"id": 2, "origin": None}, None),
        ("update", {"id": 1, "origin": "EWR"}, None),
        ("update", {"id": 3, "origin": None}, {"id": 2}),
        ("delete", None, {"id": 1}),
        ("truncate", None, None),
    ]
    assert {each.table for each in changes} == {f"{database.name}.flights"}
    assert [each.number for each in changes] == [0, 1, 0, 0, 0, 0]
    places = [lsn_of(each.lsn) for each in changes]
    assert places[0] == places[1] < places[2] < places[3] < places[4] < places[5]


def test_transactions_come_whole_and_in_the_order_of_their_commits(database: Database) -> None:
    database.psql("BEGIN; INSERT INTO flights VALUES (1, ''); ROLLBACK")
    database.psql(
        "BEGIN; INSERT INTO flights VALUES (2, ''); SAVEPOINT a;"
        "INSERT INTO flights VALUES (3, '');"
        "ROLLBACK TO a; INSERT INTO flights VALUES (4, ''); COMMIT"
    )
    database.psql("CREATE TABLE others (id int); INSERT INTO others VALUES (1)")
    database.psql("INSERT INTO flights VALUES (5, '')")
    changes = first(3, changes_of(database))
    assert [each.row and each.row["id"] for each in changes] == [2, 4, 5]
    assert [each.number for each in changes] == [0, 1, 0]


def test_values_have_the_types_that_a_query_gives(database: Database) -> None:
    database.psql(
        "ALTER TABLE flights ADD at date, ADD cost numeric, ADD late bool, ADD more jsonb, "
        "ADD tags text[]; CREATE TYPE mood AS ENUM ('fine'); ALTER TABLE flights ADD mood mood"
    )
    database.psql(
        "INSERT INTO flights VALUES "
        "(1, 'é', '2013-02-08', 12.30, true, '{\"a\": [1]}', '{a,NULL}', 'fine')"
    )
    (change,) = first(1, changes_of(database))
    assert change.row == {
        "id": 1, "origin": "é", "at": date(2013, 2, 8), "cost": Decimal("12.30"), "late": True,
        "more": {"a": [1]}, "tags": ["a", None], "mood": "fine",
    }  # fmt: skip


def test_a_large_value_that_was_not_changed_is_left_out_unless_the_server_tells_it(
    database: Database,
) -> None:
    database.psql("ALTER TABLE flights ALTER origin SET STORAGE EXTERNAL")
    database.psql("INSERT INTO flights VALUES (1, repeat('x', 10000))")
    database.psql("UPDATE flights SET id = id + 1")
    database.psql("ALTER TABLE flights REPLICA IDENTITY FULL")
    database.psql("UPDATE flights SET id = id + 1")
    _, short, full = first(3, changes_of(database))
    assert (short.row, short.old) == ({"id": 2}, {"id": 1})
    assert full.row == {"id": 3, "origin": "x" * 10_000}
    assert full.old == {"id": 2, "origin": "x" * 10_000}


def test_a_table_that_is_changed_in_the_middle_has_its_new_columns(database: Database) -> None:
    changes_of(database).subscribe(subscriber := ManualSubscriber[Change](request=3))
    with closing(subscriber):
        insert(database, 1, 2)
        subscriber.await_elements(1)
        database.psql("ALTER TABLE flights DROP COLUMN origin, ADD COLUMN delay int DEFAULT 7")
        database.psql("INSERT INTO flights VALUES (2)")
        subscriber.await_elements(2)
    assert subscriber.elements[1].row == {"id": 2, "delay": 7}


def test_a_flow_goes_on_after_a_position_within_a_transaction(database: Database) -> None:
    insert(database, 1, 11)
    insert(database, 11, 13)
    before = first(4, changes_of(database))
    after = first(8, changes_of(database, after=before[-1].position))
    assert [each.row and each.row["id"] for each in before + after] == [*range(1, 13)]


@pytest.mark.usefixtures("often")
def test_only_transactions_before_the_last_one_that_was_delivered_are_confirmed(
    database: Database,
) -> None:
    insert(database, 1, 31, each=10)
    begun = first(4, changes_of(database))
    assert confirmed(database) <= lsn_of(begun[0].lsn)
    changes_of(database, fetch=5).subscribe(subscriber := ManualSubscriber[Change](request=31))
    with closing(subscriber):
        subscriber.await_elements(30)
        commits = [lsn_of(each.lsn) for each in subscriber.elements]
        assert subscriber.elements[:4] == begun
        await_confirmed(database, commits[19])
        assert confirmed(database) == commits[20]
    again = [each.row and each.row["id"] for each in first(10, changes_of(database))]
    assert again == [*range(21, 31)]


def await_confirmed(database: Database, above: int) -> int:
    while (reached := confirmed(database)) <= above:
        pass
    return reached


@pytest.mark.usefixtures("often")
def test_a_pipeline_confirms_what_it_has_recorded_and_no_more(database: Database) -> None:
    insert(database, 1, 31, each=10)
    start = confirmed(database)
    resumption = resumption_of(changes_of(database).map(lambda change: change.row))
    resumption.positioned(None).subscribe(subscriber := ManualSubscriber[Any](request=30))
    with closing(subscriber):
        subscriber.await_elements(30)
        insert(database, 31, 33)
        subscriber.request(1)
        subscriber.await_elements(31)
        assert confirmed(database) == start
        resumption.recorded(subscriber.elements[14].position)
        subscriber.request(1)
        subscriber.await_elements(32)
        subscriber.request(1)
        second = lsn_of(subscriber.elements[14].position[0])
        assert await_confirmed(database, start) == second
    again = resumption_of(changes_of(database)).positioned(subscriber.elements[14].position)
    rows = [each.element.row["id"] for each in again.take(17).to_list().run_sync() or []]
    assert rows == [*range(16, 33)]


@pytest.mark.usefixtures("often")
def test_a_position_whose_changes_are_gone_is_refused(database: Database) -> None:
    insert(database, 1, 31, each=10)
    (old,) = first(1, changes_of(database))
    changes_of(database).subscribe(subscriber := ManualSubscriber[Change](request=31))
    with closing(subscriber):
        subscriber.await_elements(30)
        await_confirmed(database, lsn_of(old.lsn))
    with pytest.raises(LookupError, match="was confirmed up to .* so some are gone"):
        first(1, changes_of(database, after=old.position, reconnect=ONCE))


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_server_that_goes_away_loses_no_change(
    postgres_server: PostgresServer, database: Database, is_killed: bool
) -> None:
    insert(database, 1, 2_001, each=700)
    resumption = resumption_of(changes_of(database, fetch=100))
    resumption.positioned(None).map(lambda pair: pair.element).subscribe(
        subscriber := ManualSubscriber[Change](request=950 if is_killed else 3_000)
    )
    with closing(subscriber):
        subscriber.await_elements(950)
        (postgres_server.kill if is_killed else postgres_server.stop)()
        if is_killed:
            subscriber.request(2_050)
        postgres_server.start()
        insert(database, 2_001, 2_101)
        subscriber.await_elements(2_100)
        ids = [each.row and each.row["id"] for each in subscriber.elements]
    assert ids == [*range(1, 2_101)]


def test_a_subscriber_that_stalls_for_too_long_misses_nothing(database: Database) -> None:
    insert(database, 1, 101)
    conninfo = f"{database.conninfo} options='-c wal_sender_timeout=100'"
    flow = read_postgres_changes(conninfo, database.name, database.name, reconnect=QUICKLY)
    flow.subscribe(subscriber := ManualSubscriber[Change](request=10))
    with closing(subscriber):
        subscriber.await_elements(10)
        active = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{database.name}'"
        while database.psql(active) != [("f",)]:
            pass
        subscriber.request(90)
        subscriber.await_elements(100)
    assert [each.row and each.row["id"] for each in subscriber.elements] == [*range(1, 101)]


def test_a_slot_is_made_if_it_shall_be_and_stays(database: Database) -> None:
    name = f"{database.name}_made"
    flow = read_postgres_changes(
        database.conninfo, name, database.name, create_slot=True, reconnect=QUICKLY
    )
    flow.subscribe(subscriber := ManualSubscriber[Change](request=1))
    with closing(subscriber):
        count = f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{name}' AND active"
        while database.psql(count) == [("0",)]:
            pass
        insert(database, 1, 2)
        subscriber.await_elements(1)
    assert [each.row and each.row["id"] for each in first(1, flow)] == [1]


def test_a_slot_that_is_gone_after_a_lost_connection_is_not_made_again_in_silence(
    database: Database,
) -> None:
    """As after a failover to a server that has not the slot: what was committed since is lost."""
    is_dropped = Event()

    def wait_for_the_drop(text: str) -> None:
        if "next attempt" in text:
            is_dropped.wait(60)

    flow = changes_of(database, create_slot=True, on_state=wait_for_the_drop)
    flow.subscribe(subscriber := ManualSubscriber[Change](request=1))
    slot = f"FROM pg_replication_slots WHERE slot_name = '{database.name}'"
    with closing(subscriber):
        while database.psql(f"SELECT active {slot}") != [("t",)]:
            pass
        database.psql(f"SELECT pg_terminate_backend(active_pid) {slot}")
        while database.psql(f"SELECT active {slot}") != [("f",)]:
            pass
        database.psql(f"SELECT pg_drop_replication_slot('{database.name}')")
        insert(database, 1, 2)
        is_dropped.set()
        subscriber.await_end()
    assert isinstance(subscriber.error, LookupError)
    assert "there is no slot" in str(subscriber.error)
    assert "any more, and the changes after" in str(subscriber.error)


@pytest.mark.parametrize(
    ("slot", "publication", "kind", "words"),
    [
        ("nowhere", "{name}", LookupError, "there is no slot nowhere; create_slot=True makes it"),
        ("{name}", "nobody", LookupError, "there is no publication nobody; CREATE PUBLICATION"),
        ("{name}_physical", "{name}", ValueError, "is not one of this database with the plug-in"),
    ],
)
def test_what_is_not_there_is_said_with_what_makes_it(
    database: Database, slot: str, publication: str, kind: type[Exception], words: str
) -> None:
    database.psql(f"SELECT pg_create_physical_replication_slot('{database.name}_physical')")
    flow = read_postgres_changes(
        database.conninfo,
        slot.format(name=database.name),
        publication.format(name=database.name),
        reconnect=ONCE,
    )
    with pytest.raises(kind, match=words) as refused:
        first(1, flow)
    assert "\n" not in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_a_role_that_may_not_replicate_is_told(database: Database) -> None:
    name = f"guest_of_{database.name}"
    database.psql(f"CREATE ROLE {name} LOGIN PASSWORD 'guest'")
    guest = f"{database.conninfo} user={name} password=guest"
    with pytest.raises(PermissionError, match=f'ALTER ROLE "{name}" REPLICATION lets it'):
        first(1, read_postgres_changes(guest, database.name, database.name, reconnect=ONCE))


def test_a_slot_whose_log_the_server_has_removed_is_told_with_what_to_do(
    database: Database,
) -> None:
    insert(database, 1, 2)
    status = f"SELECT wal_status FROM pg_replication_slots WHERE slot_name = '{database.name}'"
    database.psql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    try:
        database.psql("SELECT pg_reload_conf()")
        while database.psql(status) != [("lost",)]:
            database.psql("SELECT txid_current(), pg_switch_wal()")
            database.psql("CHECKPOINT")
    finally:
        database.psql("ALTER SYSTEM RESET max_slot_wal_keep_size")
        database.psql("SELECT pg_reload_conf()")
    with pytest.raises(LookupError, match="the changes of the slot .* are gone: it was not read"):
        first(1, changes_of(database, reconnect=ONCE, create_slot=True))
    database.psql(f"SELECT pg_drop_replication_slot('{database.name}')")


def test_a_slot_that_is_older_than_its_publication_is_told(database: Database) -> None:
    database.psql(f"DROP PUBLICATION {database.name}")
    insert(database, 1, 2)
    database.psql(f"CREATE PUBLICATION {database.name} FOR TABLE flights")
    with pytest.raises(ValueError, match="does not exist at the time of the next change; make the"):
        first(1, changes_of(database, reconnect=ONCE))


@pytest.mark.full
def test_a_server_that_does_not_log_changes_is_told_what_makes_it() -> None:
    with running_postgres(wal_level="replica") as server:
        database = server.database()
        with pytest.raises(
            ValueError, match="wal_level = replica, and changes need logical; ALTER"
        ):
            first(1, changes_of(database, reconnect=ONCE))


def test_a_slot_that_somebody_else_reads_is_waited_for(database: Database) -> None:
    told: list[str] = []
    insert(database, 1, 2)
    changes_of(database).subscribe(reader := ManualSubscriber[Change](request=2))
    with closing(reader):
        reader.await_elements(1)
        waiting = changes_of(database, on_state=told.append)
        waiting.subscribe(second := ManualSubscriber[Change](request=1))
        with closing(second):
            while not told:
                pass
            reader.cancel()
            second.await_elements(1)
    assert "is active for PID" in told[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"slot": "Flights"}, "the name of a slot has small letters"),
        ({"slot": ""}, "slot must not be empty"),
        ({"publication": []}, "publication must be a name, or several"),
        ({"after": 7}, "after must be the position of a change"),
        ({"after": ["x", 0]}, "after must be the position of a change"),
        ({"fetch": 0}, "fetch must be at least 1"),
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"slot": "flights", "publication": "flights", **options}
    with pytest.raises(ValueError, match=words):
        read_postgres_changes("", given.pop("slot"), given.pop("publication"), **given)


class CopiedSlots:
    """A slot for each reader, as it was at the beginning: a server lets one read each."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made = 0

    def changes(self, n: int) -> Flow[Change]:
        name = f"{self._database.name}_{self._made}"
        old = f"{self._database.name}_{self._made - KEPT}"
        self._made += 1
        self._database.psql(
            f"SELECT pg_copy_logical_replication_slot('{self._database.name}', '{name}'); "
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            f"WHERE slot_name = '{old}' AND NOT active"
        )
        conninfo, publication = self._database.conninfo, self._database.name
        # One attempt: a second reader of a slot is refused, instead of waiting for the first one.
        return read_postgres_changes(conninfo, name, publication, reconnect=ONCE).take(n)


KEPT = 40


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("search_briefly")
@pytest.mark.parametrize("rules", [("1.1", "1.5"), pytest.param(None, marks=pytest.mark.full)])
def test_changes_keep_all_rules(database: Database, rules: tuple[str, ...] | None) -> None:
    insert(database, 0, 10_000)
    verify_publisher(
        CopiedSlots(database).changes,
        rules=rules,
        failed=lambda: read_postgres_changes(
            database.conninfo, "nowhere", database.name, reconnect=ONCE
        ),
        answers_within=0.5,
        concurrent_requests=True,
        explains_illegal_requests=True,
        max_elements=10_000,
        reports_to_hook=True,
        strict_types=True,
    ).raise_if_failed()
