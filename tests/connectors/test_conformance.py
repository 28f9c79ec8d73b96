"""Every connector before the conformance kit.

What waits for a network is judged in real time, over a connection to this machine.
"""

from __future__ import annotations

import sys
from asyncio import Task, create_task
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow
import pytest
from pyarrow import parquet

from penstock import UNBOUNDED, Flow, Retry
from penstock.connectors import (
    Server,
    Writer,
    from_server_sent_events,
    from_websocket,
    read_csv,
    read_duckdb,
    read_json_lines,
    read_parquet,
    read_postgres,
    read_sqlite,
    read_standard_input,
    replay,
    serve_server_sent_events,
    serve_websocket,
    tail_json_lines,
    write_csv,
    write_duckdb,
    write_jetstream,
    write_json_lines,
    write_parquet,
    write_postgres,
    write_redis_stream,
    write_sqlite,
    write_standard_output,
)
from penstock.connectors.shared.connection_subscriber import ConnectionSubscriber
from penstock.connectors.shared.loop_thread import LoopThread
from penstock.tck import verify_publisher, verify_subscriber
from tests.connectors.numbers import numbers_after
from tests.servers.nats import NatsServer
from tests.servers.postgres import Database
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("search_briefly")]

PROMISES: Final[dict[str, Any]] = {
    "concurrent_requests": True,
    "explains_illegal_requests": True,
    "max_elements": 10_000,
    "reports_to_hook": True,
    "strict_types": True,
}
OVER_THE_NETWORK: Final = {**PROMISES, "answers_within": 0.5, "repeatable": True}
ONCE: Final = Retry(times=0)


