"""The program that is killed while it writes into tables of PostgreSQL.

``python -m tests.faults.postgres_process FOLDER`` writes into the database that
``$PENSTOCK_TEST_DATABASE`` names. With ``--crash POINT`` and ``--time N`` it kills itself when it
comes to that point for the Nth time. See ``tests.faults.sink_process``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psycopg

from penstock import Retry
from penstock.connectors import write_postgres
from penstock.connectors.postgres.copying import CopiedRows
from penstock.connectors.postgres.table import PostgresTable
from penstock.pipeline.sinks import BatchedSink
from tests.faults.crashing import around, nothing
from tests.faults.sink_process import ROOT, run_until_a_crash, write_all

__all__ = ["POSTGRES_CRASHES", "started"]

DATABASE: Final = "PENSTOCK_TEST_DATABASE"
QUICKLY: Final = Retry(times=None, backoff=0.05, longest=0.1)
End = Callable[..., object]


def run(folder: Path) -> None:
    """Into a table that grows, and into one in which rows are replaced."""
    conninfo = os.environ[DATABASE]
    writers = {
        "rows": write_postgres(conninfo, "rows", reconnect=QUICKLY),
        "latest": write_postgres(conninfo, "latest", key="number", reconnect=QUICKLY),
    }
    write_all(folder, writers)


def at_the_commit(end: End, *, is_sent: bool) -> None:
    execute = psycopg.Connection.execute

    def ending(connection: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        if query == "COMMIT" and not is_sent:
            end()
        result = execute(connection, query, *arguments, **options)
        if query == "COMMIT" and is_sent:
            end()
        return result

    psycopg.Connection.execute = ending  # type: ignore[method-assign, assignment]


POSTGRES_CRASHES: Final[dict[str, Callable[[End], None]]] = {
    "before a transaction begins": lambda end: around(
        PostgresTable, "start_transaction", before=end, after=nothing
    ),
    "when the mark is locked": lambda end: around(
        PostgresTable, "_lock_mark", before=nothing, after=end
    ),
    "when the table is made": lambda end: around(
        PostgresTable, "_prepare", before=nothing, after=end
    ),
    "amid a copy": lambda end: around(CopiedRows, "write", before=nothing, after=end),
    "when all rows are copied": lambda end: around(CopiedRows, "finish", before=nothing, after=end),
    "before the commit": lambda end: at_the_commit(end, is_sent=False),
    "after the commit": lambda end: at_the_commit(end, is_sent=True),
    "between two sinks that commit": lambda end: around(
        BatchedSink, "commit", before=nothing, after=end
    ),
}


def started(folder: Path, conninfo: str, *options: str) -> subprocess.Popen[bytes]:
    """The program, which goes on with what is in the folder and in the database."""
    command = [sys.executable, "-m", __name__, str(folder), *options]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, DATABASE: conninfo})


if __name__ == "__main__":
    run_until_a_crash(run, POSTGRES_CRASHES)
