"""Tables of DuckDB databases as sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.connectors.duckdb.shape import CONNECTOR, DuckdbShape
from penstock.connectors.duckdb.table import DuckdbTable
from penstock.connectors.shared.durable_files import require_parent
from penstock.connectors.shared.table_shape import require_key, typed_columns
from penstock.connectors.shared.writer import Writer
from penstock.runtime.arguments import (
    PathGiven,
    require_int,
    require_path,
    require_seconds,
    require_text,
)

__all__ = ["write_duckdb"]


def write_duckdb(
    path: PathGiven,
    table: str,
    *,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    key: str | Iterable[str] = (),
    name: str | None = None,
    commit_rows: int = 10_000,
    timeout: float = 30.0,
) -> Writer:
    """A subscriber that writes rows into a table of a DuckDB database.

    Elements are mappings, named tuples or dataclasses, whose names are the columns, or, if these
    are given, plain tuples; an Arrow batch or table is many rows, and goes there as it is. The
    database and the table are made if they are not there, with the types of the first rows, or with
    those of ``columns``: ``{"delay": "DOUBLE"}``. Rows that are there stay. With ``key``, a row
    replaces the one that has the same values in these columns.

    The mark of the last batch is a row of the table ``penstock_delivery``, under the name of the
    table; two pipelines that write into one table need a ``name`` each. While the sink is open, no
    other program can open the database, and one that has it is waited for up to ``timeout``
    seconds.

    Demand: 16 to 1,024 elements at a time. Without batches, they are committed by ``commit_rows``,
    with the first one that comes a second after the last commit, and at the end.

    Delivery: exactly once, with a checkpoint. The rows of a batch and its mark are one transaction.

    Errors: ``ValueError`` for an element with other columns, or a row that the table does not take;
    ``DeliveryRefused`` for a table that has not these columns or belongs to another checkpoint;
    ``TimeoutError`` if another program has the database, or this one has opened it to read only.
    They cancel the stream, go to the hook for undelivered errors, and stay in ``error``. At once:
    ``FileNotFoundError`` if there is no such folder, ``IsADirectoryError``, ``ValueError`` for
    names that cannot be.

    Example:
        >>> import duckdb
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import write_duckdb
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.duckdb")
        ...     flights = Flow.of({"origin": "JFK", "delay": 12}, {"origin": "EWR", "delay": None})
        ...     flights.subscribe(writer := write_duckdb(path, "flights", key="origin"))
        ...     _ = writer.wait()
        ...     with duckdb.connect(str(path)) as database:
        ...         print(database.execute("FROM flights ORDER BY delay").fetchall())
        [('JFK', 12), ('EWR', None)]
    """
    file = require_path(CONNECTOR, path)
    require_parent(CONNECTOR, file)
    shape = DuckdbShape(
        require_text(CONNECTOR, "table", table),
        typed_columns(CONNECTOR, columns),
        require_key(CONNECTOR, key),
    )
    return Writer(
        DuckdbTable(
            file,
            shape,
            mark_name=require_text(CONNECTOR, "name", table if name is None else name),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
            timeout=require_seconds(CONNECTOR, "timeout", timeout),
        )
    )
