"""What the sources of the killed pipeline read: files, a file that grows, and two servers."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
from deltalake import write_deltalake
from pyarrow.parquet import write_table

from penstock import Flow
from penstock.connectors import Request, serve_server_sent_events, serve_websocket
from tests.faults.ends.pipelines import HAS_ICEBERG

__all__ = ["supplied"]

LINES_AT_ONCE: Final = 50
PARTS: Final = 4
PAUSE: Final = 0.1
"""The seconds between two additions to the file that grows, so that it does while it is read."""


@contextmanager
def supplied(folder: Path, count: int) -> Iterator[dict[str, str]]:
    """All of it, for as long as the context lasts; the settings of the pipeline."""
    write_files(folder, count)
    with ExitStack() as leaving:
        websocket = leaving.enter_context(serve_websocket(after(count)))
        events = leaving.enter_context(
            serve_server_sent_events(after(count), position_of=lambda element: element["number"])
        )
        leaving.enter_context(growing_file(folder / "growing.jsonl", count))
        yield {
            "folder": str(folder),
            "count": str(count),
            "websocket": websocket.address,
            "events": events.address,
        }


def after(count: int) -> Any:
    """What a server gives to somebody who has all up to a position."""

    def numbers(request: Request) -> Flow[Any]:
        first = 0 if request.after is None else int(request.after) + 1
        return Flow.range(first, count).map(lambda number: {"number": number})

    return numbers


def write_files(folder: Path, count: int) -> None:
    """The files that do not change."""
    (folder / "in.csv").write_text("number\n" + "".join(f"{each}\n" for each in range(count)))
    write_lines(folder / "in.jsonl", range(count))
    write_lines(folder / "even.jsonl", range(0, count, 2))
    write_lines(folder / "odd.jsonl", range(1, count, 2))
    write_lines(folder / "first.jsonl", range(count // 2))
    write_lines(folder / "empty.jsonl", ())
    write_lines(folder / "last.jsonl", range(count // 2, count + 1))
    write_parts(folder / "in-parquet", count)
    write_databases(folder, count)


def write_databases(folder: Path, count: int) -> None:
    with closing(sqlite3.connect(folder / "in.db")) as database:
        database.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO numbers VALUES (?)", ((n,) for n in range(count)))
        database.commit()
    with duckdb.connect(str(folder / "in.duckdb")) as database:
        database.execute(f"CREATE TABLE numbers AS SELECT range AS number FROM range({count})")


def write_parts(folder: Path, count: int) -> None:
    """Some files of several row groups each, and a Delta table of as many versions."""
    folder.mkdir()
    rows = count // PARTS + 1
    parts = [
        pa.table({"number": list(range(first, min(first + rows, count)))})
        for first in range(0, count, rows)
    ]
    for number, part in enumerate(parts):
        write_table(part, folder / f"{number}.parquet", row_group_size=rows // 3 + 1)
        write_deltalake(folder.with_name("in-delta"), part, mode="append")
    if HAS_ICEBERG:
        write_snapshots(folder.parent, parts)


def write_snapshots(folder: Path, parts: list[pa.Table]) -> None:
    """The same as a table of Iceberg, in a catalog that will have another one."""
    from tests.lake.iceberg import catalog_in

    with closing(catalog_in(folder)) as catalog:
        table = catalog.create_table("lake.incoming", parts[0].schema)
        for part in parts:
            table.append(part)


def write_lines(path: Path, numbers: Iterable[int]) -> None:
    path.write_text("".join(line(number) for number in numbers))


def line(number: int) -> str:
    return json.dumps({"number": number}) + "\n"


@contextmanager
def growing_file(path: Path, count: int) -> Iterator[None]:
    """A thread adds to the file until all numbers are there, and the one that ends them."""
    over = threading.Event()

    def grow() -> None:
        with path.open("a") as file:
            for first in range(0, count + 1, LINES_AT_ONCE):
                last = min(first + LINES_AT_ONCE, count + 1)
                file.write("".join(map(line, range(first, last))))
                file.flush()
                over.wait(PAUSE)

    thread = threading.Thread(target=grow, name="growing-file")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
