"""Which values without parts a type of Arrow holds as they are.

Arrow alone would cut 1.5 down to 1 for an ``int64``, and a ``datetime`` down to a ``date``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Final, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Kind", "family_of", "leaf_array"]

# With the first array pyarrow imports it, which fails on a thread that is at work when Python ends.
import_module("concurrent.futures.thread")

Kind: TypeAlias = type[Any]
Takes: TypeAlias = Callable[[Kind], bool]

DOUBLE_BITS: Final = 64
COARSE: Final = {"s": "seconds", "ms": "milliseconds"}
WITH_UNIT: Final = (pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration)
NUMBERS: Final = frozenset({"integer", "floating", "decimal"})
OF_PYTHON: Final = frozenset({date, datetime, time, timedelta})


def leaf_array(
    values: Sequence[Any], kinds: Collection[Kind], kind: pa.DataType, called: str
) -> pa.Array:
    """An array of values, each of which is as it was; if one would not be, a ``ValueError``.

    ``kinds`` are the classes of those that are there, and ``called`` is the type in a message.
    Arrow has errors of its own for numbers that are too large.
    """
    takes = taker(kind)
    for found in kinds:
        if not takes(found):
            raise ValueError(f"it is of type {found.__name__}, and needs to be {called}")
    if family_of(kind) in NUMBERS and any(map(is_scalar_of_numpy, kinds)):
        # As numbers of Python, whose size Arrow does not take for another.
        values = [value.item() if is_scalar_of_numpy(type(value)) else value for value in values]
    if has_unit(kind):
        require_same_moments(values, kinds, kind, called)
        if any(map(is_moment_of_numpy, kinds)):
            return pa.array(values).cast(kind)
    array = pa.array(values, kind)
    if pa.types.is_floating(kind) and kind.bit_width < DOUBLE_BITS:
        require_same_numbers(values, kinds, array, called)
    return array


def require_same_moments(
    values: Sequence[Any], kinds: Collection[Kind], kind: pa.DataType, called: str
) -> None:
    """Refuse dates and times that have what the type has no place for."""
    needs_no_zone = not pa.types.is_duration(kind) and getattr(kind, "tz", None) is None
    if needs_no_zone and any(getattr(value, "tzinfo", None) for value in values):
        raise ValueError(f"it has a time zone, and needs to be {called}")
    if kind.unit in COARSE and not any(map(is_moment_of_numpy, kinds)):
        try:
            pa.array(values, with_microseconds(kind)).cast(kind)
        except pa.ArrowInvalid:
            raise ValueError(
                f"it has more than {COARSE[kind.unit]}, and needs to be {called}"
            ) from None
    if kind.unit != "ns" and not OF_PYTHON.issuperset(kinds) and any(map(has_nanoseconds, values)):
        raise ValueError(f"it has nanoseconds, and needs to be {called}")


def has_unit(kind: pa.DataType) -> bool:
    """Whether its values are so many of something, with a date or without."""
    return any(is_such(kind) for is_such in WITH_UNIT)


def with_microseconds(kind: pa.DataType) -> pa.DataType:
    """The type that holds all that Python has."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")


def has_nanoseconds(value: Any) -> bool:
    """Whether it is a value of pandas with some, which Arrow would drop."""
    return bool(getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0))


def require_same_numbers(
    values: Sequence[Any], kinds: Collection[Kind], array: pa.Array, called: str
) -> None:
    """Refuse integers that would be others, and numbers that would be infinite.

    That others are rounded is what the type says.
    """
    if any(map(is_integer, kinds)):
        for value, kept in zip(values, array.cast(pa.float64()).to_pylist(), strict=True):
            if isinstance(value, int) and value != kept:
                raise ValueError(f"it has too many digits, and needs to be {called}")
    infinite = pc.is_inf(array)
    if pc.any(infinite).as_py() and not pc.is_inf(pa.array(values, pa.float64())).equals(infinite):
        raise ValueError(f"it is too large, and needs to be {called}")


def is_a(*classes: Kind) -> Takes:
    """Says whether a class is one of these."""
    return lambda found: issubclass(found, classes)


def is_boolean(found: Kind) -> bool:
    return issubclass(found, bool) or is_of_numpy(found, "bool")


def is_integer(found: Kind) -> bool:
    if is_of_numpy(found, "timedelta64"):  # which NumPy has among its integers
        return False
    return issubclass(found, Integral) and not issubclass(found, bool)


def is_real(found: Kind) -> bool:
    """A number that 64 bits hold, or an integer, of which Arrow says whether they do."""
    if issubclass(found, Integral):
        return is_integer(found)
    return issubclass(found, Real) and not is_of_numpy(found, "longdouble")


def is_decimal(found: Kind) -> bool:
    return issubclass(found, Decimal) or is_integer(found)


def is_date(found: Kind) -> bool:
    return issubclass(found, date) and not issubclass(found, datetime)


def is_moment(found: Kind) -> bool:
    return issubclass(found, datetime) or is_of_numpy(found, "datetime64")


def is_duration(found: Kind) -> bool:
    return issubclass(found, timedelta) or is_of_numpy(found, "timedelta64")


def is_scalar_of_numpy(found: Kind) -> bool:
    return found.__module__ == "numpy"


def is_moment_of_numpy(found: Kind) -> bool:
    return is_of_numpy(found, "datetime64") or is_of_numpy(found, "timedelta64")


def is_of_numpy(found: Kind, name: str) -> bool:
    """It need not be installed; releases before 2 have an underscore behind some names."""
    return found.__module__ == "numpy" and found.__name__.rstrip("_") == name


FAMILIES: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "integer"),
    (pa.types.is_floating, "floating"),
    (pa.types.is_decimal, "decimal"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_string_view, "text"),
    (pa.types.is_binary, "bytes"),
    (pa.types.is_large_binary, "bytes"),
    (pa.types.is_binary_view, "bytes"),
    (pa.types.is_fixed_size_binary, "bytes"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamp"),
    (pa.types.is_time, "time"),
    (pa.types.is_duration, "duration"),
)
TAKERS: Final[dict[str, Takes]] = {
    "boolean": is_boolean,
    "integer": is_integer,
    "floating": is_real,
    "decimal": is_decimal,
    "text": is_a(str),
    "bytes": is_a(bytes, bytearray, memoryview),
    "date": is_date,
    "timestamp": is_moment,
    "time": is_a(time),
    "duration": is_duration,
    "arrow.uuid": is_a(UUID, bytes),
}


@lru_cache(maxsize=256)
def family_of(kind: pa.DataType) -> str:
    """What the types that differ in their size, or in how they are stored, have in common."""
    if pa.types.is_dictionary(kind):
        return family_of(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        name: str = kind.extension_name
        return name if name in TAKERS else family_of(kind.storage_type)
    return next((family for is_of, family in FAMILIES if is_of(kind)), str(kind))


def taker(kind: pa.DataType) -> Takes:
    """What says which classes of values can be of a type; of rarer ones Arrow knows."""
    return TAKERS.get(family_of(kind), is_a(object))
