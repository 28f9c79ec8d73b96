"""From a column of Arrow to one of another type, with no value changed on the way.

Arrow itself compares numbers. It makes nothing of what the other type has no place for: the time
for a date, the zone for a timestamp, a field for a struct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow.encoding import mismatch
from penstock.arrow.leaf_types import family_of
from penstock.runtime import shorten

__all__ = ["cast_exactly"]

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

OTHERS: Final = {
    "integer": {"floating", "decimal"},
    "floating": {"integer"},
    "decimal": {"integer"},
}
"""What can be made of a family besides itself, where Arrow finds the values to be the same."""
LISTS: Final = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
MOST_DIGITS: Final = 38


def cast_exactly(
    column: Column, kind: pa.DataType, path: str, called: Callable[[pa.DataType], str] = str
) -> Column:
    """The column as one of a type; ``SchemaMismatch`` if a value would not be what it was.

    A timestamp without a zone is taken as UTC. That numbers are rounded is what ``float32`` says.
    """
    if column.type == kind:
        return column
    require_alike(column.type, kind, path, called)
    try:
        cast = with_digits(column, kind).cast(kind)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise mismatch(path, str(error)) from error
    if infinities(cast) != infinities(column):
        raise mismatch(path, f"a value is too large, and needs to be {called(kind)}")
    return cast


def require_alike(
    given: pa.DataType, wanted: pa.DataType, path: str, called: Callable[[pa.DataType], str]
) -> None:
    """Refuse a type of which another cannot be made, whatever the values are."""
    types = pa.types
    if types.is_null(given):
        return
    if is_list(given) and is_list(wanted):
        require_alike(given.value_type, wanted.value_type, f"{path}.element", called)
    elif types.is_map(given) and types.is_map(wanted):
        require_alike(given.key_type, wanted.key_type, f"{path}.key", called)
        require_alike(given.item_type, wanted.item_type, f"{path}.value", called)
    elif types.is_struct(given) and types.is_struct(wanted):
        for field in given:
            if wanted.get_field_index(field.name) < 0:
                raise mismatch(path, f"the schema has no field {shorten(field.name)}")
            inner = wanted.field(field.name).type
            require_alike(field.type, inner, f"{path}.{field.name}", called)
    elif not is_leaf_of(given, wanted):
        raise mismatch(path, f"it is of type {given}, and needs to be {called(wanted)}")


def is_leaf_of(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values without parts can be of another type."""
    family, other = family_of(given), family_of(wanted)
    if pa.types.is_float16(wanted) and family == "integer":
        return False  # Arrow would round it
    if family == other == "timestamp":
        return bool(wanted.tz is not None or given.tz is None)
    return family == other or other in OTHERS.get(family, set())


def is_list(kind: pa.DataType) -> bool:
    """A list of any kind."""
    return any(is_such(kind) for is_such in LISTS)


def with_digits(column: Column, kind: pa.DataType) -> Column:
    """Integers with all digits that there may be, for which Arrow asks before it looks at them."""
    if pa.types.is_integer(column.type) and pa.types.is_decimal(kind):
        return column.cast(pa.decimal128(MOST_DIGITS, kind.scale))
    return column


def infinities(column: Column) -> int:
    """How many numbers are infinite."""
    return sum(pc.sum(pc.is_inf(leaf)).as_py() or 0 for leaf in floating_leaves(column))


def floating_leaves(column: Column) -> Iterator[pa.Array]:
    if isinstance(column, pa.ChunkedArray):
        for chunk in column.chunks:
            yield from floating_leaves(chunk)
    elif pa.types.is_floating(column.type):
        yield column
    elif is_list(column.type):
        yield from floating_leaves(column.flatten())
    elif pa.types.is_map(column.type):
        for inner in (column.keys, column.items):
            yield from floating_leaves(pa.ListArray.from_arrays(column.offsets, inner))
    elif pa.types.is_struct(column.type):
        for inner in column.flatten():
            yield from floating_leaves(inner)
