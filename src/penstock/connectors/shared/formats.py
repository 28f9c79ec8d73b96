"""Elements outside of a program: their fields by name, as JSON, as lines of bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, BinaryIO, Final
from uuid import UUID

from penstock.runtime import shown_element
from penstock.runtime.arguments import require_texts

__all__ = [
    "LINE_BYTES",
    "NO_TIME",
    "LineTooLong",
    "bounded_lines",
    "by_names",
    "fields_of",
    "json_text",
    "json_value",
    "length_of",
    "require_columns",
]


def fields_of(element: Any) -> Mapping[str, Any] | None:
    """The fields of a mapping, a named tuple or a dataclass; ``None`` for anything else."""
    if not isinstance(element, tuple):  # of which there are many, and for which this takes long
        if isinstance(element, Mapping):
            return element
        if is_dataclass(element) and not isinstance(element, type):
            return {field.name: getattr(element, field.name) for field in fields(element)}
    as_dict = getattr(element, "_asdict", None)
    return None if as_dict is None else as_dict()


def require_columns(connector: str, columns: Iterable[str]) -> list[str]:
    """``columns``, when they are different names, at least one."""
    names = require_texts(connector, "columns", columns)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{connector}: columns must be different names, at least one, not {names}")
    return names


PLAIN: Final = frozenset(
    {NoneType, bool, int, float, str, bytes, Decimal, date, datetime, time, timedelta, UUID}
)
"""Classes of values that have none inside."""


def by_names(value: Any) -> Any:
    """The same with dictionaries in place of named tuples and dataclasses, all the way down.

    The structs of Spark are named tuples, too, which libraries take for lists.
    """
    if type(value) in PLAIN:
        return value
    named = value if type(value) is dict else fields_of(value)
    if named is None:
        if isinstance(value, tuple):
            return tuple(map(by_names, value))
        return [*map(by_names, value)] if isinstance(value, list) else value
    if type(named) is dict and PLAIN.issuperset(map(type, named.values())):
        return named  # the common case, quickly
    return {name: by_names(each) for name, each in named.items()}


NO_TIME: Final = "NaT"
"""What pandas has for no time, as a text."""


def json_text(element: Any) -> str:
    """``element`` as JSON, on one line.

    A named tuple or a dataclass becomes an object; dates and times become texts, as in ISO 8601.
    What JSON does not have, such as the number that is none, is an error.
    """
    try:
        return ENCODER.encode(by_names(element))
    except RecursionError:
        raise ValueError("an element has no form in JSON: it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{shown_element(element)} has no form in JSON: {error}") from None


def date_text(value: Any) -> str:
    """What JSON has in place of a date or a time."""
    if isinstance(value, date | datetime | time):
        text = value.isoformat()
        if text == NO_TIME:
            raise ValueError("make None of the time that is none")
        return text
    raise TypeError(f"make a number, a text or an object of its {type(value).__name__} first")


ENCODER: Final = json.JSONEncoder(default=date_text, allow_nan=False)
"""Made once: with options, ``json.dumps`` makes one for each element."""


def json_value(value: bytes) -> Any:
    """What a message says, as JSON."""
    try:
        return json.loads(value.decode())
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at column {error.colno} of line {error.lineno}") from None


LINE_BYTES: Final = 16 * 1024 * 1024
"""No line of a file or of standard input has more, unless the user says so."""


class LineTooLong(ValueError):
    """A line, or a row of several, of which no more than its beginning was read."""

    def __init__(self, place: str, max_bytes: int, kind: str = "line") -> None:
        super().__init__(f"{place}: more than {max_bytes} bytes in one {kind}; raise max_bytes")


def bounded_lines(file: BinaryIO, place: object, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; one that is too long is read no further.

    Its end is not counted. ``place`` says in the error where the line is.
    """
    number = 1
    while line := file.readline(max_bytes + 2):
        if length_of(line) > max_bytes:
            raise LineTooLong(f"{place}, line {number}", max_bytes)
        yield number, line
        number += 1


def length_of(line: bytes) -> int:
    """The bytes of a line without its end."""
    return len(line.rstrip(b"\r\n"))
