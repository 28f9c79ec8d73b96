"""A server that is stopped for half a minute, and started again: all go on, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import pytest

from penstock import connectors
from penstock.connectors import (
    read_postgres,
    read_postgres_changes,
    write_postgres,
)
from penstock.delivery import Epoch
from penstock.testing import ManualSubscriber
from tests.servers.postgres import running_postgres

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

OUTAGE: Final = 30.0
PATIENCE: Final = 180.0
ROWS: Final = 5_000


def row(number: int) -> dict[str, Any]:
    return {"id": number, "text": f"é{number:>40}"}


class Writing:
    """A sink that gets three batches; the server goes away amid the second one."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._may_end = Event()
        self.is_amid = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Return when all is written, though the server may be away now."""
        self._may_end.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        assert self._failure is None, self._failure

    def _run(self) -> None:
        try:
            self._write()
        except BaseException as error:
            self._failure = error
            self.is_amid.set()

    def _write(self) -> None:
        sink = self._sink
        sink.open(Epoch.begun())
        for batch in range(3):
            assert sink.begin(batch)
            for number in range(batch * ROWS, (batch + 1) * ROWS):
                sink(row(number))
                if number == ROWS + ROWS // 2:
                    self.is_amid.set()
                    self._may_end.wait(PATIENCE)
            sink.commit(batch)
        sink.close()


def endure(server: Any, writing: Writing) -> None:
    """Let the server be away for a while, and the writer try all the time."""
    assert writing.is_amid.wait(PATIENCE)
    server.stop()
    ending = Thread(target=writing.end)
    ending.start()
    Event().wait(OUTAGE)  # that is what is tried here
    server.start()
    ending.join(PATIENCE)
    writing.end()


def waiting_reader(flow: Any, before: int) -> ManualSubscriber[Any]:
    """One that has got some elements, and wants many more."""
    subscriber = ManualSubscriber[Any](request=before)
    flow.subscribe(subscriber)
    subscriber.await_elements(before, timeout=PATIENCE)
    return subscriber


def got(subscriber: ManualSubscriber[Any], count: int, of: Callable[[Any], Any]) -> list[Any]:
    subscriber.await_elements(count, timeout=PATIENCE)
    subscriber.cancel()
    assert subscriber.error is None
    return [of(element) for element in subscriber.elements]


@pytest.mark.kafka
def test_a_broker_that_is_away_for_half_a_minute(tmp_path: Path) -> None:
    from tests.servers.kafka import broker  # whose client is not there for the newest Python

    with broker(tmp_path) as kafka:
        source, target = kafka.create(), kafka.create()
        values = [json.dumps(row(number)).encode() for number in range(2 * ROWS)]
        kafka.produce(source, values[:ROWS])
        reader = waiting_reader(connectors.read_kafka(kafka.servers, source), 1_000)
        writing = Writing(connectors.write_kafka(kafka.servers, target).sink)
        assert writing.is_amid.wait(PATIENCE)
        reader.request(3 * ROWS)
        endure(kafka, writing)
        kafka.produce(source, values[ROWS:])
        assert got(reader, 2 * ROWS, lambda message: message.value) == [
            json.loads(value) for value in kafka.values(source) if value is not None
        ]
        assert kafka.values(source) == values
        written = [json.loads(value) for value in kafka.values(target) if value is not None]
        assert written == [row(number) for number in range(3 * ROWS)]


@pytest.mark.postgres
def test_a_database_that_is_away_for_half_a_minute() -> None:
    with running_postgres() as server:
        database = server.database()
        database.psql("CREATE TABLE source (id bigint PRIMARY KEY, text text)")
        database.psql(f"CREATE PUBLICATION {database.name} FOR TABLE source")
        rows = "SELECT n, 'é' || lpad(n::text, 40) FROM generate_series"
        changes = waiting_changes(database)
        database.psql(f"INSERT INTO source {rows}(0, {ROWS - 1}) AS n")
        changes.request(1_000)
        changes.await_elements(1_000, timeout=PATIENCE)
        query = read_postgres(database.conninfo, "SELECT * FROM source", key="id", poll=0.5)
        reader = waiting_reader(query, 1_000)
        writing = Writing(write_postgres(database.conninfo, "target", columns=COLUMNS).sink)
        for subscriber in (reader, changes):
            subscriber.request(3 * ROWS)
        endure(server, writing)
        database.psql(f"INSERT INTO source {rows}({ROWS}, {2 * ROWS - 1}) AS n")
        expected = [row(number) for number in range(2 * ROWS)]
        assert got(reader, 2 * ROWS, lambda element: element) == expected
        assert got(changes, 2 * ROWS, lambda change: change.row) == expected
        for table, count in (("source", 2 * ROWS), ("target", 3 * ROWS)):
            found = database.psql(f"SELECT id, text FROM {table} ORDER BY id")
            assert found == [(str(number), str(row(number)["text"])) for number in range(count)]


COLUMNS: Final = {"id": "bigint", "text": "text"}


def waiting_changes(database: Any) -> ManualSubscriber[Any]:
    """A reader of a slot that was just made."""
    name = database.name
    database.psql(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    subscriber = ManualSubscriber[Any](request=0)
    read_postgres_changes(database.conninfo, name, name).subscribe(subscriber)
    return subscriber
