"""Tables as the user wants them: names, columns with their types, keys, and the SQL for that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

from penstock.connectors.shared.rows import names_in
from penstock.runtime import shorten
from penstock.runtime.arguments import require_texts

__all__ = ["MARKS", "TableShape", "joined", "quoted", "require_key", "typed_columns"]

MARKS: Final = "penstock_delivery"
"""The table in which sinks keep the mark of their last batch."""

Shape = TypeVar("Shape", bound="TableShape")


@dataclass(frozen=True)
class TableShape:
    """A table as the user wants it; each kind of database has its own rules for names and types.

    ``columns``  their types by name, empty where none is said; ``None``: as the first element has
    ``key``      the columns that tell a row from all others, if there are such
    """

    connector: ClassVar[str]
    types: ClassVar[re.Pattern[str]]

    table: str
    columns: dict[str, str] | None
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.table.lower() == MARKS:
            raise ValueError(
                f"{self.connector}: {MARKS} is where marks are kept; name another table"
            )
        self.require_names([self.table], "table")
        self.require_names(self.key, "key")
        if self.columns is not None:
            self._require_columns(self.columns)

    def of(self: Shape, columns: dict[Any, str]) -> Shape:
        """The same with these columns, as the first element has them."""
        return replace(self, columns=columns)

    def like(self: Shape, element: Any) -> Shape:
        """The same with the columns of an element, the first one, unless they are known."""
        if self.columns is not None:
            return self
        return self.of(dict.fromkeys(names_in(self.connector, element, "columns="), ""))

    def require_names(self, names: Iterable[Any], what: str) -> None:
        """Refuse names that cannot be used even when quoted."""
        for name in names:
            if not isinstance(name, str) or not name or "\0" in name:
                raise ValueError(
                    f"{self.connector}: {shorten(name)} cannot be the name of a {what}"
                )

    def _require_columns(self, columns: dict[str, str]) -> None:
        self.require_names(columns, "column")
        if not columns:
            raise ValueError(f"{self.connector}: columns must be different names, at least one")
        for column, kind in columns.items():
            if not self.types.fullmatch(kind):
                raise ValueError(f"{self.connector}: the type of {column} is none of SQL: {kind!r}")
        if missing := [name for name in self.key if name not in columns]:
            raise ValueError(
                f"{self.connector}: the key {missing[0]!r} is none of the columns "
                f"{', '.join(columns)}"
            )

    @property
    def names(self) -> list[str]:
        """The columns, once they are known."""
        assert self.columns is not None
        return [*self.columns]

    @property
    def quoted_table(self) -> str:
        """The name of the table, in SQL."""
        return quoted(self.table)

    @property
    def create(self) -> str:
        """What makes the table."""
        assert self.columns is not None
        return self.create_with(self.columns)

    def create_with(self, types: Mapping[str, str]) -> str:
        """What makes it with these types of its columns."""
        parts = [f"{quoted(name)} {kind}".rstrip() for name, kind in types.items()]
        if self.key:
            parts.append(f"PRIMARY KEY ({joined(self.key)})")
        return f"CREATE TABLE {self.quoted_table} ({', '.join(parts)})"

    @property
    def on_conflict(self) -> str:
        """What replaces a row with the same key; nothing if there is no key."""
        if not self.key:
            return ""
        others = [name for name in self.names if name not in self.key]
        changes = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in others)
        doing = f"UPDATE SET {changes}" if changes else "NOTHING"
        return f" ON CONFLICT ({joined(self.key)}) DO {doing}"


def quoted(name: str) -> str:
    """A name that stands for itself, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def joined(names: Iterable[str]) -> str:
    """Names in a list."""
    return ", ".join(map(quoted, names))


def typed_columns(
    connector: str, columns: Iterable[str] | Mapping[str, str] | None
) -> dict[str, str] | None:
    """The columns with their types, which are empty if none are said."""
    if columns is None:
        return None
    names = require_texts(connector, "columns", columns)
    types = require_texts(
        connector, "types", columns.values() if isinstance(columns, Mapping) else [""] * len(names)
    )
    if len(set(names)) != len(names):
        raise ValueError(f"{connector}: columns must be different names, not {names}")
    return dict(zip(names, types, strict=True))


def require_key(connector: str, key: str | Iterable[str]) -> tuple[str, ...]:
    """``key`` as the names of columns, of which it may be one."""
    return tuple([key] if isinstance(key, str) else require_texts(connector, "key", key))
