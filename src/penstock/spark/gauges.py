"""What a run through Spark shows of itself while it runs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Any, Final, NamedTuple

from penstock.spark.batch_counts import SparkCounts

__all__ = [
    "RECENT",
    "Ages",
    "BatchReading",
    "Emitted",
    "InputReading",
    "RunReading",
    "Seen",
    "Tally",
    "rows_in",
]

BATCHES: Final = ("pyarrow.lib", "penstock.spark.batch_elements")
MOST_AGES: Final = 4096
RECENT: Final = 16
"""The things that a tally remembers to show them."""


class Seen(NamedTuple):
    """Something that has passed; ``at`` in seconds since 1970."""

    at: float
    thing: Any


@dataclass(frozen=True, slots=True)
class InputReading:
    """An input and its journal.

    ``requested``  elements that were asked of the source in this run, and ``admitted`` came
    ``taken``      elements that were taken since the journal was made, misfits included
    ``end``        rows that were ever written; ``done`` of them Spark is done with, and those in
                   front of ``start`` are no longer kept
    ``bytes``      what the journal holds, at most ``max_bytes``
    ``full``       whether it has no room

    ``taken_before``, ``rows_before`` and ``done_before`` are what ``taken``, ``end`` and ``done``
    were when this run began. ``misfits`` counts its elements that did not fit; ``last_misfits`` has
    the reasons of the last ones. ``unrecorded`` elements have come, and will never be written.
    """

    requested: int
    admitted: int
    taken: int
    start: int
    end: int
    done: int
    max_rows: int
    bytes: int
    max_bytes: int
    full: bool
    sealed: bool
    taken_before: int
    rows_before: int
    done_before: int
    misfits: int
    last_misfits: tuple[Seen, ...]
    unrecorded: int = 0

    @property
    def waiting(self) -> int:
        """The rows that Spark has to go through."""
        return self.end - self.done

    @property
    def all_misfits(self) -> int:
        """Those of all runs: of the elements that earlier ones had taken, these made no row."""
        return max(self.taken_before - self.rows_before, 0) + self.misfits


@dataclass(frozen=True, slots=True)
class BatchReading:
    """The last batch that is done."""

    number: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunReading:
    """A run at one moment.

    ``started``       whether Spark runs the query
    ``restarts``      how often the query was started again, since it had lost a worker
    ``batch``         the last batch that this run has done
    ``done_batch``    the number of the last one that any run has done; -1 if there is none
    ``delivering``    whether a batch waits until all of it is wanted
    ``emitted``       elements that have come out, which are ``emitted_rows`` rows
    ``last_emitted``  the last of them
    ``failure``       the error with which Spark has ended it
    ``oldest``        for how many seconds the oldest row waits
    ``latencies``     the seconds that rows took to the end of their batch, since the last reading
    ``replayed``      for each input, the rows that Spark had begun when the last run ended: from,
                      to
    ``is_out_of_space``  whether Spark waits until it can write its files
    ``counts``        what Spark has counted itself
    """

    started: bool
    restarts: int
    inputs: tuple[InputReading, ...]
    batch: BatchReading | None
    done_batch: int
    delivering: bool
    emitted: int
    emitted_rows: int
    last_emitted: tuple[Seen, ...]
    failure: Seen | None
    oldest: float | None
    latencies: tuple[float, ...]
    replayed: tuple[tuple[int, int], ...]
    page: str | None
    is_out_of_space: bool = False
    counts: SparkCounts = field(default_factory=SparkCounts)


class Tally:
    """Counts what passes, and remembers the last of it."""

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[Seen] = deque(maxlen=RECENT)

    def add(self, thing: Any) -> None:
        """Remember it, and forget the oldest."""
        self.count += 1
        self._last.append(Seen(time(), thing))

    @property
    def last(self) -> tuple[Seen, ...]:
        """What it remembers, the newest last."""
        return tuple(self._last)


class Emitted(Tally):
    """The elements that have come out of Spark, and the rows that they are."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0

    def passed(self, element: Any) -> Any:
        """Count ``element`` on its way."""
        rows = rows_in(element)
        self.rows += 1 if rows is None else rows
        self.add(element)
        return element


def rows_in(element: Any) -> int | None:
    """The rows of a batch or table, for which Arrow is not loaded; of all else, ``None``."""
    if type(element).__module__ not in BATCHES:
        return None
    rows: int | None = getattr(element, "num_rows", None)
    return rows


class Ages:
    """When rows were written, until Spark is done with them.

    One thread notes what is written, another one what is done; both do one step at a time.
    """

    def __init__(self) -> None:
        self._written: deque[tuple[int, float]] = deque()

    def note(self, end: int) -> None:
        """The rows in front of ``end`` are there."""
        if len(self._written) < MOST_AGES:  # else the next one that fits stands for these as well
            self._written.append((end, monotonic()))

    def done(self, position: int) -> list[float]:
        """Spark is done with what is in front of ``position``: how long that took, in seconds."""
        now, seconds = monotonic(), []
        while self._written and self._written[0][0] <= position:
            seconds.append(now - self._written.popleft()[1])
        return seconds

    @property
    def oldest(self) -> float | None:
        """For how many seconds the oldest row waits."""
        try:
            return monotonic() - self._written[0][1]
        except IndexError:
            return None
