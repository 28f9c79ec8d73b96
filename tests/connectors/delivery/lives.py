"""The lives of a pipeline through Spark without Spark: what it plans, gives, commits and forgets.

A life is a generator of steps, so that a test can end it between any two of them as a crash does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pytest

from penstock.connectors import Writer
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.parquet.sink import ParquetFolder
from penstock.connectors.sqlite.table import SqliteTable
from penstock.delivery import DeliveryRefused, Epoch, RunStart

__all__ = ["Checkpoint", "crash", "live", "lived", "refused"]


@dataclass
class Checkpoint:
    """What Spark's logs and ours remember; like those, it outlives a crash."""

    starts: tuple[RunStart, ...] = ()
    planned: int = -1
    done: int = -1
    runs: list[Epoch] = field(default_factory=list)

    def begin_run(self) -> Epoch:
        epoch = Epoch.begun(self.starts, self.planned)
        self.starts = epoch.starts
        return epoch


def live(
    checkpoint: Checkpoint, writer: Writer, batches: Sequence[Sequence[Any]]
) -> Generator[str, None, None]:
    """One start of the pipeline, as far as it comes."""
    sink = writer.sink
    sink.open(checkpoint.begin_run())
    yield "open"
    for number in range(checkpoint.done + 1, len(batches)):
        checkpoint.planned = number
        yield "planned"
        wanted = sink.begin(number)
        yield "begun"
        for row in batches[number] if wanted else ():
            sink(row)
            yield "row"
        if wanted:
            sink.commit(number)
            yield "committed by the sink"
        checkpoint.done = number
        yield "committed by Spark"
    sink.close()
    yield "closed"


def lived(checkpoint: Checkpoint, writer: Writer, batches: Sequence[Sequence[Any]]) -> None:
    """One start of the pipeline, to its end."""
    for _ in live(checkpoint, writer, batches):
        pass


def ended_by_a_crash(
    checkpoint: Checkpoint,
    make: Callable[[], Writer],
    batches: Sequence[Sequence[Any]],
    steps: int,
) -> None:
    """Live for so many steps, and die."""
    writer = make()
    life = live(checkpoint, writer, batches)
    for _ in islice(life, steps):
        pass
    life.close()
    crash(writer)


def crash(writer: Writer) -> None:
    """What the system does with the files of a dead process: they are closed, and that is all."""
    sink: Any = writer.sink
    if isinstance(sink, TextFile):
        if sink._descriptor is not None:
            os.close(sink._descriptor)
    elif isinstance(sink, SqliteTable):
        sink.disconnect()  # which rolls back, as the next one who opens the database does
    else:
        assert isinstance(sink, ParquetFolder)
        leave_unfinished(sink)


def leave_unfinished(sink: ParquetFolder) -> None:
    """The file that nobody sees yet stays as it is."""
    unfinished = sink._file
    content = None if unfinished is None else unfinished._path.read_bytes()
    path = None if unfinished is None else unfinished._path
    sink._leave()
    if path is not None and content is not None:
        path.write_bytes(content)


def refused(writer: Writer, epoch: Epoch | None, error: type[Exception] = DeliveryRefused) -> str:
    """The one line with which it refuses, by ``check`` as by ``open``; it closes quietly then."""
    with pytest.raises(error) as checked:
        writer.sink.check(epoch)
    with pytest.raises(error) as opened:
        writer.sink.open(epoch)
    writer.sink.close()
    line = str(opened.value)
    assert line == str(checked.value)
    assert "\n" not in line
    return line
