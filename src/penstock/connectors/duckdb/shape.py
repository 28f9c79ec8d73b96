"""Tables of DuckDB: their names and types, rows as Arrow tables for them, the SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from penstock.arrow import SchemaMismatch, cast_exactly
from penstock.connectors.duckdb.texts import (
    AS_TEXT,
    interval_array,
    is_for_duckdb,
    require_microseconds,
    text_array,
)
from penstock.connectors.shared.arrow_values import WrongValue, column_array
from penstock.connectors.shared.table_shape import TableShape, joined, quoted
from penstock.runtime import shorten

__all__ = ["CONNECTOR", "Columns", "DuckdbShape", "exact_table", "require_types"]

CONNECTOR: Final = "write_duckdb"
TYPE: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_ ]*(\([0-9]+(, *[0-9]+)?\))?[A-Za-z ]*(\[[0-9]*\])*( NOT NULL)?|"
)


@dataclass(frozen=True)
class DuckdbShape(TableShape):
    """A table of DuckDB, which takes small letters and capitals for the same."""

    connector = CONNECTOR
    types = TYPE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns and len({name.lower() for name in self.columns}) != len(self.columns):
            raise ValueError(
                f"{CONNECTOR}: columns must be different names, and DuckDB takes small letters and "
                f"capitals for the same; not so {', '.join(self.columns)}"
            )

    @property
    def into(self) -> str:
        """The beginning of what adds rows."""
        return f"INSERT INTO {self.quoted_table} ({joined(self.names)})"

    @property
    def probe(self) -> str:
        """What says whether the table takes our rows, and touches nothing."""
        values = ", ".join("NULL" for _ in self.names)
        return f"EXPLAIN {self.into} VALUES ({values}){self.on_conflict}"

    def insert_from(self, incoming: str) -> str:
        """What adds the rows of a view, if there is no key."""
        return f"{self.into} SELECT {joined(self.names)} FROM {incoming}"

    def replace_from(self, incoming: str, ordinal: str) -> str:
        """What adds the rows that have a key; of several with the same one, the last.

        ``ordinal`` is the column that says in which order they came.
        """
        last = f"row_number() OVER (PARTITION BY {joined(self.key)} ORDER BY {ordinal} DESC) = 1"
        return (
            f"{self.insert_from(incoming)} WHERE NOT ({self.without_key}) QUALIFY {last}"
            f"{self.on_conflict}"
        )

    def insert_without_key(self, incoming: str) -> str:
        """What adds the rows whose key is NULL: DuckDB takes them for the same where it replaces.

        As a rule of a table, nothing is the same as NULL.
        """
        return f"{self.insert_from(incoming)} WHERE {self.without_key}"

    @property
    def without_key(self) -> str:
        """The condition that a part of the key is NULL."""
        return " OR ".join(f"{quoted(name)} IS NULL" for name in self.key)


def require_types(schema: pa.Schema, *, inferred: bool) -> None:
    """Refuse columns that do not say of which type they are.

    Of decimals, the first ones do not say how many digits there will be.
    """
    for field in schema:
        is_unclear = inferred and pa.types.is_decimal(field.type)
        if is_unclear or has_null(field.type):
            raise ValueError(
                f"{CONNECTOR}: it is not clear of which type the column {field.name} is, whose "
                f"first values are {'decimals' if is_unclear else 'None'}; give columns= with the "
                "types of all"
            )


def has_null(kind: pa.DataType) -> bool:
    """Whether a type is that of ``None`` alone, or has such parts."""
    if pa.types.is_null(kind):
        return True
    if not pa.types.is_nested(kind):
        return False
    return any(has_null(kind.field(number).type) for number in range(kind.num_fields))


class Columns:
    """The values of some rows by column; how many there are is known by the first one."""

    def __init__(self, names: Sequence[str], values: Sequence[Sequence[Any]]) -> None:
        self.names = names
        self.values = values

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
        """The values of rows that have these columns."""
        return cls(names, [*zip(*rows, strict=True)])

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """The values of several, at least one, with the same columns."""
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(part.values for part in parts), strict=True)
        return cls(parts[0].names, [[*chain.from_iterable(each)] for each in columns])

    def table(self, schema: pa.Schema | None = None, types: Sequence[str] = ()) -> pa.Table:
        """As an Arrow table: of a schema, whose columns are of these types, or as they are."""
        arrays = [
            self._array(
                number,
                None if schema is None else schema.field(number),
                types[number] if types else "",
            )
            for number in range(len(self.names))
        ]
        return pa.Table.from_arrays(arrays, names=list(self.names))

    def _array(self, number: int, field: pa.Field | None, kind: str) -> pa.Array:
        name, values = self.names[number], self.values[number]
        try:
            if kind in AS_TEXT:
                return text_array(name, values, kind)
            if field is not None and pa.types.is_interval(field.type):
                return interval_array(name, values, field)
            return column_array(name, values, field)
        except WrongValue as error:
            row = shorten(self._row(error.place))
            raise ValueError(f"{CONNECTOR}: {error}; the row is {row}") from None

    def _row(self, place: int) -> dict[str, Any]:
        return dict(zip(self.names, (values[place] for values in self.values), strict=True))


def exact_table(
    block: pa.Table, names: Sequence[str], schema: pa.Schema, types: Sequence[str]
) -> pa.Table:
    """A table with the types of ours, where DuckDB would change values to have them.

    The table itself may call the columns by other capitals.
    """
    for name, field, kind in zip(names, schema, types, strict=True):
        given = block.column(name)
        is_interval = pa.types.is_interval(field.type)
        if given.type == field.type and kind not in AS_TEXT and not is_interval:
            continue
        if is_for_duckdb(given.type, field.type, kind):
            continue
        wanted = pa.string() if kind in AS_TEXT else field.type
        try:
            if is_interval:
                require_microseconds(name, given)
                continue
            cast = cast_exactly(given, wanted, name)
        except (SchemaMismatch, WrongValue) as error:
            raise ValueError(f"{CONNECTOR}: a batch does not fit: {error}") from None
        block = block.set_column(block.schema.get_field_index(name), name, cast)
    return block
