"""From Python values to Arrow columns, with no value changed on the way.

Whole columns are encoded at once. A value is taken only if it comes back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from itertools import accumulate, chain
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, Final, TypeAlias

import pyarrow as pa

from penstock.arrow.leaf_types import Kind, leaf_array
from penstock.runtime import shorten

__all__ = ["Columns", "Encoder", "SchemaMismatch", "columns_of", "mismatch"]

Values: TypeAlias = Sequence[Any]
Columns: TypeAlias = list[Values]
ARRAY: Final = "numpy.ndarray"
EXACT_KEYS: Final[tuple[set[Kind], ...]] = (set(), {str}, {int})
"""Classes of keys that differ in Arrow if they do so in Python."""


class SchemaMismatch(ValueError):
    """A value does not fit the schema.

    ``field``   the field that is wrong, such as ``delay`` or ``place.city``; empty if all are
    ``reason``  why it does not fit
    """

    def __init__(self, message: str, field: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.reason = reason


def mismatch(field: str, reason: str) -> SchemaMismatch:
    """For some of the values that were to be encoded; ``field`` is right for a single one."""
    return SchemaMismatch(f"{field}: {reason}" if field else reason, field, reason)


class Encoder:
    """Makes arrays, on the thread that encodes; ``called`` says how messages call a type.

    What has parts is encoded without the nulls, which are put in afterwards.
    """

    def __init__(self, called: Callable[[pa.DataType], str] = str) -> None:
        self._called = called

    def encode(self, values: Values, field: pa.Field, path: str) -> pa.Array:
        """The values of one field as an Arrow array of its type."""
        kinds = set(map(type, values))
        has_nulls = NoneType in kinds
        if has_nulls and not field.nullable:
            raise mismatch(path, "there is no value, and the field is NOT NULL")
        kinds.discard(NoneType)
        encode_nested = self._for_nested(field.type)
        if encode_nested is None:
            return self._leaves(values, kinds, field.type, path)
        if not has_nulls:
            return encode_nested(values, kinds, field.type, path)
        present = [value for value in values if value is not None]
        return encode_nested(present, kinds, field.type, path).take(_places(values))

    def _for_nested(self, kind: pa.DataType) -> Nested | None:
        types = pa.types
        if types.is_list(kind) or types.is_large_list(kind):
            return self._lists
        if types.is_fixed_size_list(kind):
            return self._vectors
        if types.is_map(kind):
            return self._maps
        if types.is_struct(kind):
            return self._structs
        return self._refused if types.is_nested(stored_type(kind)) else None

    def _refused(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        raise mismatch(path, f"no values of Python are made {self._called(kind)} here")

    def _leaves(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        try:
            return leaf_array(values, kinds, kind, self._called(kind))
        except (TypeError, ValueError, ArithmeticError, NotImplementedError) as error:
            raise mismatch(path, str(error)) from error

    def _lists(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        made: Any = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        places = pa.int64() if pa.types.is_large_list(kind) else pa.int32()
        elements = self._elements(values, kinds, kind, path)
        return made.from_arrays(_offsets(values, places), elements, type=kind)

    def _vectors(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        elements = self._elements(values, kinds, kind, path)
        lengths = set(map(len, values)) - {kind.list_size}
        if lengths:
            raise mismatch(path, f"it has {lengths.pop()} elements, and needs {kind.list_size}")
        return pa.FixedSizeListArray.from_arrays(elements, type=kind)

    def _elements(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        _require(is_list, kinds, "an array", path)
        if all(map(is_array, kinds)) and _are_all_of(values, kind.value_type):
            return pa.concat_arrays([pa.array(value) for value in values])
        inner = list(chain.from_iterable(values))
        return self.encode(inner, kind.value_field, f"{path}.element")

    def _maps(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        if all(issubclass(each, Mapping) for each in kinds):
            keys = list(chain.from_iterable(values))
            items = list(chain.from_iterable(value.values() for value in values))
        else:
            pairs = list(chain.from_iterable(_pairs(value, path) for value in values))
            keys, items = ([pair[place] for pair in pairs] for place in (0, 1))
        keys_made = self.encode(keys, kind.key_field, f"{path}.key")
        if {*map(type, keys)} not in EXACT_KEYS:
            _refuse_same(keys_made, map(len, values), path)  # as which they are kept
        items_made = self.encode(items, kind.item_field, f"{path}.value")
        offsets = _offsets(values, pa.int32())
        return pa.MapArray.from_arrays(offsets, keys_made, items_made, type=kind)

    def _structs(self, values: Values, kinds: set[Kind], kind: pa.DataType, path: str) -> pa.Array:
        fields = list(kind)
        columns = _columns(values, kinds, [field.name for field in fields], path)
        arrays = [
            self.encode(column, field, f"{path}.{field.name}")
            for column, field in zip(columns, fields, strict=True)
        ]
        if not fields:
            return pa.array([{}] * len(values), kind)
        return pa.StructArray.from_arrays(arrays, fields=fields)


Nested: TypeAlias = Callable[[Values, set[Kind], pa.DataType, str], pa.Array]


def is_list(found: Kind) -> bool:
    """Whether values of a class have elements in an order."""
    return issubclass(found, list | tuple) or is_array(found)


def is_array(found: Kind) -> bool:
    """Whether they are arrays of NumPy, which need not be installed."""
    return f"{found.__module__}.{found.__name__}" == ARRAY


def _are_all_of(arrays: Values, kind: pa.DataType) -> bool:
    """Whether arrays of NumPy, at least one, have elements of a type: they need not be looked at.

    Such as the vectors of a model, which are many numbers.
    """
    if not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        return False
    wanted = kind.to_pandas_dtype()
    return bool(arrays) and all(each.dtype == wanted and each.ndim == 1 for each in arrays)


def _places(values: Values) -> pa.Array:
    """For each value its place among those that are not null."""
    present = [value is not None for value in values]
    places = (count - 1 for count in accumulate(present))
    return pa.array(
        [place if is_there else None for place, is_there in zip(places, present, strict=True)],
        pa.int64(),
    )


def _require(fits: Callable[[Kind], bool], kinds: set[Kind], what: str, path: str) -> None:
    for kind in kinds:
        if not fits(kind):
            raise mismatch(path, f"it is of type {kind.__name__}, and needs to be {what}")


def _pairs(value: Any, path: str) -> Iterable[tuple[Any, Any]]:
    """The keys and items of a map, or of the list that Arrow itself makes of one."""
    if isinstance(value, Mapping):
        return value.items()
    if not isinstance(value, list) or not all(map(_is_pair, value)):
        raise mismatch(path, f"it is of type {type(value).__name__}, and needs to be a map")
    _refuse_twice([key for key, _ in value], path)
    return value


def _refuse_twice(keys: Values, path: str) -> None:
    seen = set()
    for key in keys:
        with suppress(TypeError):  # of a key with parts, which has no hash
            if key in seen:
                raise mismatch(path, f"the key {shorten(key)} comes twice")
            seen.add(key)


def _refuse_same(keys: pa.Array, lengths: Iterable[int], path: str) -> None:
    """Refuse keys of one map that differ in Python alone."""
    first = 0
    for length in lengths:
        shown = [*map(str, keys.slice(first, length))]
        if len({*shown}) < length:
            again = next(each for place, each in enumerate(shown) if each in shown[:place])
            raise mismatch(path, f"the key {shorten(again)} comes twice")
        first += length


def stored_type(kind: pa.DataType) -> pa.DataType:
    """What a type of an extension is stored as, or the type itself."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == len(("key", "item"))


