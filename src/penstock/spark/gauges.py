"""What a run through Spark shows of itself while it runs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from time import monotonic
from typing import Final

__all__ = ["Ages", "BatchReading", "InputReading", "RunReading"]

MOST_AGES: Final = 4096


@dataclass(frozen=True, slots=True)
class InputReading:
    """An input and its journal.

    ``requested``  elements that were asked of the source in this run, and ``admitted`` came
    ``taken``      elements that were taken since the journal was made, misfits included
    ``end``        rows that were ever written; ``done`` of them Spark is done with, and those in
                   front of ``start`` are no longer kept
    ``bytes``      what the journal holds, at most ``max_bytes``
    ``full``       whether it has no room
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

    @property
    def waiting(self) -> int:
        """The rows that Spark has to go through."""
        return self.end - self.done


@dataclass(frozen=True, slots=True)
class BatchReading:
    """The last batch that is done."""

    number: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunReading:
    """A run at one moment.

    ``started``     whether Spark runs the query
    ``restarts``    how often the query was started again, since it had lost a worker
    ``delivering``  whether a batch waits until all of it is wanted
    ``oldest``      for how many seconds the oldest row waits
    ``latencies``   the seconds that rows took to the end of their batch, since the last reading
    ``replayed``    for each input, the rows that Spark had begun when the last run ended: from, to
    """

    started: bool
    restarts: int
    inputs: tuple[InputReading, ...]
    batch: BatchReading | None
    delivering: bool
    oldest: float | None
    latencies: tuple[float, ...]
    replayed: tuple[tuple[int, int], ...]
    page: str | None


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
