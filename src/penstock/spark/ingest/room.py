"""For how many elements a journal has room."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from penstock.spark.journal import Journal, NoSpace

__all__ = ["ElementSizes", "log_space"]

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
