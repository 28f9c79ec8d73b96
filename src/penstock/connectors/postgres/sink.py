"""Tables of PostgreSQL as sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.connectors.postgres.connecting import DatabaseAccess
from penstock.connectors.postgres.shape import CONNECTOR, PostgresShape
from penstock.connectors.postgres.table import PostgresTable
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    Reconnecting,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.connectors.shared.table_shape import require_key, typed_columns
from penstock.connectors.shared.writer import Writer
from penstock.flow import Retry
from penstock.runtime.arguments import require_int, require_seconds, require_text

__all__ = ["write_postgres"]


def write_postgres(
    conninfo: str,
    table: str,
    *,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    key: str | Iterable[str] | None = None,
    name: str | None = None,
    commit_rows: int = 10_000,
    timeout: float = 30.0,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Writer:
    """A subscriber that writes rows into a table of PostgreSQL, by COPY.

    ``conninfo`` is a connection string or address, as libpq takes it; what it does not say comes
    from the environment, as ``PGPASSWORD`` does. ``table`` may have its schema before it:
    ``"traffic.flights"``.

    Elements are mappings, named tuples or dataclasses, whose names are the columns, or, if these
    are given, plain tuples; an Arrow batch or table is many rows. The table is made if it is not
    there: ``columns`` says the types, ``{"delay": "double precision"}``, or the first element does,
    if each of its values is of a plain type of Python; dictionaries become ``jsonb``. Rows that are
    there stay. With ``key``, a row replaces the one that has the same values in these columns.

    The mark of the last batch is a row of the table ``penstock_delivery`` in the same schema,
    under the name of the table; two pipelines that write into one table need a ``name`` each.
    Where somebody else keeps the table locked, it is waited for up to ``timeout`` seconds.

    Demand: 16 to 1,024 elements at a time. Without batches, they are committed by ``commit_rows``,
    with the first one that comes a second after the last commit, and at the end.

    Delivery: exactly once, with a checkpoint. The rows of a batch and its mark are one transaction.
    When the server goes away, the sink waits as ``reconnect`` says, and sends the rows that were
    not committed once more: those of a batch are kept until then, above 16 MiB in a temporary file.

    Errors: ``ValueError`` for an element with other columns, or a row that cannot be stored, which
    is shown; ``DeliveryRefused`` for a table that has not these columns, was changed meanwhile, or
    belongs to another checkpoint; ``ConnectionError`` if there is no server at the start, it does
    not let us in, or ``reconnect`` gives up; ``PermissionError`` and ``TimeoutError``. They cancel
    the stream, go to the hook for undelivered errors, and stay in ``error``. At once:
    ``ValueError`` for a conninfo that cannot be read, and for names that cannot be.

    Example:
        >>> from penstock.connectors import write_postgres
        >>> flights = Flow.of({"origin": "JFK", "delay": 12}, {"origin": "EWR", "delay": 3})
        >>> writer = write_postgres("host=127.0.0.1 port=9", "flights", key="origin")
        >>> with collect_undelivered():
        ...     flights.subscribe(writer)
        ...     _ = writer.wait()
        >>> print(str(writer.error)[:68])
        write_postgres: postgresql://127.0.0.1:9/ does not answer: connectio
    """
    access = DatabaseAccess(CONNECTOR, conninfo)
    shape = PostgresShape(
        require_text(CONNECTOR, "table", table),
        typed_columns(CONNECTOR, columns),
        require_key(CONNECTOR, () if key is None else key),
    )
    return Writer(
        PostgresTable(
            access,
            shape,
            mark_name=require_text(CONNECTOR, "name", table if name is None else name),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
            timeout=require_seconds(CONNECTOR, "timeout", timeout),
            reconnecting=Reconnecting(
                CONNECTOR,
                access.address,
                require_reconnect(CONNECTOR, reconnect),
                require_tell(CONNECTOR, on_state),
            ),
        )
    )
