"""Values of Python as Arrow arrays; nothing that is inside of a value is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow

from penstock.connectors.shared.formats import by_names

__all__ = ["arrow_array"]

Check: TypeAlias = Callable[[Any], None]


def arrow_array(values: Sequence[Any], kind: pyarrow.DataType | None) -> pyarrow.Array:
    """Values of a type; without one they decide.

    A named tuple is a struct, for which Arrow would take it by place or not at all. A field that
    the struct does not have is a ``ValueError``, where Arrow would leave it out.
    """
    if kind is None:
        return array_as_it_is(values)
    if not pyarrow.types.is_nested(kind):
        return pyarrow.array(values, type=kind)
    named = [*map(by_names, values)]
    check = field_check(kind)
    if check is not None:
        for value in named:
            check(value)
    return pyarrow.array(named, type=kind)


def array_as_it_is(values: Sequence[Any]) -> pyarrow.Array:
    """Values of which it is not known whether they are structs; few are."""
    try:
        array = pyarrow.array(values)
    except pyarrow.ArrowException:  # as for a named tuple with several types
        return pyarrow.array([*map(by_names, values)])
    if not pyarrow.types.is_nested(array.type):
        return array
    return pyarrow.array([*map(by_names, values)])


def field_check(kind: pyarrow.DataType) -> Check | None:
    """What refuses values with fields that the structs of a type do not have, if it has some."""
    types = pyarrow.types
    if types.is_struct(kind):
        return struct_check(kind)
    inner = None
    if types.is_map(kind):
        inner = field_check(kind.item_type)
    elif types.is_nested(kind) and kind.num_fields == 1:  # lists of all kinds
        inner = field_check(kind.field(0).type)
    return None if inner is None else item_check(inner, is_map=types.is_map(kind))


def struct_check(kind: pyarrow.DataType) -> Check:
    """The same for dictionaries, as all values with names are by now."""
    checks = {field.name: field_check(field.type) for field in kind}
    deeper = {name: check for name, check in checks.items() if check is not None}

    def check_struct(value: Any) -> None:
        if not isinstance(value, dict):
            return
        if not checks.keys() >= value.keys():
            stray = next(name for name in value if name not in checks)
            raise ValueError(f"a struct has {', '.join(checks)}, and a value has {stray!r}")
        for name, check in deeper.items():
            check(value.get(name))

    return check_struct


def item_check(check: Check, *, is_map: bool) -> Check:
    """The same for what is in a list or a map."""

    def check_items(value: Any) -> None:
        if isinstance(value, dict):
            value = value.values()
        elif is_map and value is not None:
            value = [item for _, item in value]
        for item in value or ():
            check(item)

    return check_items
