"""How fast rows get into tables of PostgreSQL and out, beside psycopg alone on the same server.

``python -m benchmarks.postgres`` starts a server for it.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import count, islice
from select import select
from typing import Any, Final

import psycopg
import psycopg2
import pyarrow as pa
from psycopg.adapt import Transformer
from psycopg.pq import Format
from psycopg.rows import dict_row
from psycopg2.extras import LogicalReplicationConnection

from benchmarks.beside import from_a_flow
from benchmarks.stalled import REQUESTED, stalled
from penstock.connectors import Change, read_postgres, read_postgres_changes, write_postgres
from penstock.delivery import Epoch
from tests.servers.postgres import Database, PostgresServer, running_postgres

__all__ = ["report"]

Pair = tuple[Callable[[], object], Callable[[], object]]

ROWS: Final = 200_000
BATCH_ROWS: Final = 10_000
ROUNDS: Final = 9
MANY: Final = 1_000_000
LARGE: Final = 20_000
FETCH: Final = 1_000
BARS: Final = {
    "read rows, one by one": 0.7,
    "read changes, bare: decoded by hand": 0.7,
    "write rows, one by one": 0.7,
    "write rows of a flow, 1,000 a commit": 0.7,
    "write Arrow batches": 0.9,
}
ID: Final = struct.Struct(">I")
INSERT, BEGIN, RELATION, TEXT = b"IBRt"


def report() -> None:
    """Print rows per second of this program's CPU time, the best of some interleaved rounds.

    What the server does is the same for both.
    """
    with running_postgres() as server:
        print_stalled(server)
        database = server.database()
        pairs = {**reading(database), **replicating(database), **writing(database)}
        best = {name: [0.0, 0.0] for name in pairs}
        for _ in range(ROUNDS):
            for name, pair in pairs.items():
                for index, case in enumerate(pair):
                    best[name][index] = max(best[name][index], ROWS / timed(case))
    print(f"{'rows (long, string, double) and PostgreSQL':42} {'bare':>9} {'ours':>9} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        print(f"{name:42} {bare:9,.0f} {ours:9,.0f} {ours / bare:7.2f}{verdict(name, ours / bare)}")
    print()


def print_stalled(server: PostgresServer) -> None:
    """What a subscriber that has had enough for now makes the server and this program do."""
    database = server.database()
    query = f"SELECT n, repeat('x', 1000) AS text FROM generate_series(1, {MANY}) AS n"
    with stalled(read_postgres(database.logged, query)) as cost:
        fetched = sum(int(each.split()[2]) for each in server.statements(database, "FETCH"))
    print(f"{REQUESTED} of {MANY:,} rows of 1 kB requested: {fetched} fetched; {cost}")
    print_stalled_changes(database)


def print_stalled_changes(database: Database) -> None:
    """The same for changes, which the server sends unasked; it says itself how many it has sent."""
    name = database.name
    database.psql("CREATE TABLE large (n int, text text)")
    database.psql(f"CREATE PUBLICATION {name} FOR TABLE large")
    for slot in (name, f"{name}_beside"):
        database.psql(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    database.psql(
        f"DO $$ BEGIN FOR n IN 1..{LARGE} LOOP INSERT INTO large VALUES (n, repeat('x', 1000)); "
        "COMMIT; END LOOP; END $$"
    )
    with stalled(read_postgres_changes(database.conninfo, name, name)) as cost:
        while (sent := sent_to(name, database)) != sent_to(name, database):
            pass
    ((ahead,),) = database.psql(
        f"SELECT count(*) FROM pg_logical_slot_peek_binary_changes('{name}_beside', '{sent}', NULL,"
        f" 'proto_version', '1', 'publication_names', '{name}') WHERE get_byte(data, 0) = {INSERT}"
    )
    print(f"{REQUESTED} of {LARGE:,} changes of 1 kB requested: {ahead} sent; {cost}\n")


def sent_to(name: str, database: Database) -> str:
    """Up to where the server has sent its log, after it had a moment to send more."""
    ((_, sent),) = database.psql(
        f"SELECT pg_sleep(1), (SELECT sent_lsn FROM pg_stat_replication "
        f"WHERE application_name = '{name}')"
    )
    return sent


def verdict(name: str, ratio: float) -> str:
    """Whether the bar was met, where there is one."""
    bar = BARS.get(name)
    return "" if bar is None else f"  bar {bar:g}: {'met' if ratio >= bar else 'MISSED'}"


def timed(case: Callable[[], object]) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


def reading(database: Database) -> dict[str, Pair]:
    """The same rows by psycopg alone and by ours."""
    database.psql(
        "CREATE TABLE ready AS SELECT number AS flight, 'airport ' || number % 100 AS origin, "
        f"number / 7.0::float8 AS delay FROM generate_series(1, {ROWS}) AS number"
    )
    database.psql("ALTER TABLE ready ADD PRIMARY KEY (flight)")
    connection = psycopg.connect(database.conninfo, autocommit=True)

    def read() -> int:
        with connection.transaction(), connection.cursor("bare", row_factory=dict_row) as cursor:
            cursor.execute("SELECT * FROM ready ORDER BY flight")
            seen = 0
            while some := cursor.fetchmany(FETCH):
                for _ in some:
                    seen += 1
            return seen

    flights = read_postgres(database.conninfo, "SELECT * FROM ready", key="flight", fetch=FETCH)
    return {"read rows, one by one": (read, lambda: flights.count().run_sync())}


def replicating(database: Database) -> dict[str, Pair]:
    """The same changes by psycopg2 alone, which only receives them or is decoded here, and by ours.

    Each has a slot of its own: the server lets one read it, and is slow to notice that one is gone.
    """
    name = database.name
    slots = [f"{name}_received", f"{name}_decoded", f"{name}_ours"]
    database.psql("CREATE TABLE changing (LIKE ready)")
    database.psql(f"CREATE PUBLICATION {name} FOR TABLE changing")
    for slot in slots:
        database.psql(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    database.psql("INSERT INTO changing SELECT * FROM ready")  # one transaction, which stays

    def receive() -> None:
        inserts = (payload for payload in payloads(database, slots[0]) if payload[0] == INSERT)
        for _ in islice(inserts, ROWS):
            pass

    def decode() -> None:
        for _ in islice(decoded(payloads(database, slots[1])), ROWS):
            pass

    changes = read_postgres_changes(database.conninfo, slots[2], name).take(ROWS)

    def ours() -> object:
        return changes.count().run_sync()

    return {
        "read changes, bare: received only": (receive, ours),
        "read changes, bare: decoded by hand": (decode, ours),
    }


def payloads(database: Database, slot: str) -> Iterator[bytes]:
    """The messages of a slot, by psycopg2 alone."""
    with (
        closing(
            psycopg2.connect(database.conninfo, connection_factory=LogicalReplicationConnection)
        ) as connection,
        connection.cursor() as cursor,
    ):
        options = {"proto_version": "1", "publication_names": database.name}
        cursor.start_replication(slot_name=slot, options=options)
        while True:
            message = cursor.read_message()
            if message is None:
                select([cursor], [], [])
            else:
                yield message.payload


def decoded(messages: Iterator[bytes]) -> Iterator[Change]:
    """The elements that ours gives, by the shortest loop that makes them of inserts."""
    types = Transformer()
    tables: dict[int, tuple[str, list[tuple[str, Any]]]] = {}
    lsn, number = "", 0
    for message in messages:
        if message[0] == INSERT:
            table, columns = tables[ID.unpack_from(message, 1)[0]]
            row: dict[str, Any] = {}
            at = 8
            for name, load in columns:
                if message[at] == TEXT:
                    begin = at + 5
                    at = begin + ID.unpack_from(message, at + 1)[0]
                    row[name] = load(message[begin:at])
                else:
                    row[name] = None
                    at += 1
            yield Change(lsn, number, "insert", table, row, None)
            number += 1
        elif message[0] == BEGIN:
            high, low = struct.unpack_from(">II", message, 1)
            lsn, number = f"{high:X}/{low:X}", 0
        elif message[0] == RELATION:
            schema, title, rest = message[5:].split(b"\0", 2)
            columns, rest = [], rest[3:]
            while rest:
                column, rest = rest[1:].split(b"\0", 1)
                load = types.get_loader(ID.unpack_from(rest)[0], Format.TEXT).load
                columns.append((column.decode(), load))
                rest = rest[8:]
            tables[ID.unpack_from(message, 1)[0]] = f"{schema.decode()}.{title.decode()}", columns


def flights() -> list[dict[str, Any]]:
    """What is written."""
    return [
        {"flight": number, "origin": f"airport {number % 100}", "delay": number / 7}
        for number in range(ROWS)
    ]


def plain(rows: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """As the client takes them."""
    return ((row["flight"], row["origin"], row["delay"]) for row in rows)


def copied(connection: psycopg.Connection[Any], values: Iterable[Any]) -> None:
    """In one transaction."""
    with (
        connection.transaction(),
        connection.cursor() as cursor,
        cursor.copy("COPY bare FROM STDIN") as copy,
    ):
        for row in values:
            copy.write_row(row)


def writing(database: Database) -> dict[str, Pair]:
    """The same, the other way."""
    rows = flights()
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=BATCH_ROWS)
    database.psql("CREATE TABLE bare (flight bigint, origin text, delay double precision)")
    database.psql("CREATE TABLE ours (LIKE bare)")
    connection = psycopg.connect(database.conninfo, autocommit=True)
    sink = write_postgres(database.conninfo, "ours").sink
    sink.open(Epoch.begun())
    numbers = count()

    def bare(values: Callable[[], Any]) -> None:
        connection.execute("TRUNCATE bare")
        copied(connection, values())

    def ours(elements: list[Any]) -> None:
        connection.execute("TRUNCATE ours")
        batch = next(numbers)
        sink.begin(batch)
        for element in elements:
            sink(element)
        sink.commit(batch)

    def columnar() -> Any:
        for batch in batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    return {
        "write rows, one by one": (lambda: bare(lambda: plain(rows)), lambda: ours(rows)),
        "write Arrow batches": (lambda: bare(columnar), lambda: ours(batches)),
        "write rows of a flow, 1,000 a commit": by_flow(database, connection),
    }


def by_flow(database: Database, connection: psycopg.Connection[Any]) -> Pair:
    """Rows that come one by one, without an end that is known."""
    rows = flights()
    database.psql("CREATE TABLE theirs (LIKE bare)")

    def bare() -> None:
        connection.execute("TRUNCATE bare")
        values = plain(rows)
        while some := [*islice(values, FETCH)]:
            copied(connection, some)

    def ours() -> None:
        connection.execute("TRUNCATE theirs")
        from_a_flow(rows, write_postgres(database.conninfo, "theirs"))

    return bare, ours


if __name__ == "__main__":
    report()
