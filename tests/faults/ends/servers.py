"""The pipeline that is killed between servers: Kafka and PostgreSQL at both ends, through Spark.

``penstock run tests.faults.ends.servers:servers --checkpoint PLACE --set kafka=... --set ...`` It
is as ``tests.faults.ends.pipelines``, and its sinks are read by the clients of the servers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import (
    Change,
    KafkaMessage,
    read_kafka,
    read_postgres,
    read_postgres_changes,
    write_json_lines,
    write_kafka,
    write_postgres,
)
from penstock.pipeline import Pipeline
from tests.faults.ends.judgement import Verdict, verdict
from tests.faults.ends.pipelines import named, number_of, renamed, together
from tests.servers.kafka import Kafka, broker
from tests.servers.postgres import Database, running_postgres

__all__ = ["SERVERS", "RunningServers", "running_servers", "servers"]

SERVERS: Final = "tests.faults.ends.servers:servers"
SOURCES: Final = ("kafka", "postgres", "changes")


@dataclass(frozen=True)
class ServerSettings:
    """Where the servers are, and what is read and written there."""

    folder: str = ""
    count: int = 0
    kafka: str = ""
    incoming: str = ""
    outgoing: str = ""
    conninfo: str = ""
    slot: str = ""


def messages(settings: ServerSettings) -> Flow[Any]:
    def row(message: KafkaMessage) -> dict[str, Any]:
        return renamed("kafka", message.value)

    return read_kafka(settings.kafka, settings.incoming, until_end=True).map(row)


def queried(settings: ServerSettings) -> Flow[Any]:
    query = f"SELECT number FROM numbers WHERE number < {settings.count}"
    return read_postgres(settings.conninfo, query, key="number").map(partial(renamed, "postgres"))


def changed(settings: ServerSettings) -> Flow[Any]:
    """The number after the last one ends it."""

    def goes_on(change: Change) -> bool:
        return number_of(change.row) < settings.count

    changes = read_postgres_changes(settings.conninfo, settings.slot, settings.slot)
    return changes.take_while(goes_on).map(lambda change: named("changes", number_of(change.row)))


servers = Pipeline(
    "servers",
    sources={"kafka": messages, "postgres": queried, "changes": changed},
    transform=together,
    sinks={
        "lines": lambda settings: write_json_lines(Path(settings.folder, "out.jsonl")),
        "topic": lambda settings: write_kafka(settings.kafka, settings.outgoing),
        "table": lambda settings: write_postgres(settings.conninfo, "result"),
    },
    settings=ServerSettings,
)


class RunningServers:
    """The two servers, with what is to be read there, and what was written."""

    def __init__(self, folder: Path, count: int, kafka: Kafka, database: Database) -> None:
        self._kafka = kafka
        self._database = database
        self._count = count
        incoming, self._outgoing = kafka.create(2), kafka.create(2)
        kafka.produce(incoming, [json.dumps({"number": n}).encode() for n in range(count)])
        slot = database.name
        for statement in (
            "CREATE TABLE numbers (number bigint PRIMARY KEY)",
            f"CREATE PUBLICATION {slot} FOR TABLE numbers",
            f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')",
            *(
                f"INSERT INTO numbers SELECT generate_series({first}, {first + 99})"
                for first in range(0, count, 100)
            ),
            f"INSERT INTO numbers VALUES ({count})",
        ):
            database.psql(statement)
        self.settings = {
            "folder": str(folder),
            "count": str(count),
            "kafka": kafka.servers,
            "incoming": incoming,
            "outgoing": self._outgoing,
            "conninfo": database.conninfo,
            "slot": slot,
        }

    def verdicts(self) -> list[Verdict]:
        """What a plain consumer and ``psql`` find, row by row."""
        expected = {(source, number) for source in SOURCES for number in range(self._count)}
        values = [json.loads(value) for value in self._kafka.values(self._outgoing) if value]
        topic = Counter((value["source"], value["number"]) for value in values)
        rows = self._database.psql("SELECT source, number FROM result")
        table = Counter((source, int(number)) for source, number in rows)
        return [verdict("topic", topic, expected), verdict("table", table, expected)]


@contextmanager
def running_servers(folder: Path, count: int) -> Iterator[RunningServers]:
    """Both of them, for as long as the context lasts; ``count`` is a multiple of 100."""
    with ExitStack() as leaving:
        kafka = leaving.enter_context(broker(folder))
        server = leaving.enter_context(running_postgres())
        yield RunningServers(folder, count, kafka, server.database())
