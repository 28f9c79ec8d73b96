"""From elements to the batches that Spark reads, and which elements do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa

from penstock.demand import shorten
from penstock.spark.columnar import COLUMNAR, fit_columns
from penstock.spark.encoding import Unfit, columns_of, encode
from penstock.spark.schema import Schema

__all__ = ["Converted", "Converter", "DoesNotFit", "Misfit"]

Made = TypeVar("Made")
LeaveOut: TypeAlias = Callable[[int, object, Unfit], None]
"""Told the place of an element, the value that does not fit, and why."""

PARTS: Final = 8
"""A sequence with something wrong in it is split into so many parts, and these again."""


class DoesNotFit(ValueError):
    """An element does not fit the schema."""


@dataclass(frozen=True)
class Misfit:
    """An element that does not fit the schema.

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

    def error(self) -> DoesNotFit:
        """The same as an error, for a stream that ends with it."""
        return DoesNotFit(str(self))

    def __str__(self) -> str:
        where = f" in field {self.field!r}" if self.field else ""
        return f"{shorten(self.value)}{where} does not fit the schema: {self.reason}"


class Converted(NamedTuple):
    """One batch of all elements that fit, in sequence, and those that do not."""

    batch: pa.RecordBatch
    misfits: list[Misfit]


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
        misfits = []
        for position, element in enumerate(elements, start):
            try:
                batches += fit_columns(element, self.schema.arrow)
            except Unfit as unfit:
                misfits.append(Misfit(position, element, unfit.field, element, unfit.reason))
        return self._joined([Converted(batch, []) for batch in batches], misfits)

    def _convert_rows(self, elements: Sequence[Any], start: int) -> Converted:
        try:
            columns = columns_of(elements, self._names) if elements else [()] * len(self._names)
            arrays = [
                encode(column, field, field.name)
                for column, field in zip(columns, self._fields, strict=True)
            ]
        except Unfit:
            return self._sift(elements, start)
        return Converted(pa.RecordBatch.from_arrays(arrays, schema=self.schema.arrow), [])

    def _sift(self, elements: Sequence[Any], start: int) -> Converted:
        """Convert those elements that fit."""
        misfits: dict[int, Misfit] = {}

        def leave_out(place: int, value: object, unfit: Unfit) -> None:
            misfit = Misfit(start + place, elements[place], unfit.field, value, unfit.reason)
            misfits.setdefault(place, misfit)

        places, columns = self._sift_shapes(elements, leave_out)
        arrays = [
            self._sift_column(column, field, places, leave_out)
            for column, field in zip(columns, self._fields, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema.arrow)
        fits = pa.array([place not in misfits for place in places], pa.bool_())
        return Converted(batch.filter(fits), [misfits[place] for place in sorted(misfits)])

    def _sift_shapes(
        self, elements: Sequence[Any], leave_out: LeaveOut
    ) -> tuple[list[int], list[list[Any]]]:
        """The places of those elements that have the right fields, and their columns."""
        places: list[int] = []
        columns: list[list[Any]] = [[] for _ in self._names]
        for place, part in in_parts(partial(columns_of, names=self._names), elements):
            if isinstance(part, Unfit):
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
        for at, part in in_parts(partial(encode, field=field, path=field.name), column):
            if isinstance(part, Unfit):
                leave_out(places[at], column[at], part)
            arrays.append(pa.nulls(1, field.type) if isinstance(part, Unfit) else part)
        return pa.concat_arrays(arrays)

    def _joined(self, parts: list[Converted], misfits: Sequence[Misfit] = ()) -> Converted:
        batches = [part.batch for part in parts] or [self._empty()]
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        return Converted(batch, [each for part in parts for each in part.misfits] + [*misfits])

    def _empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self.schema.arrow)


def in_parts(
    make: Callable[[Sequence[Any]], Made], values: Sequence[Any], start: int = 0
) -> Iterator[tuple[int, Made | Unfit]]:
    """What can be made of parts of ``values``, and the single values of which nothing can be.

    Each comes with the place where it starts. The parts are as long as they can be, so that few
    misfits among many values cost little.
    """
    try:
        made = make(values)
    except Unfit as unfit:
        if len(values) == 1:
            yield start, unfit
            return
    else:
        yield start, made
        return
    size = -(-len(values) // PARTS)
    for offset in range(0, len(values), size):
        yield from in_parts(make, values[offset : offset + size], start + offset)
