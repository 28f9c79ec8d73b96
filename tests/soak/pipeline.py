"""The pipeline of the soak, as a user writes one: a feed, Spark, and a folder of Parquet files.

Rows stay in columns all the way: an element is an Arrow batch of what has come.

``penstock run tests.soak.pipeline:pipeline --set port=N --set sink=FOLDER`` runs it.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy
import pyarrow

from penstock import Flow
from penstock.connectors import ConnectionLost, PulledSource, from_pulled, write_parquet
from penstock.connectors.shared.writer import Writer
from penstock.pipeline import Pipeline
from tests.soak.feed import ASKED, COUNT, END, LOOPBACK, POSITION, ROW_SIZE, received

__all__ = ["BATCH_ROWS", "FACTOR", "MODULUS", "pipeline"]

SCHEMA: Final = "number long, made long"
FRAME_ROWS: Final = 8_192
"""The most rows of an element."""
BATCH_ROWS: Final = 1 << 20
"""So that a machine that is busy with other things catches up: a batch has a price of its own."""
BATCHES_IN_JOURNAL: Final = 4
JOURNAL_BYTES: Final = 128 << 20
FACTOR: Final = 7_919
MODULUS: Final = 1_000_003
PATIENCE: Final = 10.0


@dataclass(frozen=True)
class Settings:
    """Where the feed is, where the rows go, and how many of them at once."""

    port: int = 0
    sink: Path = Path("rows")
    batch_rows: int = BATCH_ROWS


class FeedReader(PulledSource[pyarrow.RecordBatch]):
    """Reads rows of the feed, after the last number that was taken."""

    def __init__(self, port: int, after: int | None) -> None:
        self._port = port
        self._last = -1 if after is None else after
        self._connection: socket.socket | None = None

    def connect(self) -> None:
        """Say after which row it goes on."""
        try:
            self._connection = socket.create_connection((LOOPBACK, self._port), PATIENCE)
            self._connection.sendall(POSITION.pack(self._last))
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def fetch(self, most: int) -> list[pyarrow.RecordBatch] | None:
        """What has come, as one batch."""
        assert self._connection is not None
        try:
            self._connection.sendall(ASKED.pack(FRAME_ROWS))
            (count,) = COUNT.unpack(received(self._connection, COUNT.size))
            if count == END:
                return None
            content = received(self._connection, count * ROW_SIZE)
        except (OSError, EOFError) as error:
            raise ConnectionLost(str(error)) from error
        if not count:
            return []
        columns: list[Any] = [*numpy.frombuffer(content, "<i8").reshape(2, count)]
        numbers, made = columns
        self._last = int(numbers[-1])
        return [pyarrow.record_batch({"number": numbers, "made": made})]

    def disconnect(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()


def feed(settings: Settings) -> Flow[pyarrow.RecordBatch]:
    """The rows of the feed; a pipeline goes on after the last number in its journal."""
    return from_pulled(
        "read_feed",
        lambda after: FeedReader(settings.port, after),
        address=f"{LOOPBACK}:{settings.port}",
        position_of=last_number,
    )


def last_number(batch: pyarrow.RecordBatch) -> int:
    """The position of a batch."""
    number: int = batch.column("number")[-1].as_py()
    return number


def tagged(feed: Flow[pyarrow.RecordBatch], settings: Settings) -> Any:
    """Each row with a number that Spark makes, so that a row that has not been there is seen."""
    rows = settings.batch_rows
    return (
        feed.on_spark(
            SCHEMA, batch_rows=rows, max_rows=BATCHES_IN_JOURNAL * rows, max_bytes=JOURNAL_BYTES
        )
        .sql(f"SELECT number, made, number * {FACTOR} % {MODULUS} AS tag FROM {{stream}}")
        .batches()
    )


def files(settings: Settings) -> Writer:
    """Each row once, over kills and restarts."""
    return write_parquet(settings.sink)


pipeline = Pipeline(
    "soak",
    sources={"feed": feed},
    transform=tagged,
    sinks={"files": files},
    settings=Settings,
)
