"""From elements to the rows that a journal takes, and which elements do not fit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from penstock.arrow import Encoder, SchemaMismatch, cast_exactly, columns_of, mismatch
from penstock.flow.resume.resumption import PositionedElement, plain
from penstock.runtime import shorten, shown_element
from penstock.runtime.secret_fields import MASK, is_secret
from penstock.spark.egress.rows import as_lists
from penstock.spark.ingest.ddl import write_type
from penstock.spark.ingest.schema import Schema

__all__ = [
    "COLUMNAR",
    "Columnar",
    "Converted",
    "Converter",
    "DeadLetter",
    "ElementConverter",
    "Portion",
    "SchemaMismatch",
    "WithoutPositions",
    "fit_columns",
    "rows_of",
    "rows_of_each",
]

Columnar: TypeAlias = pa.RecordBatch | pa.Table
COLUMNAR: Final = (pa.RecordBatch, pa.Table)
ENCODER: Final = Encoder(write_type)


def fit_columns(columnar: Columnar, schema: pa.Schema) -> list[pa.RecordBatch]:
    """``columnar`` as batches of exactly this schema; columns are found by name."""
    if not columnar.schema.equals(schema):
        columnar = _cast(columnar, schema)
    batches = [columnar] if isinstance(columnar, pa.RecordBatch) else columnar.to_batches()
    for batch in batches:
        for column, field in zip(batch.columns, schema, strict=True):
            _refuse_nulls(column, field, field.name)
    return batches


def _cast(columnar: Columnar, schema: pa.Schema) -> Columnar:
    names = columnar.schema.names
    if sorted(names) != sorted(schema.names):
        raise mismatch(
            "",
            f"the columns are {', '.join(names)}, and those of the schema "
            f"{', '.join(schema.names)}",
        )
    arrays = [
        cast_exactly(columnar.column(field.name), field.type, field.name, write_type)
        for field in schema
    ]
    return type(columnar).from_arrays(arrays, schema=schema)


def _refuse_nulls(array: pa.Array, field: pa.Field, path: str) -> None:
    """Arrow lets nulls into a field that is to have none, and Spark would read garbage there."""
    if array.null_count and not field.nullable:
        raise mismatch(path, "there is no value, and the field is NOT NULL")
    kind = field.type
    if pa.types.is_struct(kind):
        for child, column in zip(kind, array.drop_null().flatten(), strict=True):
            _refuse_nulls(column, child, f"{path}.{child.name}")
    elif pa.types.is_list(kind):
        _refuse_nulls(array.flatten(), kind.value_field, f"{path}.element")
    elif pa.types.is_map(kind):
        keys, values = as_lists(array).flatten().flatten()
        _refuse_nulls(keys, kind.key_field, f"{path}.key")
        _refuse_nulls(values, kind.item_field, f"{path}.value")


Made = TypeVar("Made")
LeaveOut: TypeAlias = Callable[[int, object, SchemaMismatch], None]
"""Told the place of an element, the value that does not fit, and why."""

PARTS: Final = 8
"""A sequence with something wrong in it is split into so many parts, and these again."""


@dataclass(frozen=True)
class DeadLetter:
    """An element that does not fit the schema, and was put aside.

    ``position``  its place among the elements that were to be converted
    ``field``     the field that is wrong, such as ``delay`` or ``place.city``; empty if all are
    ``value``     what stands in that field, or the element itself
    ``reason``    why it does not fit
    """

    position: int
    element: Any
    field: str
    value: Any
    reason: str

    def error(self) -> SchemaMismatch:
        """The same as an error, for a stream that ends with it."""
        return SchemaMismatch(str(self), self.field, self.reason)

    def __str__(self) -> str:
        where = f" in field {self.field!r}" if self.field else ""
        if is_secret(self.field):
            return f"{MASK!r}{where} does not fit the schema, and the reason would show it"
        shown = shorten(self.value) if self.field else shown_element(self.value)
        return f"{shown}{where} does not fit the schema: {self.reason}"


class Converted(NamedTuple):
    """One batch of all elements that fit, in order, and those that do not."""

    batch: pa.RecordBatch
    dead_letters: list[DeadLetter]


class Converter:
    """Makes batches of one schema from elements.

    An element is a mapping, a tuple, a named tuple or a dataclass; or a ``RecordBatch`` or a
    ``Table``, which stays columnar. A field that a mapping lacks is null. A ``datetime`` without a
    time zone is taken as UTC where the schema has a ``timestamp``.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._names = schema.names
        self._fields = list(schema.arrow)

    def convert(self, elements: Sequence[Any]) -> Converted:
        """Convert all at once, and in parts only around those that do not fit."""
        kinds = set(map(type, elements))
        if not any(issubclass(kind, COLUMNAR) for kind in kinds):
            return self._convert_rows(elements, 0)
        runs = []
        start = 0
        for is_columnar, run in groupby(elements, lambda each: isinstance(each, COLUMNAR)):
            part = list(run)
            convert = self._convert_columnar if is_columnar else self._convert_rows
            runs.append(convert(part, start))
            start += len(part)
        return self._joined(runs)

    def _convert_columnar(self, elements: Sequence[Any], start: int) -> Converted:
        batches: list[pa.RecordBatch] = []
        dead_letters = []
        for position, element in enumerate(elements, start):
            try:
                batches += fit_columns(element, self.schema.arrow)
            except SchemaMismatch as error:
                dead_letters.append(
                    DeadLetter(position, element, error.field, element, error.reason)
                )
        return self._joined([Converted(batch, []) for batch in batches], dead_letters)

    def _convert_rows(self, elements: Sequence[Any], start: int) -> Converted:
        try:
            columns = columns_of(elements, self._names) if elements else [()] * len(self._names)
            arrays = [
                ENCODER.encode(column, field, field.name)
                for column, field in zip(columns, self._fields, strict=True)
            ]
        except SchemaMismatch:
            return self._sift(elements, start)
        return Converted(pa.RecordBatch.from_arrays(arrays, schema=self.schema.arrow), [])

    def _sift(self, elements: Sequence[Any], start: int) -> Converted:
        """Convert those elements that fit."""
        dead_letters: dict[int, DeadLetter] = {}

        def leave_out(place: int, value: object, error: SchemaMismatch) -> None:
            dead_letter = DeadLetter(
                start + place, elements[place], error.field, value, error.reason
            )
            dead_letters.setdefault(place, dead_letter)

        places, columns = self._sift_shapes(elements, leave_out)
        arrays = [
            self._sift_column(column, field, places, leave_out)
            for column, field in zip(columns, self._fields, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema.arrow)
        fits = pa.array([place not in dead_letters for place in places], pa.bool_())
        return Converted(
            batch.filter(fits), [dead_letters[place] for place in sorted(dead_letters)]
        )

    def _sift_shapes(
        self, elements: Sequence[Any], leave_out: LeaveOut
    ) -> tuple[list[int], list[list[Any]]]:
        """The places of those elements that have the right fields, and their columns."""
        places: list[int] = []
        columns: list[list[Any]] = [[] for _ in self._names]
        for place, part in in_parts(partial(columns_of, names=self._names), elements):
            if isinstance(part, SchemaMismatch):
                leave_out(place, elements[place], part)
            else:
                places += range(place, place + len(part[0]))
                for column, values in zip(columns, part, strict=True):
                    column.extend(values)
        return places, columns

    def _sift_column(
        self, column: Sequence[Any], field: pa.Field, places: list[int], leave_out: LeaveOut
    ) -> pa.Array:
        """The values of one field; a null keeps the place of each one that does not fit."""
        arrays = [pa.nulls(0, field.type)]
        for at, part in in_parts(partial(ENCODER.encode, field=field, path=field.name), column):
            if isinstance(part, SchemaMismatch):
                leave_out(places[at], column[at], part)
            arrays.append(pa.nulls(1, field.type) if isinstance(part, SchemaMismatch) else part)
        return pa.concat_arrays(arrays)

    def _joined(self, parts: list[Converted], dead_letters: Sequence[DeadLetter] = ()) -> Converted:
        batches = [part.batch for part in parts] or [self._empty()]
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        return Converted(
            batch, [each for part in parts for each in part.dead_letters] + [*dead_letters]
        )

    def _empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self.schema.arrow)


