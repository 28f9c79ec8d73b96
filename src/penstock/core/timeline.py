"""The signals that led to a failure, in a form that a person can read."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from penstock.api import UNBOUNDED
from penstock.runtime import NewLock, require_int, shorten
from penstock.runtime.executor import ReentrantLock

__all__ = ["Timeline"]


class Timeline:
    """Remembers which signal went by, when, and on which thread; any thread may record.

    Its size is bounded: it keeps the ``first`` signals and the ``last`` ones, and says how many
    there were in between. It keeps words only, no element and no error, so it holds nothing alive
    (rule 3.13) and shows an element as it was at that moment.

    >>> timeline = Timeline(now=lambda: 0.0)
    >>> timeline.record("request", 2)
    >>> timeline.record("on_next", "a")
    >>> for line in timeline.lines():
    ...     print(line)
    1  0.000 s  MainThread  request(2)
    2  0.000 s  MainThread  on_next('a')
    """

    __slots__ = ("_first", "_keeps_first", "_last", "_lock", "_now", "_recorded", "_start")

    def __init__(
        self,
        *,
        first: int = 10,
        last: int = 30,
        now: Callable[[], float] = time.monotonic,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        self._keeps_first = require_int("Timeline", "first", first)
        self._first: list[TimelineEntry] = []
        self._last: deque[TimelineEntry] = deque(maxlen=require_int("Timeline", "last", last))
        self._recorded = 0
        self._now = now
        self._start = now()
        self._lock = new_lock()

    def record(self, signal: str, *arguments: object) -> None:
        """A signal went by: ``record("on_next", 3)``, ``record("on_complete")``."""
        shown = ("UNBOUNDED" if _is_unbounded(each) else shorten(each) for each in arguments)
        self.note(f"{signal}({', '.join(shown)})")

    def note(self, text: str) -> None:
        """Something else happened that helps to understand the signals, in one line."""
        seconds = self._now() - self._start
        thread = threading.current_thread().name
        with self._lock:
            self._recorded += 1
            entry = TimelineEntry(self._recorded, seconds, thread, text)
            if len(self._first) < self._keeps_first:
                self._first.append(entry)
            else:
                self._last.append(entry)

    def lines(self) -> tuple[str, ...]:
        """One line for each signal: its number, seconds since the start, its thread, the call."""
        with self._lock:
            first, last, recorded = list(self._first), list(self._last), self._recorded
        kept = (*first, *last)
        left_out = recorded - len(kept)
        lines = _table(kept)
        if left_out:
            lines.insert(len(first), f"... {left_out} more ...")
        return tuple(lines)

    def __len__(self) -> int:
        return self._recorded

    def __str__(self) -> str:
        return "\n".join(self.lines())


class TimelineEntry(NamedTuple):
    """One line of a timeline."""

    number: int
    seconds: float
    thread: str
    text: str


def _is_unbounded(argument: object) -> bool:
    return type(argument) is int and argument == UNBOUNDED


def _table(entries: tuple[TimelineEntry, ...]) -> list[str]:
    """The entries in columns as wide as they need to be."""
    if not entries:
        return []
    numbers, seconds, threads, texts = zip(*entries, strict=True)
    columns = (
        _right(map(str, numbers)),
        _right(f"{moment:.3f} s" for moment in seconds),
        _left(threads),
        texts,
    )
    return ["  ".join(row) for row in zip(*columns, strict=True)]


def _right(cells: Iterable[str]) -> list[str]:
    return _padded(cells, str.rjust)


def _left(cells: Iterable[str]) -> list[str]:
    return _padded(cells, str.ljust)


def _padded(cells: Iterable[str], pad: Callable[[str, int], str]) -> list[str]:
    column = list(cells)
    width = max(map(len, column))
    return [pad(cell, width) for cell in column]
