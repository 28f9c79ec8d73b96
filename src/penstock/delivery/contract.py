"""What a sink promises of the rows that it is given, and how it is told where a batch ends."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from penstock.core import AsyncSubscriber, SyncSubscriber
from penstock.delivery.epoch import Epoch

__all__ = [
    "BatchSink",
    "DataFrameSink",
    "Level",
    "SinkExited",
    "as_error",
    "level_of",
]

Level: TypeAlias = Literal["exactly once", "at least once", "at most once"]
"""How often a sink has each row after kills and restarts of the same checkpoint.

``exactly once``   it stores the number of a batch together with its rows, and knows it again
``at least once``  it may get the rows of one batch again after a crash
``at most once``   it keeps nothing
"""


@runtime_checkable
class BatchSink(Protocol):
    """A sink that is told where batches begin and end.

    One thread at a time calls it, in this order::

        open (begin element* commit)* close      a pipeline through Spark
        open element* close                      any other pipeline

    What was given since ``begin`` and is not committed is given up by ``close``, by another
    ``begin`` of the same batch, and by a crash: the batch comes again.

    A sink that also has ``check(epoch) -> str`` says in a few words what ``open`` would do, or
    raises what that would; it touches nothing, and ``penstock check`` prints it. One that also has
    ``give_all(elements)`` may be given many at once by a ``Writer``, as if one by one.
    """

    level: Level

    def open(self, epoch: Epoch | None) -> None:
        """The pipeline is whole and about to start: now files may be made, cut and locked.

        Nothing was touched before. ``epoch`` is that of its checkpoint, if it has one; raises
        ``DeliveryRefused`` if what the sink holds does not belong to it.
        """

    def begin(self, batch: int) -> bool:
        """Whether it wants the rows of this batch; ``False`` if it has them already."""

    def __call__(self, element: Any, /) -> object:
        """Take one element."""

    def commit(self, batch: int) -> None:
        """All rows of the batch were given: when this returns they are stored, with its number."""

    def close(self) -> None:
        """Nothing more will come. May be called more than once, and without ``open``."""


class DataFrameSink(ABC):
    """A sink of a pipeline that Spark serves: it is given DataFrames instead of elements.

    In a classic session it runs in this program, over Spark Connect in a process of the server.
    """

    level: Level
    marks_every_batch: bool = False
    """Whether it also keeps the numbers of batches without rows, so that a gap is a loss."""

    def in_epoch(self, epoch: Epoch) -> DataFrameSink:
        """The sink for a run of this epoch, which without a checkpoint is that of the run alone."""
        return self

    def check(self, epoch: Epoch | None) -> str:
        """What it would do with what it holds, in a few words; it touches nothing.

        ``DeliveryRefused`` if that does not belong to ``epoch``. Called before anything is taken
        from a source, if Spark runs where this program does.
        """
        return ""

    @property
    def sent(self) -> object:
        """What goes to the server over Spark Connect, besides code of penstock."""
        return None

    @abstractmethod
    def take(self, dataframe: Any, batch_id: int) -> None:
        """Store the rows of a batch; when this returns, they are stored."""


class SinkExited(Exception):
    """A sink has raised something that is no ``Exception``, such as ``SystemExit``: the cause."""


def as_error(raised: BaseException) -> Exception:
    """The error that ends the pipeline; a Ctrl-C in the main thread is raised again instead."""
    if isinstance(raised, Exception):
        return raised
    in_main = threading.current_thread() is threading.main_thread()
    if isinstance(raised, KeyboardInterrupt) and in_main:
        raise raised
    error = SinkExited(f"it raised {raised!r}")
    error.__cause__ = raised
    return error


def level_of(made: Any) -> Level | None:
    """How often a sink has each row after a kill and a restart; ``None`` if that is not known.

    A sink that declares its ``level`` has that, with a checkpoint. Any other function has finished
    an element when it returns, and so has a ``SyncSubscriber``; an ``AsyncSubscriber`` is waited
    for: they get each row at least once. It is not known when other subscribers have finished, so a
    batch may be committed while they still hold some of its rows.

    >>> level_of(print)
    'at least once'
    """
    declared = getattr(made, "level", None)
    for level in get_args(Level):
        if declared == level:
            known: Level = level
            return known
    is_awaited = callable(made) or isinstance(made, SyncSubscriber | AsyncSubscriber)
    return "at least once" if is_awaited else None
