"""Elements as rows: the values of a dictionary, and the rows of an Arrow batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final

__all__ = ["CHUNK_ROWS", "is_arrow", "rows_from", "rows_in", "values_getter"]

CHUNK_ROWS: Final = 1_000
"""How many rows of a batch are made at a time."""


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
    for first in range(0, batch.num_rows, CHUNK_ROWS):
        part = batch.slice(first, CHUNK_ROWS)
        yield [*zip(*(part.column(name).to_pylist() for name in wanted), strict=True)]


def values_getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What makes a row of a dictionary."""
    if len(names) > 1:
        return itemgetter(*names)
    (name,) = names
    return lambda element: (element[name],)


def rows_from(
    names: Sequence[str], values: Callable[[Any], Any] | None, elements: Sequence[Any]
) -> list[Any] | None:
    """The rows of dictionaries that all have these columns; ``None`` if some are otherwise."""
    if values is None or {*map(len, elements)} != {len(names)}:
        return None
    try:
        return [*map(values, elements)]
    except KeyError:
        return None
