"""Sources whose rows lie in files, in an order that stays: each row has a place, to go on after.

A position is a list: what tells the place, which the source knows, and how many rows of it were
given. Rows do not carry it. It is made only where somebody keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Final, NamedTuple, Protocol

import pyarrow

from penstock.flow import Flow
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.timing import StageTimer
from penstock.flow.resume.resumption import PAIR, CannotResume
from penstock.flow.sources.creating import Resumable
from penstock.runtime import Clock, shorten
from penstock.runtime.arguments import require_flag

__all__ = [
    "BATCH_ROWS",
    "PlacedBatch",
    "PlacedRows",
    "from_rows",
    "require_end",
    "require_place",
]

BATCH_ROWS: Final = 65_536
"""The most rows of an Arrow batch. Batches begin at multiples of it, after a restart, too."""
SLICE_ROWS: Final = 1_024
"""So many rows of a batch are dictionaries at a time."""


class PlacedBatch(NamedTuple):
    """Some rows; those before them in the same place are ``before``."""

    place: list[Any]
    before: int
    rows: pyarrow.RecordBatch

    def after(self, rows: int) -> PlacedBatch:
        """What is left of it when so many rows of its place were given already."""
        gone = max(rows - self.before, 0)
        return PlacedBatch(self.place, self.before + gone, self.rows.slice(gone))


class PlacedRows(Protocol):
    """Rows in an order that stays, which are read on the thread of the run."""

    def after(self, position: Any, *, recorded: bool) -> Iterator[PlacedBatch | None]:
        """Those after ``position``, all if it is ``None``; a ``None`` where more may come later.

        ``recorded`` says whether somebody keeps positions; else places need not be whole. Raises
        ``CannotResume`` if what was given before is not what is there now.
        """


class FromRows(Origin):
    """Rows as dictionaries, or as Arrow batches.

    ``poll``  after so many seconds it looks again for more; ``None`` if it ends there
    """

    checked = True

    def __init__(
        self,
        name: str,
        rows: PlacedRows,
        *,
        batches: bool,
        poll: float | None,
        clock: Clock | None,
    ) -> None:
        super().__init__(name)
        self.waits = poll is not None
        self._rows = rows
        self._batches = batches
        self._poll = poll
        self._clock = clock
        self._position: Any = None
        self._is_paired = False

    def at(self, position: Any, *, paired: bool) -> FromRows:
        """The same after a position; ``paired`` elements come with their own."""
        other = copy(self)
        other._position = position
        other._is_paired = paired
        return other

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Nothing is opened before the first pull."""
        if self._poll is None:
            return self._read()
        return started(self._followed(run, self._poll))

    def _placed(self) -> Iterator[PlacedBatch | None]:
        return self._rows.after(self._position, recorded=self._is_paired)

    def _read(self) -> Elements:
        for placed in self._placed():
            if placed is None:
                return  # what comes later is for the next run
            yield from self._elements(placed)

    def _followed(self, run: RunContext, poll: float) -> Elements:
        timer = StageTimer(self._clock, run, self.name)
        try:
            yield None
            for placed in self._placed():
                if placed is not None:
                    yield from self._elements(placed)
                    continue
                timer.start(poll)
                while not timer.is_due():
                    yield PENDING
        finally:
            timer.close()

    def _elements(self, placed: PlacedBatch) -> Iterator[Any]:
        place, before, rows = placed
        if not rows.num_rows:
            return
        if self._batches:
            yield PAIR(([*place, before + rows.num_rows], rows)) if self._is_paired else rows
            return
        for start in range(0, rows.num_rows, SLICE_ROWS):
            made = rows.slice(start, SLICE_ROWS).to_pylist()
            if not self._is_paired:
                yield from made
                continue
            for number, row in enumerate(made, before + start + 1):
                yield PAIR(([*place, number], row))


def from_rows(
    name: str,
    rows: PlacedRows,
    *,
    batches: bool,
    poll: float | None = None,
    clock: Clock | None = None,
    repeats: bool = False,
) -> Flow[Any]:
    """The rows as a cold flow, under the name of its connector, which goes on after a position.

    ``repeats``  whether they are the same each time
    """
    origin = FromRows(name, rows, batches=batches, poll=poll, clock=clock)
    return Flow(
        Resumable(
            name,
            lambda position: Flow(origin.at(position, paired=False)),
            paired=lambda position: Flow(origin.at(position, paired=True)),
            repeats=repeats,
            waits=origin.waits,
        )
    )


def require_end(name: str, *, follow: bool, until_end: bool) -> bool:
    """Whether one that follows a table ends where there is no more; others end anyway."""
    follows = require_flag(name, "follow", follow)
    if require_flag(name, "until_end", until_end) and not follows:
        raise ValueError(
            f"{name}: until_end says where it ends that follow=True goes on; give both, or none"
        )
    return until_end


def require_place(name: str, position: Any, kinds: tuple[type, ...]) -> list[Any]:
    """A position of which the parts are of these kinds."""
    if (
        not isinstance(position, list | tuple)
        or len(position) != len(kinds)
        or not all(isinstance(each, kind) for each, kind in zip(position, kinds, strict=True))
    ):
        raise CannotResume(
            f"the checkpoint has the position {shorten(position)}, which is none of {name}; the "
            "flow upstream of on_spark has changed: name another checkpoint"
        )
    return list(position)