class Files:
    """Files of n elements, made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def lines(self, n: int, first: str = "") -> Path:
        file = self._folder / f"{n}{first}"
        if not file.exists():
            file.write_text(first + "".join(f"{number}\n" for number in range(n)))
        return file

    def columns(self, n: int) -> Path:
        file = self._folder / f"{n}.parquet"
        if not file.exists():
            parquet.write_table(pyarrow.table({"number": [*range(n)]}), file, row_group_size=100)
        return file

    def broken_lines(self) -> Path:
        file = self._folder / "broken"
        file.write_text("1\n{\n")
        return file


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def websocket() -> Iterator[Server]:
    with serve_websocket(numbers_after) as server:
        yield server


@pytest.fixture
def events() -> Iterator[Server]:
    with serve_server_sent_events(numbers_after) as server:
        yield server


def test_a_websocket_keeps_all_rules(websocket: Server) -> None:
    verify_publisher(
        lambda n: from_websocket(f"{websocket.address}?up_to={n}"),
        failed=lambda: from_websocket("ws://127.0.0.1:9", reconnect=ONCE),
        **OVER_THE_NETWORK,
    ).raise_if_failed()


@pytest.mark.full
def test_server_sent_events_keep_all_rules(events: Server) -> None:
    verify_publisher(
        lambda n: from_server_sent_events(f"{events.address}/?up_to={n}"),
        failed=lambda: from_server_sent_events("http://127.0.0.1:9", reconnect=ONCE),
        **OVER_THE_NETWORK,
    ).raise_if_failed()


@pytest.mark.full
def test_a_file_of_json_lines_keeps_all_rules(files: Files) -> None:
    verify_publisher(
        lambda n: read_json_lines(files.lines(n)),
        failed=lambda: read_json_lines(files.broken_lines()),
        repeatable=True,
        **PROMISES,
    ).raise_if_failed()


@pytest.mark.full
def test_a_csv_file_keeps_all_rules(files: Files) -> None:
    verify_publisher(
        lambda n: read_csv(files.lines(n, "number\n")), repeatable=True, **PROMISES
    ).raise_if_failed()


@pytest.mark.full
def test_a_parquet_file_keeps_all_rules(files: Files) -> None:
    verify_publisher(
        lambda n: read_parquet(files.columns(n)), repeatable=True, **PROMISES
    ).raise_if_failed()


@pytest.mark.full
def test_a_growing_file_keeps_all_rules(files: Files) -> None:
    verify_publisher(
        lambda n: tail_json_lines(files.lines(n)), completes=False, **PROMISES
    ).raise_if_failed()


@pytest.mark.postgres
@pytest.mark.parametrize(
    "rules", [("1.1", "1.2", "1.5", "3.9"), pytest.param(None, marks=pytest.mark.full)]
)
def test_a_query_keeps_all_rules(postgres_database: Database, rules: tuple[str, ...]) -> None:
    conninfo = postgres_database.conninfo
    verify_publisher(
        lambda n: read_postgres(conninfo, f"SELECT * FROM generate_series(1, {n}) AS n", key="n"),
        rules=rules,
        failed=lambda: read_postgres(conninfo, "SELECT 1 / 0 AS n"),
        **OVER_THE_NETWORK,
    ).raise_if_failed()


@pytest.mark.parametrize(
    ("read", "query"),
    [
        pytest.param(
            read_sqlite,
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT {n}) "
            "SELECT n FROM t WHERE n <= {n}",
            id="sqlite",
        ),
        pytest.param(read_duckdb, "SELECT range AS n FROM range({n})", id="duckdb"),
    ],
)
@pytest.mark.parametrize(
    "rules", [("1.1", "1.5", "3.9"), pytest.param(None, marks=pytest.mark.full)]
)
def test_a_query_of_a_file_keeps_all_rules(
    tmp_path: Path, read: Callable[..., Flow[Any]], query: str, rules: tuple[str, ...]
) -> None:
    file = tmp_path / "empty"
    if read is read_sqlite:
        file.touch()
    else:
        duckdb.connect(str(file)).close()
    verify_publisher(
        lambda n: read(file, query.format(n=n), key="n"),
        rules=rules,
        failed=lambda: read(file, "SELECT * FROM nowhere"),
        **OVER_THE_NETWORK,
    ).raise_if_failed()


@pytest.mark.full
def test_a_replay_keeps_all_rules() -> None:
    verify_publisher(
        lambda n: replay(Flow.range(n), 1_000, float), repeatable=True, **PROMISES
    ).raise_if_failed()


@pytest.mark.full
def test_standard_input_keeps_all_rules(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []

    def typed(n: int) -> Flow[int]:
        opened.append(files.lines(n).open())
        monkeypatch.setattr(sys, "stdin", opened[-1])
        return read_standard_input()

    try:
        verify_publisher(typed, **PROMISES).raise_if_failed()
    finally:
        for each in opened:
            each.close()


class Writers:
    """Makes writers, each with its path, and closes those whose stream the kit has not ended."""

    def __init__(self, folder: Path, make: Callable[[Path], Writer]) -> None:
        self._folder = folder
        self._make = make
        self._made: list[Writer] = []

    def __call__(self) -> Writer:
        self._made.append(self._make(self._folder / str(len(self._made))))
        return self._made[-1]

    def close(self) -> None:
        for writer in self._made:
            writer.sink.close()


def test_a_writer_keeps_all_rules(tmp_path: Path) -> None:
    with closing(Writers(tmp_path, write_json_lines)) as writers:
        verify_subscriber(writers).raise_if_failed()


@pytest.mark.full
def test_a_writer_of_rows_keeps_all_rules(tmp_path: Path) -> None:
    with closing(Writers(tmp_path, partial(write_csv, columns=["number"]))) as writers:
        verify_subscriber(writers, element=lambda n: (n,)).raise_if_failed()


@pytest.mark.full
@pytest.mark.parametrize(
    "write",
    [write_parquet, partial(write_sqlite, table="numbers"), partial(write_duckdb, table="numbers")],
    ids=["parquet", "sqlite", "duckdb"],
)
def test_a_writer_of_tables_keeps_all_rules(write: Callable[..., Writer], tmp_path: Path) -> None:
    with closing(Writers(tmp_path, write)) as writers:
        verify_subscriber(writers, element=lambda n: {"number": n}).raise_if_failed()


@pytest.mark.full
@pytest.mark.redis
def test_a_writer_to_a_stream_keeps_all_rules(tmp_path: Path, redis_server: RedisServer) -> None:
    def write(path: Path) -> Writer:
        return write_redis_stream(redis_server.url, f"numbers-{path.name}")

    with closing(Writers(tmp_path, write)) as writers:
        verify_subscriber(writers, element=lambda n: {"number": n}).raise_if_failed()


@pytest.mark.full
@pytest.mark.nats
def test_a_writer_of_messages_keeps_all_rules(tmp_path: Path, nats_server: NatsServer) -> None:
    def write(path: Path) -> Writer:
        stream = nats_server.create()
        return write_jetstream(nats_server.url, stream, f"{stream}.a")

    with closing(Writers(tmp_path, write)) as writers:
        verify_subscriber(writers, element=lambda n: {"number": n}).raise_if_failed()


@pytest.mark.full
@pytest.mark.postgres
def test_a_writer_to_a_server_keeps_all_rules(tmp_path: Path, postgres_database: Database) -> None:
    def write(path: Path) -> Writer:
        return write_postgres(postgres_database.conninfo, f"numbers_{path.name}")

    with closing(Writers(tmp_path, write)) as writers:
        verify_subscriber(writers, element=lambda n: {"number": n}).raise_if_failed()


@pytest.mark.full
def test_a_writer_to_standard_output_keeps_all_rules() -> None:
    verify_subscriber(write_standard_output).raise_if_failed()


class Sending:
    """What a connection of a server does with its subscriber."""

    def __init__(self, subscriber: ConnectionSubscriber) -> None:
        self._subscriber = subscriber
        self.sent: list[Any] = []
        self.completed = False
        self.error: Exception | None = None

    async def send(self) -> None:
        try:
            async for element in self._subscriber:
                self.sent.append(element)
            self.completed = True
        except Exception as error:
            self.error = error


class Connections:
    """Subscribers with connections that take all."""

    def __init__(self) -> None:
        self._loop = LoopThread("connections")
        self._sending: dict[int, tuple[ConnectionSubscriber, Sending]] = {}
        self._tasks: list[Task[None]] = []

    def open(self) -> ConnectionSubscriber:
        """The subscriber of a new one."""
        return self._loop.run(self._opened())

    def of(self, subscriber: Any) -> Sending:
        """What it has sent."""
        return self._sending[id(subscriber)][1]

    def close(self) -> None:
        self._loop.close()

    async def _opened(self) -> ConnectionSubscriber:
        subscriber = ConnectionSubscriber(capacity=4)
        sending = Sending(subscriber)
        self._sending[id(subscriber)] = subscriber, sending
        subscriber.request(UNBOUNDED)
        self._tasks.append(create_task(sending.send()))
        return subscriber


def test_the_subscriber_of_a_connection_keeps_all_rules() -> None:
    connections = Connections()
    try:
        verify_subscriber(
            connections.open,
            received=lambda subscriber: connections.of(subscriber).sent,
            in_order=True,
            completed=lambda subscriber: connections.of(subscriber).completed,
            failed=lambda subscriber: connections.of(subscriber).error,
        ).raise_if_failed()
    finally:
        connections.close()