def _offsets(values: Values, kind: pa.DataType) -> pa.Array:
    return pa.array(accumulate(map(len, values), initial=0), kind)


def columns_of(elements: Values, names: Sequence[str], path: str = "") -> Columns:
    """The values of each field, for elements of any kind that has fields."""
    return _columns(elements, set(map(type, elements)), names, path)


def _columns(elements: Values, kinds: set[Kind], names: Sequence[str], path: str) -> Columns:
    if len(kinds) == 1:
        (kind,) = kinds
        return _columns_of_kind(elements, kind, names, path)
    rows = [_columns_of_kind([each], type(each), names, path) for each in elements]
    return [[row[index][0] for row in rows] for index in range(len(names))]


def _columns_of_kind(elements: Values, kind: Kind, names: Sequence[str], path: str) -> Columns:
    if kind is dict:
        return _of_dicts(elements, names, path)
    if issubclass(kind, Mapping):
        return _of_mappings(elements, names, path)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        # A row of Spark has attributes with other names where those of its columns cannot be some.
        found = getattr(kind, "_names", kind._fields)
        _require_fields(kind, found, names, path)
        return _each(itemgetter, map(found.index, names), elements)
    if issubclass(kind, tuple | list):
        return _of_sequences(elements, names, path)
    if is_dataclass(kind):
        _require_fields(kind, [field.name for field in dataclass_fields(kind)], names, path)
        return _each(attrgetter, names, elements)
    raise mismatch(
        path,
        f"it is of type {kind.__name__}, and needs to be a mapping, a tuple or a dataclass",
    )


def _each(getter: Callable[[Any], Any], keys: Iterable[object], elements: Values) -> Columns:
    return [list(map(getter(key), elements)) for key in keys]


def _of_dicts(elements: Values, names: Sequence[str], path: str) -> Columns:
    try:
        columns = _each(itemgetter, names, elements)
    except KeyError:
        return _of_mappings(elements, names, path)
    if set(map(len, elements)) != {len(names)}:
        _refuse_unknown(elements, names, path)
    return columns


def _of_mappings(elements: Values, names: Sequence[str], path: str) -> Columns:
    """A field that a mapping does not have is null, but a name that no field has is an error."""
    _refuse_unknown(elements, names, path)
    return [[element.get(name) for element in elements] for name in names]


def _refuse_unknown(elements: Values, names: Sequence[str], path: str) -> None:
    known = set(names)
    for element in elements:
        if not known.issuperset(element):
            (unknown, *_) = element.keys() - known
            raise mismatch(path, f"the schema has no field {shorten(unknown)}")


def _of_sequences(elements: Values, names: Sequence[str], path: str) -> Columns:
    lengths = set(map(len, elements)) - {len(names)}
    if lengths:
        raise mismatch(path, f"the number of values is {lengths.pop()}, of fields {len(names)}")
    return _each(itemgetter, range(len(names)), elements)


def _require_fields(kind: Kind, found: Sequence[str], names: Sequence[str], path: str) -> None:
    if sorted(found) != sorted(names):
        raise mismatch(
            path,
            f"a {kind.__name__} has the fields {', '.join(found)}, and the schema "
            f"{', '.join(names)}",
        )
