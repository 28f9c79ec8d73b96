"""The pipeline that is killed: every source that resumes, through Spark, to every sink.

``penstock run tests.faults.ends.pipelines:ends --checkpoint PLACE --set folder=FOLDER ...`` Each
source gives the numbers 0 to ``count - 1`` under its own name. So each sink has to hold ``count``
rows of each source, each of them once, whatever was killed meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from penstock import Flow, connectors
from penstock.connectors import (
    Event,
    Line,
    from_server_sent_events,
    from_websocket,
    read_csv,
    read_delta,
    read_duckdb,
    read_json_lines,
    read_parquet,
    read_sqlite,
    tail_json_lines,
    write_csv,
    write_delta,
    write_duckdb,
    write_json_lines,
    write_parquet,
    write_sqlite,
)
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow, write_with_spark

__all__ = [
    "HAS_ICEBERG",
    "SINKS",
    "SOURCES",
    "Settings",
    "ends",
    "named",
    "number_of",
    "renamed",
    "together",
]

HAS_ICEBERG: Final = find_spec("pyiceberg") is not None
"""Its library has no wheels for the newest Python."""
SCHEMA: Final = "source string, number long"
COLUMNS: Final = ("source", "number")
MAX_ROWS: Final = 150
"""Of each source: what a stop lets through, so that it takes many of them."""
BATCH_ROWS: Final = 50
ROTATE_BYTES: Final = 4_000
"""About a batch of one source."""


@dataclass(frozen=True)
class Settings:
    """``folder`` has the files of the sources and of the sinks; the others are addresses."""

    folder: str = ""
    count: int = 0
    websocket: str = ""
    events: str = ""

    def file(self, name: str) -> Path:
        """A file of the pipeline."""
        return Path(self.folder, name)

    @property
    def catalog(self) -> dict[str, str]:
        """Where the tables of Iceberg are."""
        from tests.lake.iceberg import settings_in

        return settings_in(Path(self.folder))


def named(source: str, number: int) -> dict[str, Any]:
    return {"source": source, "number": number}


def renamed(source: str, element: Any) -> dict[str, Any]:
    return named(source, int(element["number"]))


def number_of(element: Any) -> int:
    number: int = element["number"]
    return number


def numbers(settings: Settings) -> Flow[Any]:
    return Flow.range(settings.count).map(partial(named, "range"))


def csv_rows(settings: Settings) -> Flow[Any]:
    return read_csv(settings.file("in.csv")).map(partial(renamed, "csv"))


def json_lines(settings: Settings) -> Flow[Any]:
    return read_json_lines(settings.file("in.jsonl")).map(partial(renamed, "json"))


def parquet_rows(settings: Settings) -> Flow[Any]:
    return read_parquet(settings.file("in-parquet")).map(partial(renamed, "parquet"))


def delta_rows(settings: Settings) -> Flow[Any]:
    return read_delta(settings.file("in-delta")).map(partial(renamed, "delta"))


def iceberg_rows(settings: Settings) -> Flow[Any]:
    flow = connectors.read_iceberg(settings.catalog, "lake.incoming")
    return flow.map(partial(renamed, "iceberg"))


def sqlite_rows(settings: Settings) -> Flow[Any]:
    flow = read_sqlite(settings.file("in.db"), "SELECT number FROM numbers", key="number")
    return flow.map(partial(renamed, "sqlite-query"))


def duckdb_rows(settings: Settings) -> Flow[Any]:
    flow = read_duckdb(settings.file("in.duckdb"), "SELECT number FROM numbers", key="number")
    return flow.map(partial(renamed, "duckdb-query"))


def merged(settings: Settings) -> Flow[Any]:
    """The even numbers of one file and the odd ones of another, as they come."""
    even, odd = (read_json_lines(settings.file(f"{name}.jsonl")) for name in ("even", "odd"))
    return Flow.merge(even, odd).map(partial(renamed, "merge"))


def files(settings: Settings) -> Flow[Any]:
    """A file after the other: one that is counted, one without lines, one that has positions."""

    def lines_of(name: str) -> Flow[Any]:
        if name != "last":
            return read_json_lines(settings.file(f"{name}.jsonl"))
        lines = tail_json_lines(settings.file("last.jsonl"))
        return lines.map(lambda line: line.value).take_while(
            lambda x: number_of(x) < settings.count
        )

    return Flow.of("first", "empty", "last").concat_map(lines_of).map(partial(renamed, "files"))


def growing(settings: Settings) -> Flow[Any]:
    """A file that grows while it is read; the number after the last one ends it."""

    def goes_on(line: Line) -> bool:
        return number_of(line.value) < settings.count

    lines = tail_json_lines(settings.file("growing.jsonl")).take_while(goes_on)
    return lines.map(lambda line: renamed("tail", line.value))


def messages(settings: Settings) -> Flow[Any]:
    flow = from_websocket(settings.websocket, position_of=number_of)
    return flow.map(partial(renamed, "websocket"))


def events(settings: Settings) -> Flow[Any]:
    def row(event: Event) -> dict[str, Any]:
        return renamed("events", event.data)

    return from_server_sent_events(settings.events).map(row)


SOURCES: Final[dict[str, Callable[[Settings], Flow[Any]]]] = {
    "range": numbers,
    "csv": csv_rows,
    "json": json_lines,
    "parquet": parquet_rows,
    "sqlite-query": sqlite_rows,
    "duckdb-query": duckdb_rows,
    "delta": delta_rows,
    **({"iceberg": iceberg_rows} if HAS_ICEBERG else {}),
    "merge": merged,
    "files": files,
    "tail": growing,
    "websocket": messages,
    "events": events,
}


def together(**sources: Flow[Any]) -> SparkFlow:
    """All streams as one, each from a journal of its own."""
    first, *others = [
        flow.on_spark(SCHEMA, max_rows=MAX_ROWS, batch_rows=BATCH_ROWS) for flow in sources.values()
    ]
    return first.union(*others)


def appending(settings: Settings) -> Callable[[Any], None]:
    """A function of the user, which has each row before it returns, and some of them twice."""
    file = os.open(settings.file("function.txt"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(row: Any) -> None:
        os.write(file, f"{row.source} {row.number}\n".encode())

    return write


def outgoing(settings: Settings) -> Any:
    return connectors.write_iceberg(settings.catalog, "lake.outgoing")


SINKS: Final[dict[str, Callable[[Settings], Any]]] = {
    "json lines": lambda settings: write_json_lines(settings.file("out.jsonl")),
    "csv file": lambda settings: write_csv(settings.file("out.csv"), COLUMNS),
    "rotated lines": lambda settings: write_json_lines(
        settings.file("out-rotated.jsonl"), rotate_bytes=ROTATE_BYTES
    ),
    "rotated csv": lambda settings: write_csv(
        settings.file("out-rotated.csv"), COLUMNS, rotate_bytes=ROTATE_BYTES
    ),
    "parquet folder": lambda settings: write_parquet(settings.file("out-parquet")),
    "delta table": lambda settings: write_delta(settings.file("out-delta")),
    **({"iceberg table": outgoing} if HAS_ICEBERG else {}),
    "sqlite": lambda settings: write_sqlite(settings.file("out.db"), "numbers"),
    "sqlite too": lambda settings: write_sqlite(settings.file("out.db"), "again"),
    "duckdb": lambda settings: write_duckdb(settings.file("out.duckdb"), "numbers"),
    "spark parquet": lambda settings: write_with_spark("parquet", path=settings.file("out-spark")),
    "function": appending,
}

ends = Pipeline("ends", sources=SOURCES, transform=together, sinks=SINKS, settings=Settings)
