"""The life of a checkpoint, so that a sink can tell a batch that it has from another of its number.

Spark numbers the batches of a checkpoint from 0. A checkpoint that was deleted, or restored from an
older backup, gives the same numbers to other rows. So each start of a pipeline is written down in
its checkpoint under a random name, together with the last batch that was planned by then; a sink
keeps the name of the run and the number of the batch together with its rows, as a *mark*.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

__all__ = [
    "NOTHING_PLANNED",
    "BatchProgress",
    "BatchesLost",
    "DeliveryRefused",
    "Epoch",
    "RunStart",
]

MOST_STARTS: Final = 1000
NOTHING_PLANNED: Final = -1
REMEDY: Final = (
    "restore the checkpoint that belongs to it, or give the pipeline another sink or an empty one"
)
GONE: Final = (
    "it was emptied, replaced or restored from a backup, or its server has lost what it had "
    "acknowledged. Those rows do not come again by themselves: restore the sink; have them again "
    "by penstock checkpoint rewind, as far as they are kept, or by penstock checkpoint reset, into "
    "an empty sink; or go on without them by --accept-lost-batches"
)


class DeliveryRefused(Exception):
    """A sink and a checkpoint that do not belong together, or a sink that others change."""


class BatchesLost(DeliveryRefused):
    """A sink no longer has batches that it has had; ``args`` say which, and the text what to do."""

    def __str__(self) -> str:
        return f"{self.args[0]}: {GONE}"


class RunStart(NamedTuple):
    """The start of one run; ``planned`` is the last batch that was planned before, -1 if none."""

    run: str
    planned: int


@dataclass(frozen=True)
class Epoch:
    """All starts of a pipeline from one checkpoint, this run's the last.

    ``had``  the last batch of which the sink to which this is given has had rows, as far as the
             checkpoint knows; -1 if it knows of none
    """

    starts: tuple[RunStart, ...]
    had: int = NOTHING_PLANNED

    @classmethod
    def begun(cls, before: tuple[RunStart, ...] = (), planned: int = NOTHING_PLANNED) -> Epoch:
        """The epoch of a run that starts now, after those of ``before``."""
        return cls((*before, RunStart(secrets.token_hex(8), planned))[-MOST_STARTS:])

    @classmethod
    def read(cls, text: str) -> Epoch:
        """The epoch that ``text`` wrote down; ``ValueError`` if it is not one."""
        try:
            return cls(tuple(RunStart(str(run), int(planned)) for run, planned in json.loads(text)))
        except (ValueError, TypeError) as error:
            raise ValueError(f"no epoch: {text[:80]!r}") from error

    def for_sink(self, had: int) -> Epoch:
        """The same for a sink that has had rows of that batch."""
        return replace(self, had=had)

    @property
    def text(self) -> str:
        """What ``read`` reads."""
        return json.dumps(self.starts)

    def mark(self, batch: int) -> str:
        """What a sink stores together with the rows of a batch."""
        return json.dumps({"run": self.starts[-1].run, "batch": batch})

    def has(self, mark: str | None, batch: int, sink: str) -> bool:
        """Whether a sink whose last mark is ``mark`` has ``batch`` already.

        ``sink`` names it in the message of ``DeliveryRefused``.
        """
        last = self.last_batch(mark, sink)
        if batch < last:
            raise DeliveryRefused(
                f"{sink} has batch {last}, and batch {batch} comes again: the checkpoint is older "
                f"than the sink; {REMEDY}"
            )
        return batch == last

    def last_batch(self, mark: str | None, sink: str) -> int:
        """The last batch of a sink, -1 if it has none.

        Refuses one of another epoch, and one that has lost batches.
        """
        last = NOTHING_PLANNED if mark is None else self._known_batch(mark, sink)
        if last < self.had:
            found = "no batch of this pipeline" if last < 0 else f"batch {last} as its last"
            raise BatchesLost(f"{sink} has {found}, and has had batch {self.had}")
        return last

    def _known_batch(self, mark: str, sink: str) -> int:
        run, batch = read_mark(mark, sink)
        runs = [start.run for start in self.starts]
        if run not in runs:
            raise DeliveryRefused(
                f"{sink} was written from another checkpoint, or from this one before it was "
                f"deleted or restored: its batch {batch} is not known here; {REMEDY}"
            )
        later = runs.index(run) + 1
        if later < len(runs) and batch > self.starts[later].planned:
            raise DeliveryRefused(
                f"{sink} has batch {batch}, the checkpoint only knows batches up to "
                f"{self.starts[later].planned} of that time: it was restored from an older "
                f"backup; {REMEDY}"
            )
        return batch


def read_mark(mark: str, sink: str) -> tuple[str, int]:
    """The run and the batch of a mark."""
    try:
        found: Any = json.loads(mark)
        return str(found["run"]), int(found["batch"])
    except (ValueError, TypeError, KeyError):
        raise DeliveryRefused(f"{sink} holds a mark that is damaged: {mark[:80]!r}") from None


class BatchProgress:
    """What a sink needs to know between ``open`` and ``close``.

    ``epoch``     that of the checkpoint, if there is one
    ``in_batch``  whether it is told of batches at all
    """

    def __init__(self, sink: str, epoch: Epoch | None = None, mark: str | None = None) -> None:
        """``mark`` is the last one of the sink, whose name is for ``DeliveryRefused``."""
        self._sink = sink
        self._mark = mark
        self._last = NOTHING_PLANNED
        self.epoch = epoch
        self.in_batch = False
        if epoch is not None:
            epoch.last_batch(mark, sink)  # refuses one of another checkpoint

    def begin(self, batch: int) -> bool:
        """Whether the rows of the batch are wanted."""
        self.in_batch = True
        if self.epoch is None:
            return batch > self._last
        return not self.epoch.has(self._mark, batch, self._sink)

    def mark(self, batch: int) -> str | None:
        """What to store with the rows of the batch, if there is a checkpoint."""
        return None if self.epoch is None else self.epoch.mark(batch)

    def loss(self, stored: str | None, found: str | None) -> BatchesLost | None:
        """Why a sink that had stored a mark has another, if it is an older one, or none.

        Else somebody else has written it.
        """
        if self.epoch is None or stored is None:
            return None
        _, had = read_mark(stored, self._sink)
        try:
            self.epoch.for_sink(had).last_batch(found, self._sink)
        except BatchesLost as lost:
            return lost
        except DeliveryRefused:
            pass  # it is of somebody else
        return None

    def committed(self, batch: int) -> None:
        """The sink has the batch."""
        self._last = batch
        self._mark = self.mark(batch)
