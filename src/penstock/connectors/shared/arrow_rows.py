"""Elements as Arrow batches with one schema, gathered until they make a row group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

import pyarrow

from penstock.connectors.shared.arrow_values import WrongValue, column_array
from penstock.connectors.shared.rows import RowValues, names_in
from penstock.delivery import HeldRows
from penstock.runtime.shown_text import shown_words

__all__ = ["GROUP_ROWS", "GatheringSink", "RowGroup", "storing_those_before"]

CHUNK_VALUES: Final = 16_384
GROUP_ROWS: Final = 65_536
GROUP_BYTES: Final = 64 << 20
AT_ONCE: Final = 256
"""From so many rows on, those that come together become a batch of their own."""


class RowGroup:
    """Gathers rows and batches; what it holds is bounded by ``is_full``.

    ``schema``       that of all of them; if ``None``, the first rows decide
    ``stored``       what the store makes of a schema, if it does not have all types of Arrow;
                     batches that become the same by it are converted; called on the thread that
                     adds

    A ``GatheringSink`` adds most rows by itself:

    ``row_values``   gets the values of a row, once the columns are known
    ``values``       those of the last rows, one row after the other
    ``most_values``  how many there are when the sink looks at the group
    """

    def __init__(
        self,
        connector: str,
        schema: pyarrow.Schema | None,
        *,
        stored: Callable[[pyarrow.Schema], pyarrow.Schema] | None = None,
    ) -> None:
        self.schema = schema
        self._connector = connector
        self._stored = stored
        self.row_values = RowValues(connector, ())
        self.values: list[Any] = []  # flat: a tuple for each row would cost more
        self.most_values = 0
        self._held = HeldRows(1)
        self._until = GROUP_ROWS  # the sink looks with so many rows
        self._known: pyarrow.Schema | None = None  # that of batches, which is known to fit
        self._names: list[str] | None = None
        self._batches: list[pyarrow.RecordBatch] = []
        self._size = 0  # of the batches
        self._bytes = 0
        if schema is not None:
            if not schema.names:
                raise ValueError(f"{connector}: the schema has no columns, and rows need some")
            self._name(schema.names)

    def __len__(self) -> int:
        return self._size + self._waiting

    @property
    def bytes(self) -> int:
        """What it holds, without the last rows, which are few or small."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Whether it is time to ``take``."""
        return len(self) >= GROUP_ROWS or self._bytes >= GROUP_BYTES

    def add(self, element: Any) -> None:
        """Take a row, or an Arrow batch or table of rows."""
        if isinstance(element, pyarrow.Table):
            for batch in element.to_batches():
                self._add_batch(batch)
        elif isinstance(element, pyarrow.RecordBatch):
            self._add_batch(element)
        else:
            self._add_row(element)

    def add_all(self, rows: list[Any]) -> bool:
        """Take rows of one class with all columns by name; no, and none, if one is otherwise."""
        if self._names is None:
            return False  # the first one says them
        if self.schema is None or len(rows) < AT_ONCE:
            values = self.row_values.of_all(rows)
            if values is None:
                return False
            self.values.extend(chain.from_iterable(values))
            self.settle()
            return True
        columns = self.row_values.columns_of(rows)
        if columns is None:
            return False
        self._convert_rows()
        self._add_columns(columns)
        return True

    @property
    def unlooked(self) -> int:
        """How many rows may come before the sink looks, at least one."""
        return max(self._until - len(self), 1)

    def look_after(self, rows: int) -> None:
        """Let the sink look after so many more rows, if not sooner; it does after the first."""
        self._until = len(self) + rows
        self._aim()

    def take(self) -> pyarrow.Table:
        """All that was gathered; afterwards it is empty."""
        self._convert_rows()
        batches, self._batches, self._size, self._bytes = self._batches, [], 0, 0
        return pyarrow.Table.from_batches(batches, schema=self.schema)

    def settle(self) -> None:
        """Make Arrow batches of rows, if these are many or large."""
        if self._held.are_enough(self._waiting, self._row_at):
            self._convert_rows()
        self._aim()

    def clear(self) -> None:
        """Forget what is gathered."""
        self.values, self._batches, self._size, self._bytes = [], [], 0, 0
        self._held.start()

    @property
    def _waiting(self) -> int:
        """How many rows are no batches yet."""
        return len(self.values) // len(self._names) if self._names else 0

    def _row_at(self, place: int) -> list[Any]:
        width = self.row_values.width
        return self.values[place * width : (place + 1) * width]

    def _aim(self) -> None:
        """Say when it is time to look again, for the sink or for us."""
        rows = min(self._held.next, max(self._until - self._size, 1))
        self.most_values = rows * self.row_values.width

    def _add_row(self, element: Any) -> None:
        if self._names is None:
            self._name(names_in(self._connector, element, "schema="))
        self.values.extend(self.row_values(element))
        self.settle()

    def _name(self, names: list[str]) -> None:
        """Rows have these columns."""
        self._names = names
        self.row_values = RowValues(self._connector, names)
        self._held = HeldRows(max(CHUNK_VALUES // max(len(names), 1), 1))
        self._aim()

    def _add_batch(self, batch: pyarrow.RecordBatch) -> None:
        self._convert_rows()
        plain = batch.replace_schema_metadata(None)
        if self.schema is None:
            self._decide(plain.schema)
        assert self.schema is not None
        if sorted(plain.schema.names) != sorted(self.schema.names):
            raise ValueError(
                f"{self._connector}: the columns are {', '.join(self.schema.names)}, "
                f"but a batch has {', '.join(plain.schema.names)}"
            )
        same = plain.select(self.schema.names)
        if same.schema != self._known:
            self._require_types(same.schema, self.schema)
        for field, column in zip(self.schema, same.columns, strict=True):
            if column.null_count and not field.nullable:
                raise ValueError(
                    f"{self._connector}: {field.name} is NOT NULL, and a batch has a row without it"
                )
        self._keep(self._fitting(same.columns))

    def _require_types(self, given: pyarrow.Schema, wanted: pyarrow.Schema) -> None:
        """Refuse columns of which the store would make others."""
        there = given if self._stored is None else self._stored(given)
        for mine, other in zip(wanted, there, strict=True):
            if mine.type != other.type:
                raise ValueError(
                    f"{self._connector}: {mine.name} is {mine.type}, and {other.type} in a batch"
                )
        self._known = given

    def _decide(self, schema: pyarrow.Schema) -> None:
        self.schema = schema if self._stored is None else self._stored(schema)
        self._name(schema.names)

    def _fitting(self, columns: list[pyarrow.Array]) -> pyarrow.RecordBatch:
        """The columns with the types of the store, which may be less exact."""
        assert self.schema is not None
        arrays = []
        for field, column in zip(self.schema, columns, strict=True):
            try:
                arrays.append(column if column.type == field.type else column.cast(field.type))
            except pyarrow.ArrowException as error:
                words = shown_words(type(error).__name__, str(error), field.name)
                raise ValueError(
                    f"{self._connector}: the column {field.name} is {field.type}, and a value of "
                    f"{column.type} does not fit: {words}"
                ) from None
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _convert_rows(self) -> None:
        if not self.values:
            return
        width = self.row_values.width
        values, self.values = self.values, []
        self._held.start()
        self._add_columns([values[column::width] for column in range(width)])

    def _add_columns(self, columns: list[list[Any]]) -> None:
        """Make a batch of them; if a value is wrong, of the rows before it."""
        assert self._names is not None
        hint = "" if self.schema is None else "; schema= says which types columns have"
        try:
            arrays = [*map(self._array, self._names, columns)]
        except WrongValue as error:
            if error.place:
                self._add_columns([column[: error.place] for column in columns])
            raise ValueError(f"{self._connector}: {error}{hint}") from None
        if self.schema is None:
            self._decide(
                pyarrow.schema(
                    [(name, array.type) for name, array in zip(self._names, arrays, strict=True)]
                )
            )
        self._keep(self._fitting(arrays))

    def _array(self, name: str, values: list[Any]) -> pyarrow.Array:
        return column_array(name, values, self.schema and self.schema.field(name))

    def _keep(self, batch: pyarrow.RecordBatch) -> None:
        self._batches.append(batch)
        self._size += batch.num_rows
        self._bytes += batch.nbytes


class GatheringSink(ABC):
    """The base of sinks that gather rows in a group, and look at it after some of them."""

    _group: RowGroup

    def __call__(self, element: Any) -> None:
        """Take a row, or an Arrow batch or table of rows.

        The values are copied now: the element is not ours to keep.
        """
        group = self._group
        row = group.row_values
        if type(element) is row.kind and len(element) == row.width:  # the common case, quickly
            values = group.values
            try:
                values.extend(row.get(element))
            except KeyError:
                pass  # it has other columns, which ``add`` names
            else:
                if len(values) >= group.most_values:
                    group.settle()
                    self._look()
                return
        group.add(element)
        self._look()

    def give_all(self, elements: list[Any]) -> None:
        """Take many, which is the same as one by one and takes less time."""
        taken = 0
        while taken < len(elements):
            some = elements[taken : taken + self._group.unlooked]
            taken += len(some)
            if self._group.add_all(some):
                self._look()
            else:
                for element in some:
                    self(element)

    @abstractmethod
    def _look(self) -> None:
        """Whether it is time to store what is gathered; that may be asked after any row."""


def storing_those_before(store: Callable[[], object]) -> None:
    """Store what is gathered; if a value of the last rows is wrong, those before it, and say so."""
    try:
        store()
    except ValueError:
        store()
        raise
