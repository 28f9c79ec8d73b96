"""The SQL for SQLite: statements with names of any kind in them, and values that it can store."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any, Final

from penstock.runtime import shorten

__all__ = ["CONNECTOR", "MARKS", "TableShape", "quoted", "value_for"]

CONNECTOR: Final = "write_sqlite"
MARKS: Final = "penstock_delivery"
TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(\([0-9]+(, *[0-9]+)?\))?[A-Za-z ]*|")
PLAIN: Final = (str, bytes, float, bool, type(None))
INTEGERS: Final = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True)
class TableShape:
    """A table as the user wants it.

    ``columns``  their types by name, empty where none is said; ``None``: as the first element has
    ``key``      the columns that tell a row from all others, if there are such
    """

    table: str
    columns: dict[str, str] | None
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.table.lower() == MARKS:
            raise ValueError(f"{CONNECTOR}: {MARKS} is where marks are kept; name another table")
        if self.table.lower().startswith("sqlite_"):
            raise ValueError(f"{CONNECTOR}: names that begin with sqlite_ belong to SQLite itself")
        require_names([self.table], "table")
        require_names(self.key, "key")
        if self.columns is not None:
            self._require_columns(self.columns)

    def of(self, names: Iterable[Any]) -> TableShape:
        """The same with the columns of the first element."""
        return TableShape(self.table, dict.fromkeys(names, ""), self.key)

    def _require_columns(self, columns: dict[str, str]) -> None:
        require_names(columns, "column")
        if not columns or len({name.lower() for name in columns}) != len(columns):
            raise ValueError(
                f"{CONNECTOR}: columns must be different names, at least one, and SQLite takes "
                f"small letters and capitals for the same; not so {', '.join(columns) or 'none'}"
            )
        for column, kind in columns.items():
            if not TYPE.fullmatch(kind):
                raise ValueError(f"{CONNECTOR}: the type of {column} is none of SQL: {kind!r}")
        if missing := [name for name in self.key if name not in columns]:
            raise ValueError(
                f"{CONNECTOR}: the key {missing[0]!r} is none of the columns {', '.join(columns)}"
            )

    @property
    def create(self) -> str:
        """What makes the table."""
        assert self.columns is not None
        parts = [f"{quoted(name)} {kind}".rstrip() for name, kind in self.columns.items()]
        if self.key:
            parts.append(f"PRIMARY KEY ({joined(self.key)})")
        return f"CREATE TABLE {quoted(self.table)} ({', '.join(parts)})"

    @property
    def insert(self) -> str:
        """What adds a row, or replaces the one with the same key."""
        assert self.columns is not None
        values = ", ".join("?" for _ in self.columns)
        text = f"INSERT INTO {quoted(self.table)} ({joined(self.columns)}) VALUES ({values})"
        if not self.key:
            return text
        others = [name for name in self.columns if name not in self.key]
        changes = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in others)
        doing = f"UPDATE SET {changes}" if changes else "NOTHING"
        return f"{text} ON CONFLICT ({joined(self.key)}) DO {doing}"


def quoted(name: str) -> str:
    """A name that stands for itself, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def joined(names: Iterable[str]) -> str:
    """Names in a list."""
    return ", ".join(map(quoted, names))


def require_names(names: Iterable[Any], what: str) -> None:
    """Refuse names that cannot be used even when quoted."""
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError(f"{CONNECTOR}: {shorten(name)} cannot be the name of a {what}")


def value_for(column: str, value: Any) -> Any:
    """``value`` as SQLite holds it."""
    if type(value) in PLAIN or isinstance(value, str | bytes | float):
        return value
    if isinstance(value, int):
        if value not in INTEGERS:
            raise TypeError(f"{CONNECTOR}: {column} is {value}, and SQLite has 64 bits for that")
        return value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(
        f"{CONNECTOR}: {column} is {shorten(value)}, and SQLite holds texts, numbers, bytes and "
        "None"
    )
