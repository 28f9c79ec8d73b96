"""When rows that are gathered are enough: so many, or about so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from random import Random
from types import NoneType
from typing import Any, Final

__all__ = ["MOST_BYTES", "HeldRows", "bytes_of"]

MOST_BYTES: Final = 8 << 20
"""Of rows that are gathered as values of Python: a few thousand of the usual size are less."""
GROWTH: Final = 4
MOST_UNSEEN: Final = 256
SAMPLE: Final = 3
PARTS: Final = (256, 32, 4, 1)
"""How many parts of a value are looked at: the columns of a row, and fewer of what they contain."""
SMALL: Final = frozenset({NoneType, bool, int, float, Decimal, date, datetime, time})
SMALL_BYTES: Final = 8
WITH_LENGTH: Final = frozenset({str, bytes, bytearray})


class HeldRows:
    """Tells rows that are few but large from those that may be many.

    To look at each would cost as much as to write it. So some are looked at, when there are 1, 4,
    16 and so on, and after 256 more: what is held is about four times as large as it may be at
    most, or these 256 where they are larger than all before, and more where one in many is large.

    ``next``  how many rows there are when it is time to ask again, which any one thread may do
    """

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._random = Random(most_rows).random  # the same in each run
        self.start()

    def start(self) -> None:
        """None are held from here on."""
        self._bytes = 0
        self._seen = 0
        self.next = 1

    def are_enough(self, rows: int, row_at: Callable[[int], Any]) -> bool:
        """Whether so many, of which ``row_at`` gives each, are as many as should be held."""
        if rows >= self._most_rows:
            return True
        if rows < self.next:
            return False
        new = rows - self._seen
        size = sum([bytes_of(row_at(place)) for place in self._places(new)])
        self._bytes += size * new // SAMPLE
        self._seen = rows
        self.next = min(rows * GROWTH, rows + MOST_UNSEEN, self._most_rows)
        return self._bytes >= MOST_BYTES

    def _places(self, new: int) -> Iterator[int]:
        """Some of the new ones; a stride would see none of those that are large by turns."""
        for _ in range(SAMPLE):
            yield self._seen + int(self._random() * new)


def bytes_of(value: Any, depth: int = 0) -> int:
    """About what a value takes, if it takes much: texts, bytes, arrays, and what has such parts."""
    parts: Collection[Any]
    if isinstance(value, dict):  # as most rows are
        parts = value.values()
    elif isinstance(value, tuple):
        parts = value
    elif isinstance(value, str | bytes | bytearray):
        return len(value)
    else:
        size = getattr(value, "nbytes", None)  # of NumPy, Arrow and others
        if isinstance(size, int):
            return size
        parts = parts_of(value)
    if depth == len(PARTS):
        return SMALL_BYTES
    step = -(-len(parts) // PARTS[depth]) if parts else 1
    total = 0
    for part in parts if step == 1 else islice(parts, 0, None, step):
        kind = type(part)
        if kind in SMALL:  # most of them, quickly
            total += SMALL_BYTES
        elif kind in WITH_LENGTH:
            total += len(part)
        else:
            total += bytes_of(part, depth + 1)
    return total * step or SMALL_BYTES


def parts_of(value: Any) -> Collection[Any]:
    """What a value consists of; nothing if that is not known."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, type):
        return ()
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    return getattr(value, "__dict__", {}).values()
