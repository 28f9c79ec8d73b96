"""The program that is killed while it reads: rows of tables of files, kept together with positions.

``python -m tests.faults.lake_process FOLDER KIND TIME`` goes on after the position that it has
kept, in a database that has the rows as well, both in one transaction, as a checkpoint would. When
it has come within a transaction, or past one, for that time, it kills itself.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import read_delta, read_iceberg, read_parquet
from penstock.flow.resume.planning import resumption_of
from tests.faults.sink_process import End, at_the, die

__all__ = ["COUNT", "KINDS", "rows_kept", "started"]

ROOT: Final = Path(__file__).parents[2]
KINDS: Final = ("parquet", "delta", "iceberg")
COUNT: Final = 20_000
PORTION: Final = 37
"""The rows of a transaction."""


def source(folder: Path, kind: str) -> Flow[Any]:
    if kind == "iceberg":
        from tests.lake.iceberg import settings_in

        return read_iceberg(settings_in(folder), "lake.rows")
    return read_parquet(folder / "parquet") if kind == "parquet" else read_delta(folder / "delta")


def opened(folder: Path, kind: str) -> sqlite3.Connection:
    database = sqlite3.connect(folder / f"{kind}.db")
    database.execute("CREATE TABLE IF NOT EXISTS rows (n INTEGER)")
    database.execute("CREATE TABLE IF NOT EXISTS position (value TEXT)")
    return database


def run(folder: Path, kind: str, end: End) -> None:
    """All rows that are left."""
    with closing(opened(folder, kind)) as database:
        kept = database.execute("SELECT value FROM position").fetchone()
        resumption = resumption_of(source(folder, kind))
        rows = resumption.positioned(None if kept is None else json.loads(kept[0]))
        for portion in rows.buffer(PORTION).blocking():
            with database:
                database.executemany(
                    "INSERT INTO rows VALUES (?)", [(each.element["n"],) for each in portion]
                )
                end()
                database.execute("DELETE FROM position")
                position = json.dumps(portion[-1].position)
                database.execute("INSERT INTO position VALUES (?)", (position,))
            end()


def rows_kept(folder: Path, kind: str) -> list[int]:
    """What another program finds, in the order in which it was kept."""
    with closing(opened(folder, kind)) as database:
        return [number for (number,) in database.execute("SELECT n FROM rows ORDER BY rowid")]


def started(folder: Path, kind: str, time: int = 0) -> int:
    """The program, which goes on with what is in the folder, up to that moment; its exit code."""
    command = [sys.executable, "-m", __name__, str(folder), kind, str(time)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], at_the(int(sys.argv[3]), die))
