"""Tables of PostgreSQL: their names, the types of columns that Python's values ask for, the SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from penstock.connectors.shared.rows import tuple_names
from penstock.connectors.shared.table_shape import MARKS, TableShape, joined, quoted
from penstock.runtime import shorten
from penstock.runtime.shown_text import shown_value

__all__ = ["CONNECTOR", "PostgresShape"]

CONNECTOR: Final = "write_postgres"
INCOMING: Final = "pg_temp.penstock_incoming"
NAME_BYTES: Final = 63
"""Of a longer name PostgreSQL would take the beginning, without a word."""

NAMED: Final = r"[A-Za-z_][A-Za-z0-9_ .]*"
TYPE: Final = re.compile(
    rf"{NAMED}(\([0-9]+(, *[0-9]+)?\))?[A-Za-z ]*(\[[0-9]*\])*( (NOT )?NULL)?|"
)
TYPES: Final[dict[type, str]] = {
    bool: "boolean",
    bytes: "bytea",
    date: "date",
    Decimal: "numeric",
    dict: "jsonb",
    float: "double precision",
    int: "bigint",
    str: "text",
    timedelta: "interval",
    UUID: "uuid",
}


@dataclass(frozen=True)
class PostgresShape(TableShape):
    """A table of PostgreSQL; ``schema.table`` names one that is not on the search path."""

    connector = CONNECTOR
    types = TYPE

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_names(self.table.split("."), "table")
        if len(parts := self.table.split(".")) > 2 or parts[-1].lower() == MARKS:
            raise ValueError(
                f"{CONNECTOR}: the table must be a name, or one with its schema before it, and not "
                f"{MARKS}, where marks are kept; not so {shorten(self.table)}"
            )

    def require_names(self, names: Iterable[Any], what: str) -> None:
        """Refuse those that are too long, as well."""
        names = list(names)
        super().require_names(names, what)
        for name in names:
            for part in name.split(".") if what == "table" else [name]:
                if len(part.encode(errors="surrogatepass")) > NAME_BYTES:
                    raise ValueError(
                        f"{CONNECTOR}: the name of a {what} has at most {NAME_BYTES} bytes, not so "
                        f"{shorten(part)}"
                    )

    def typed_as(self, row: Iterable[Any]) -> PostgresShape:
        """The same with a type for each column that has none, as its value in ``row`` asks for."""
        assert self.columns is not None
        pairs = zip(self.columns.items(), row, strict=True)
        return self.of({name: kind or type_for(name, value) for (name, kind), value in pairs})

    @property
    def schema(self) -> str:
        """The schema in SQL, with the point after it; empty if none is said."""
        schema, point, _ = self.table.rpartition(".")
        return f"{quoted(schema)}." if point else ""

    @property
    def quoted_table(self) -> str:
        """With its schema, if one is said."""
        return self.schema + quoted(self.table.rpartition(".")[2])

    @property
    def marks(self) -> str:
        """The table of marks, beside this one."""
        return self.schema + quoted(MARKS)

    @property
    def copy(self) -> str:
        """What takes rows: into the table itself, or, with a key, into one of this connection."""
        into = INCOMING if self.key else self.quoted_table
        return f"COPY {into} ({joined(self.names)}) FROM STDIN"

    @property
    def create_incoming(self) -> str:
        """What makes the table of this connection: it has the columns of ours, and no rules."""
        return (
            f"DROP TABLE IF EXISTS {INCOMING}; "
            f"CREATE TEMPORARY TABLE {INCOMING.partition('.')[2]} ON COMMIT DELETE ROWS AS "
            f"SELECT {joined(self.names)} FROM {self.quoted_table} WITH NO DATA"
        )

    @property
    def merge(self) -> str:
        """What moves rows from there to ours; of several with the same key, the last one.

        Rows without a key are told apart by nothing, as in a key of a table.
        """
        without = " OR ".join(f"{quoted(name)} IS NULL" for name in self.key)
        each = f"{joined(self.key)}, (CASE WHEN {without} THEN ctid END)"
        # Rows that were only ever copied lie in the order in which they came.
        return (
            f"INSERT INTO {self.quoted_table} ({joined(self.names)}) "
            f"SELECT DISTINCT ON ({each}) {joined(self.names)} FROM {INCOMING} "
            f"ORDER BY {each}, ctid DESC{self.on_conflict}"
        )

    @property
    def probe(self) -> str:
        """What says whether the table takes our rows, and touches nothing."""
        values = ", ".join("NULL" for _ in self.names)
        into = f"INSERT INTO {self.quoted_table} ({joined(self.names)})"
        return f"EXPLAIN {into} VALUES ({values}){self.on_conflict}"


def type_for(column: str, value: Any) -> str:
    """The type of a column whose first value this is."""
    if isinstance(value, datetime):
        return "timestamp" if value.tzinfo is None else "timestamp with time zone"
    if isinstance(value, time):
        return "time" if value.tzinfo is None else "time with time zone"
    kind = "jsonb" if tuple_names(type(value)) else TYPES.get(type(value))
    if kind is None:
        raise ValueError(
            f"{CONNECTOR}: it is not clear of which type the column {column} is, which in the "
            f"first element is {shown_value(column, value)}; give columns= with the types of all"
        )
    return kind
