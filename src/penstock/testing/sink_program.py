"""The program that is killed while a sink writes: batches of numbered elements, as Spark has them.

It goes on with what is in its folder. It may kill itself at a step: before a call of the sink, or
after it. What was planned and committed stands in a small file, as Spark writes it in its logs.
"""

from __future__ import annotations

import json
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any, Final

from penstock.delivery import BatchSink, Epoch, RunStart

__all__ = ["BATCHES", "BatchLog", "SinkParty", "made", "main", "numbers_of", "write_all"]

BATCHES: Final = (3, 0, 700, 1)
"""How many elements each batch has: one has none, one more than a sink gathers before it writes."""


STRIDE: Final = 350
"""Of so many elements one is a step."""


class SinkParty(ABC):
    """A sink before its judge. It is made anew in each process, so it takes no arguments.

    ``place`` is an empty folder of its own for each experiment. A sink that writes to a server
    takes its name for that of a table, a topic or a stream.
    """

    @abstractmethod
    def make(self, place: Path) -> Any:
        """The sink that writes there, or the ``Writer`` around it: the same each time."""

    @abstractmethod
    def stored(self, place: Path) -> Sequence[Any]:
        """All elements that are there, as ``element`` made them, in any order; none at the start.

        Read them by another way than the sink's own, such as the server's own client.
        """

    def element(self, number: int) -> Any:
        """The element of a number, another one for each."""
        return {"number": number, "text": f"é{number:>20}"}


def made(party: SinkParty, place: Path) -> BatchSink:
    """The sink of a party, which may be within a writer."""
    given = party.make(place)
    sink = getattr(given, "sink", given)
    if not isinstance(sink, BatchSink):
        raise TypeError(f"make of {type(party).__name__} returned {given!r}, which is no BatchSink")
    return sink


def numbers_of(batch: int) -> range:
    """The elements of a batch."""
    first = sum(BATCHES[:batch])
    return range(first, first + BATCHES[batch])


class BatchLog:
    """What Spark remembers of its batches, and the starts of the pipeline."""

    def __init__(self, place: Path) -> None:
        self._path = place.with_name(f"{place.name}.log")
        found = json.loads(self._path.read_text()) if self._path.exists() else ([], -1, -1)
        self.starts = tuple(RunStart(*start) for start in found[0])
        self.planned, self.done = found[1:]

    def begin_run(self) -> Epoch:
        """Write down that a run starts."""
        epoch = Epoch.begun(self.starts, self.planned)
        self.starts = epoch.starts
        self.write()
        return epoch

    def plan(self, batch: int) -> None:
        """Write down that a batch begins."""
        self.planned = batch
        self.write()

    def commit(self, batch: int) -> None:
        """Write down that a batch is done."""
        self.done = batch
        self.write()

    def write(self) -> None:
        """All of it or nothing."""
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps((self.starts, self.planned, self.done)))
        new.replace(self._path)


def direct(function: Callable[..., Any], *arguments: Any) -> Any:
    """A call without steps."""
    return function(*arguments)


def write_all(party: SinkParty, place: Path, step: Callable[[], object]) -> None:
    """All batches that are not done, into the sink; ``step`` is called before and after calls."""

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        step()
        result = function(*arguments)
        step()
        return result

    sink, log = made(party, place), BatchLog(place)
    call(sink.open, log.begin_run())
    for batch in range(log.done + 1, len(BATCHES)):
        log.plan(batch)
        if call(sink.begin, batch):
            for number in numbers_of(batch):
                take = call if number % STRIDE == 0 else direct
                take(sink, party.element(number))
            call(sink.commit, batch)
        log.commit(batch)
    call(sink.close)


class Killing:
    """Ends the process at one of its steps, as ``kill -9`` does."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def party_in(file: str, name: str) -> SinkParty:
    """The party of a class at the top of a file."""
    party: SinkParty = run_path(file, run_name="sink_party")[name]()
    return party


def main(file: str, name: str, place: str, kill: str = "0") -> None:
    """What the process does, which is killed at a step if that is not 0."""
    write_all(party_in(file, name), Path(place), Killing(int(kill)))
