"""Elements as rows: the values of dictionaries, named tuples and others, and of Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Final, TypeAlias

from penstock.connectors.shared.formats import fields_of
from penstock.delivery.held_rows import MOST_BYTES
from penstock.runtime import shorten, shown_element

__all__ = ["CHUNK_ROWS", "RowValues", "is_arrow", "names_in", "rows_in", "tuple_names"]

GetValues: TypeAlias = Callable[[Any], "tuple[Any, ...]"]

CHUNK_ROWS: Final = 1_000
"""How many rows of a batch are made at a time, if they are not large."""

KINDS: Final = 32
"""How many classes of elements are remembered; most streams have one."""


def is_arrow(element: Any) -> bool:
    """Whether it is an Arrow batch or table of rows; Arrow itself need not be installed."""
    return type(element) is not dict and type(element).__module__.startswith("pyarrow")


def rows_in(
    connector: str, batch: Any, columns: Iterable[str] | None
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of an Arrow batch or table, some at a time; the columns in this order."""
    names = batch.schema.names
    wanted = names if columns is None else [*columns]
    if sorted(names) != sorted(wanted):
        raise ValueError(
            f"{connector}: the columns are {', '.join(wanted)}, but a batch has {', '.join(names)}"
        )
    fitting = MOST_BYTES * batch.num_rows // max(batch.nbytes, 1)
    rows = max(min(fitting, CHUNK_ROWS), 1)
    for first in range(0, batch.num_rows, rows):
        part = batch.slice(first, rows)
        yield [*zip(*(part.column(name).to_pylist() for name in wanted), strict=True)]


class RowValues:
    """Gets the values of elements, in the order of the columns.

    What a program makes are dictionaries, mostly, and what comes from Spark are named tuples: both
    are taken quickly if they are of the same class as the element before.

    ``width``  how many columns there are
    ``kind``   the class of the last elements
    ``get``    the values of one of that class with as many fields; ``KeyError`` if it has others
    """

    def __init__(self, connector: str, columns: Sequence[str]) -> None:
        self._connector = connector
        self._columns = [*columns]
        self._keys_of: Callable[[type], list[Any] | None] = lru_cache(maxsize=KINDS)(
            partial(keys_in, self._columns)
        )
        self.width = len(self._columns)
        self.kind: type[Any] = dict if columns else RowValues  # which no element is
        self.get: GetValues = getter(self._columns)

    def __call__(self, element: Any) -> Sequence[Any]:
        """The values of an element; ``ValueError`` if it has other fields."""
        if type(element) is self.kind and len(element) == self.width:
            try:
                return self.get(element)
            except KeyError:
                pass  # said below
        values = self._values_of(element)
        keys = self._keys_of(type(element))
        if keys is not None:
            self.kind, self.get = type(element), getter(keys)
        return values

    def of_all(self, elements: Sequence[Any]) -> list[tuple[Any, ...]] | None:
        """Those of many of one class; ``None`` if one is otherwise, or the class has no names."""
        keys = self._keys_of_all(elements)
        try:
            return None if keys is None else [*map(getter(keys), elements)]
        except KeyError:
            return None

    def columns_of(self, elements: Sequence[Any]) -> list[list[Any]] | None:
        """The same by column."""
        keys = self._keys_of_all(elements)
        try:
            return None if keys is None else [[*map(itemgetter(key), elements)] for key in keys]
        except KeyError:
            return None

    def _values_of(self, element: Any) -> list[Any]:
        columns = self._columns
        named = fields_of(element)
        if named is None:
            if not isinstance(element, tuple | list) or len(element) != len(columns):
                raise ValueError(
                    f"{self._connector}: an element has {', '.join(columns)}, not so "
                    f"{shown_element(element)}"
                )
            return list(element)
        if len(named) != len(columns) or not all(column in named for column in columns):
            raise ValueError(
                f"{self._connector}: the columns are {', '.join(columns)}, "
                f"but an element has {', '.join(map(str, named)) or 'none'}"
            )
        return [named[column] for column in columns]

    def _keys_of_all(self, elements: Sequence[Any]) -> list[Any] | None:
        kinds = {*map(type, elements)}
        keys = self._keys_of(kinds.pop()) if len(kinds) == 1 else None
        return None if keys is None or {*map(len, elements)} != {self.width} else keys


def keys_in(columns: list[str], kind: type) -> list[Any] | None:
    """Where elements of a class have the columns; ``None`` if that is not the same for all.

    These are the keys of dictionaries, and the places in named tuples.
    """
    if kind is dict:
        return [*columns]
    names = tuple_names(kind)
    if names is None or sorted(names) != sorted(columns):
        return None
    return [names.index(column) for column in columns]


def getter(keys: Sequence[Any]) -> GetValues:
    """What gets several items at once, as a tuple also if it is one."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda element: tuple(element[key] for key in keys)


def tuple_names(kind: type) -> tuple[str, ...] | None:
    """The names of the values in the named tuples of a class; ``None`` for any other class.

    A row of Spark has attributes with other names where those of its columns cannot be some.
    """
    own = next((vars(each) for each in kind.__mro__ if "_asdict" in vars(each)), None)
    if own is None or "_fields" not in own or not issubclass(kind, tuple):
        return None  # or a class that makes something else of its values
    names: tuple[str, ...] = own.get("_names", own["_fields"])
    return names


def names_in(connector: str, element: Any, otherwise: str) -> list[str]:
    """The names that the first element has; ``otherwise`` is what says those of the columns."""
    named = fields_of(element)
    if not named:
        raise ValueError(
            f"{connector}: {shown_element(element)} has no names for its values; give {otherwise}"
        )
    for name in named:
        if not isinstance(name, str):
            raise ValueError(f"{connector}: {shorten(name)} cannot be the name of a column")
    return [*named]
