"""Tables of SQLite databases as sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.connectors.shared.durable_files import require_parent
from penstock.connectors.shared.table_shape import require_key, typed_columns
from penstock.connectors.shared.writer import Writer
from penstock.connectors.sqlite.table import SqliteShape, SqliteTable
from penstock.connectors.sqlite.values import CONNECTOR
from penstock.runtime.arguments import (
    PathGiven,
    require_int,
    require_path,
    require_seconds,
    require_text,
)

__all__ = ["write_sqlite"]


def write_sqlite(
    path: PathGiven,
    table: str,
    *,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    key: str | Iterable[str] = (),
    name: str | None = None,
    commit_rows: int = 1_000,
    timeout: float = 30.0,
) -> Writer:
    """A subscriber that writes rows into a table of a SQLite database.

    Elements are mappings, named tuples or dataclasses, whose names are the columns, or, if these
    are given, plain tuples. ``columns`` may say their types in SQL, too: ``{"delay": "REAL"}``. The
    database and the table are made if they are not there; rows that are there stay. With ``key``,
    a row replaces the one that has the same values in these columns. Dates, times and decimals
    become texts; NaN, which SQLite does not have, is refused.

    The mark of the last batch is a row of the table ``penstock_delivery``, under the name of the
    table; two pipelines that write into one table need a ``name`` each. Where others write into the
    database as well, each waits for the other for up to ``timeout`` seconds. A new database gets
    SQLite's write-ahead log, so that others can read meanwhile.

    Demand: 16 to 1,024 elements at a time. Without batches, they are committed by ``commit_rows``,
    with the first one that comes a second after the last commit, and at the end.

    Delivery: exactly once, with a checkpoint. The rows of a batch and its mark are one transaction.

    Errors: ``ValueError`` for an element with other columns, a key that is NULL and a row that the
    table refuses, ``TypeError`` for a value that SQLite cannot hold, ``DeliveryRefused`` for a
    table that has not these columns or belongs to another checkpoint, ``TimeoutError`` if others
    write for too long, ``OSError`` if the disk is full, and ``sqlite3.Error``, cancel the stream,
    go to the hook for undelivered errors, and stay in ``error``. At once: ``FileNotFoundError`` if
    there is no such folder, ``IsADirectoryError``, ``ValueError`` for names that cannot be.

    Example:
        >>> import sqlite3
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import write_sqlite
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.db")
        ...     flights = Flow.of({"origin": "JFK", "delay": 12}, {"origin": "EWR", "delay": None})
        ...     flights.subscribe(writer := write_sqlite(path, "flights", key="origin"))
        ...     _ = writer.wait()
        ...     database = sqlite3.connect(path)
        ...     print(database.execute("SELECT * FROM flights").fetchall())
        ...     database.close()
        [('JFK', 12), ('EWR', None)]
    """
    file = require_path(CONNECTOR, path)
    require_parent(CONNECTOR, file)
    shape = SqliteShape(
        require_text(CONNECTOR, "table", table),
        typed_columns(CONNECTOR, columns),
        require_key(CONNECTOR, key),
    )
    return Writer(
        SqliteTable(
            file,
            shape,
            mark_name=require_text(CONNECTOR, "name", table if name is None else name),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
            timeout=require_seconds(CONNECTOR, "timeout", timeout),
        )
    )
