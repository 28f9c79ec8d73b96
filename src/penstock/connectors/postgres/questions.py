"""What a sink asks of the server about its table and its mark."""

from __future__ import annotations

from typing import Any, Final

import psycopg

from penstock.connectors.postgres.shape import PostgresShape
from penstock.delivery import DeliveryRefused

__all__ = [
    "column_types",
    "has_table",
    "lock_mark",
    "make_marks",
    "make_table",
    "require_fits",
    "stored_mark",
]

Connection = psycopg.Connection[Any]

NO_MARK: Final = ""
"""What is in the row of a mark that is there only to be locked."""


def has_table(connection: Connection, table: str) -> bool:
    """Whether there is a table of that name, which is quoted."""
    return connection.execute("SELECT to_regclass(%s)", (table,)).fetchall() != [(None,)]


def make_table(connection: Connection, table: str, create: str) -> None:
    """Make a table unless somebody else does so at the same time; it is there when this returns."""
    connection.execute("BEGIN")
    connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (table,))
    if not has_table(connection, table):
        connection.execute(create)
    connection.execute("COMMIT")


def make_marks(connection: Connection, shape: PostgresShape) -> None:
    """Make the table in which marks are kept, if it is not there."""
    if not has_table(connection, shape.marks):
        make_table(
            connection,
            shape.marks,
            f"CREATE TABLE {shape.marks} (sink text PRIMARY KEY, mark text NOT NULL)",
        )


def stored_mark(connection: Connection, shape: PostgresShape, name: str) -> str | None:
    """The mark under that name, if there is one."""
    return read_mark(connection, shape, name) if has_table(connection, shape.marks) else None


def read_mark(connection: Connection, shape: PostgresShape, name: str, how: str = "") -> str | None:
    """The mark, from a table that is there."""
    found = connection.execute(
        f"SELECT mark FROM {shape.marks} WHERE sink = %s{how}", (name,)
    ).fetchall()
    return str(found[0][0]) if found and found[0][0] != NO_MARK else None


def lock_mark(connection: Connection, shape: PostgresShape, name: str) -> str | None:
    """The same, and nobody else can lock or store it until the transaction is over.

    Somebody who stores the first one is waited for as well, since its row is made here.
    """
    connection.execute(
        f"INSERT INTO {shape.marks} (sink, mark) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (name, NO_MARK),
    )
    return read_mark(connection, shape, name, " FOR UPDATE")


def require_fits(connection: Connection, shape: PostgresShape, sink: str) -> None:
    """Refuse a table into which our rows cannot go; what they have may not be known yet."""
    if shape.columns is None:
        return
    found = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s)::oid "
        "AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (shape.quoted_table,),
    )
    has = [row[0] for row in found]
    if missing := [name for name in shape.names if name not in has]:
        raise DeliveryRefused(
            f"{sink} has the columns {', '.join(has)}, and not {', '.join(missing)}; give another "
            "table, or elements with its columns"
        )
    connection.execute(shape.probe)


def column_types(connection: Connection, shape: PostgresShape) -> list[int]:
    """The types of our columns in the table, by their numbers; that of a domain is its base."""
    found = connection.execute(
        "WITH RECURSIVE based(name, type, depth) AS ("
        "SELECT attname, atttypid, 0 FROM pg_attribute WHERE attrelid = to_regclass(%s)::oid "
        "UNION ALL SELECT name, typbasetype, depth + 1 FROM based JOIN pg_type ON oid = type "
        "WHERE typbasetype <> 0) SELECT name, type FROM based ORDER BY depth",
        (shape.quoted_table,),
    )
    types: dict[str, int] = dict(found.fetchall())
    return [types[name] for name in shape.names]
