"""Values of Python as Arrow arrays: of the type of a column, or of the one that they decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from penstock.arrow import Encoder, SchemaMismatch
from penstock.connectors.shared.formats import by_names
from penstock.runtime.shown_text import shown_value, shown_words

__all__ = ["WrongValue", "column_array"]

WRONG: Final = (pa.ArrowException, ArithmeticError, AttributeError, TypeError, ValueError)
"""What says that values cannot be in a column."""
ENCODER: Final = Encoder()
SURE: Final = frozenset({pa.null(), pa.bool_(), pa.string()})
"""Types for which Arrow decides only where they hold all values as they are.

It takes an integer and a short float of NumPy for two integers.
"""


class WrongValue(ValueError):
    """A value that cannot be in a column.

    ``place``  where it is among the values
    """

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


def column_array(name: str, values: Sequence[Any], field: pa.Field | None) -> pa.Array:
    """The values of a column, none of them changed; without a field they decide of which type.

    ``WrongValue`` names the first that would be changed.
    """
    try:
        return array_of(name, values, field)
    except WRONG as error:
        raise wrong_value(name, values, field, error) from None


def array_of(name: str, values: Sequence[Any], field: pa.Field | None) -> pa.Array:
    if field is not None:
        return ENCODER.encode(values, field, name)
    try:
        array = pa.array(values)
    except pa.ArrowException:  # as for named tuples with values of several types
        values = [*map(by_names, values)]
        array = pa.array(values)
    if array.type in SURE:
        return array
    if pa.types.is_nested(array.type):  # Arrow may have taken named tuples for lists
        values = [*map(by_names, values)]
        array = pa.array(values)
    return ENCODER.encode(values, pa.field(name, array.type), name)


def wrong_value(
    name: str, values: Sequence[Any], field: pa.Field | None, error: Exception
) -> WrongValue:
    """Which one is wrong and why, where ``error`` is about one of them."""
    for place, value in enumerate(values):
        try:
            array_of(name, [value], field)
        except WRONG as found:
            shown = shown_value(name, value)
            return WrongValue(f"{name} cannot be {shown}: {words_of(found, name)}", place)
    return first_that_differs(name, values, field, error)


def first_that_differs(
    name: str, values: Sequence[Any], field: pa.Field | None, error: Exception
) -> WrongValue:
    """The first that does not go with those before it, though each would alone."""
    fitting, wrong = 0, len(values)
    while wrong - fitting > 1:
        place = (fitting + wrong) // 2
        try:
            array_of(name, values[:place], field)
        except WRONG as found:
            wrong, error = place, found
        else:
            fitting = place
    shown = shown_value(name, values[fitting])
    return WrongValue(
        f"the values of {name} do not go together: {shown} is the first that does not fit those "
        f"before it: {words_of(error, name)}",
        fitting,
    )


def words_of(error: Exception, name: str) -> str:
    if isinstance(error, SchemaMismatch) and error.field == name:
        return shown_words(type(error).__name__, error.reason, name)
    return shown_words(type(error).__name__, " ".join(str(error).split()), name)