def in_parts(
    make: Callable[[Sequence[Any]], Made], values: Sequence[Any], start: int = 0
) -> Iterator[tuple[int, Made | SchemaMismatch]]:
    """What can be made of parts of ``values``, and the single values of which nothing can be.

    Each comes with the place where it starts. The parts are as long as they can be, so that few
    dead letters among many values cost little.
    """
    try:
        made = make(values)
    except SchemaMismatch as error:
        if len(values) == 1:
            yield start, error
            return
    else:
        yield start, made
        return
    size = -(-len(values) // PARTS)
    for offset in range(0, len(values), size):
        yield from in_parts(make, values[offset : offset + size], start + offset)


class ElementConverter(Protocol):
    """Makes rows of elements."""

    def convert(self, elements: Sequence[Any], /) -> tuple[pa.RecordBatch, Sequence[Any]]:
        """One batch of all elements that fit, in order, and the dead letters."""


class WithoutPositions:
    """Makes rows of elements that come with their positions."""

    def __init__(self, converter: ElementConverter) -> None:
        self._converter = converter

    def convert(self, elements: Sequence[Any], /) -> tuple[pa.RecordBatch, Sequence[Any]]:
        """As if they had none."""
        return self._converter.convert(list(map(plain, elements)))


class Portion:
    """Rows that wait to be appended, and the elements that they were made of.

    Of the first element, ``begun`` rows are in the journal already. The elements need not be given
    if nobody asks for one.
    """

    def __init__(
        self,
        rows: pa.RecordBatch,
        row_ends: Sequence[int],
        elements: Sequence[Any],
        before: int,
        begun: int = 0,
    ) -> None:
        self.rows = rows
        self.appended = min(begun, *row_ends[:1], rows.num_rows)
        self._row_ends = row_ends
        self._elements = elements
        self._before = before

    @property
    def is_done(self) -> bool:
        """Whether all rows are appended."""
        return bool(self.appended == self.rows.num_rows)

    def next(self, most: int, most_bytes: int) -> pa.RecordBatch:
        """The next rows: at most so many, and not much larger unless it is only one."""
        rows = self.rows.slice(self.appended, most)
        # What the buffers take is known at once, what the rows take of them is not.
        if rows.get_total_buffer_size() > most_bytes < rows.nbytes:
            rows = rows.slice(0, max(1, rows.num_rows * most_bytes // rows.nbytes))
        return rows

    def taken(self, rows: int) -> int:
        """How many elements of the stream are done with when so many rows are appended."""
        return self._before + bisect_right(self._row_ends, rows)

    def begun(self, rows: int) -> int:
        """How many rows of an element that is not done with are appended then."""
        done = bisect_right(self._row_ends, rows)
        return rows - (self._row_ends[done - 1] if done else 0)

    def element(self, number: int) -> Any:
        """The element with that number in the stream, if it is one of these."""
        return self._elements[number - self._before] if number >= self._before else None


def rows_of(element: Any) -> int:
    """How many rows an element is."""
    element = plain(element)
    return element.num_rows if isinstance(element, COLUMNAR) else 1


def rows_of_each(elements: list[Any]) -> list[int]:
    """How many rows each element is."""
    kinds = set(map(type, elements))
    if PositionedElement in kinds:
        return rows_of_each(list(map(plain, elements)))
    if any(issubclass(kind, COLUMNAR) for kind in kinds):
        return [each.num_rows if isinstance(each, COLUMNAR) else 1 for each in elements]
    return [1] * len(elements)
