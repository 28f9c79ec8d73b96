"""Rows on their way into a journal, and for how many elements it has room."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from penstock.flow.resume.resumption import PositionedElement, plain
from penstock.spark.journal import Journal, NoSpace

__all__ = [
    "ElementConverter",
    "ElementSizes",
    "Portion",
    "WithoutPositions",
    "log_space",
    "rows_of_each",
]

COLUMNAR: Final = (pa.RecordBatch, pa.Table)


class ElementConverter(Protocol):
    """Makes rows of elements."""

    def convert(self, elements: Sequence[Any], /) -> tuple[pa.RecordBatch, Sequence[Any]]:
        """One batch of all elements that fit, in order, and the dead letters."""


class WithoutPositions:
    """Makes rows of elements that come with their positions."""

    def __init__(self, converter: ElementConverter) -> None:
        self._converter = converter

    def convert(self, elements: Sequence[Any], /) -> tuple[pa.RecordBatch, Sequence[Any]]:
        """As if they had none."""
        return self._converter.convert(list(map(plain, elements)))


class Portion:
    """Rows that wait to be appended, and the elements that they were made of.

    Of the first element, ``begun`` rows are in the journal already. The elements need not be given
    if nobody asks for one.
    """

    def __init__(
        self,
        rows: pa.RecordBatch,
        row_ends: Sequence[int],
        elements: Sequence[Any],
        before: int,
        begun: int = 0,
    ) -> None:
        self.rows = rows
        self.appended = min(begun, *row_ends[:1], rows.num_rows)
        self._row_ends = row_ends
        self._elements = elements
        self._before = before

    @property
    def is_done(self) -> bool:
        """Whether all rows are appended."""
        return bool(self.appended == self.rows.num_rows)

    def next(self, most: int, most_bytes: int) -> pa.RecordBatch:
        """The next rows: at most so many, and not much larger unless it is only one."""
        rows = self.rows.slice(self.appended, most)
        # What the buffers take is known at once, what the rows take of them is not.
        if rows.get_total_buffer_size() > most_bytes < rows.nbytes:
            rows = rows.slice(0, max(1, rows.num_rows * most_bytes // rows.nbytes))
        return rows

    def taken(self, rows: int) -> int:
        """How many elements of the stream are done with when so many rows are appended."""
        return self._before + bisect_right(self._row_ends, rows)

    def begun(self, rows: int) -> int:
        """How many rows of an element that is not done with are appended then."""
        done = bisect_right(self._row_ends, rows)
        return rows - (self._row_ends[done - 1] if done else 0)

    def element(self, number: int) -> Any:
        """The element with that number in the stream, if it is one of these."""
        return self._elements[number - self._before] if number >= self._before else None


def rows_of_each(elements: list[Any]) -> list[int]:
    """How many rows each element is."""
    kinds = set(map(type, elements))
    if PositionedElement in kinds:
        return rows_of_each(list(map(plain, elements)))
    if any(issubclass(kind, COLUMNAR) for kind in kinds):
        return [each.num_rows if isinstance(each, COLUMNAR) else 1 for each in elements]
    return [1] * len(elements)


FIRST_REQUEST: Final = 16
"""Before it is known how large an element is."""
ROWS_AHEAD: Final = 1 << 18
"""On their way, if the elements are batches."""
ROWS_AT_ONCE: Final = 1 << 16


class ElementSizes:
    """How large elements are, as far as they have come, and how many of them fit accordingly."""

    def __init__(self) -> None:
        self._most_rows = 1
        self._bytes = 0
        self._elements = 0
        self._last = 0.0

    def note(self, rows: Sequence[int], total_bytes: int, elements: int) -> None:
        """Elements with so many rows each were converted; those that fit take so many bytes."""
        self._most_rows = max(self._most_rows, *rows)
        if elements:
            self._bytes += total_bytes
            self._elements += elements
            self._last = total_bytes / elements

    def fitting(self, journal: Journal) -> int:
        """How many elements there is room for beside what the journal holds."""
        room, size = journal.room, self._most_rows
        by_rows = max(room // size, min(room, 1))
        by_bytes = int(journal.bytes_left / self._bytes_each)
        if journal.start == journal.end:  # then it takes one of any size
            by_bytes = max(by_bytes, 1)
        most = max(ROWS_AHEAD // size, 2) if self._elements else FIRST_REQUEST
        return min(by_rows, by_bytes, most)

    def at_once(self, journal: Journal) -> int:
        """How many elements are converted together: not much more than one file can take."""
        by_bytes = int(journal.segment_bytes / self._bytes_each)
        return max(min(ROWS_AT_ONCE // self._most_rows, by_bytes), 1)

    @property
    def _bytes_each(self) -> float:
        """What an element takes on average; if they have become larger, what the last ones do."""
        return max(self._bytes / max(self._elements, 1), self._last, 1.0)


logger = logging.getLogger("penstock")


def log_space(full: NoSpace | None) -> None:
    """Say that the disk is full, or no longer is."""
    if full is None:
        logger.warning("there is space again: the stream goes on")
    else:
        logger.warning("%s; the stream waits until there is space", full)
