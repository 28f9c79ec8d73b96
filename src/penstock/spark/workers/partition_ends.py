"""Where each partition of a batch ended: the first task that has it read decides for all others.

Spark plans a batch before anybody knows how much a publisher will give. So the end of each
partition is written down by the task that reads it, before a row of it goes on. Another attempt of
that task, be it after a failure or beside a slow one, reads up to the same place.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeGuard

from penstock.spark.checkpoint_files import is_local
from penstock.spark.journal.private_files import make_private_folder, open_private, open_to_read
from penstock.spark.journal.s3_folder import Overtaken, S3Folder, is_s3

__all__ = [
    "BATCHES",
    "BEGAN",
    "START",
    "PartitionEnd",
    "PartitionEnds",
    "as_begun",
    "began_in",
    "is_of_publishers",
]

NAME: Final = re.compile(r"(\d+)-(\d+)\.end")
KEPT: Final = 8
"""The batches whose ends stay.

Spark does not sync its logs, and may have lost their last lines; and the driver counts the rows of
a batch a moment after it is done.
"""
BATCHES, BEGAN = "batches", "began"
"""What an offset says: how many batches there are up to it, and where the last of them began."""


class PartitionEnd(NamedTuple):
    """How far a partition has come.

    ``position``  of the last element that was taken, of all batches
    ``elements``  so many were taken for this batch
    ``over``      whether its publisher has completed
    ``rows``      those of the elements of this batch; ``None`` if nobody has written them down
    ``run``       the run in which it has completed, if it may have more in the next one
    """

    position: Any
    elements: int = 0
    over: bool = False
    rows: int | None = None
    run: int | None = None

    def in_run(self, run: int) -> PartitionEnd:
        """The same, as a run sees it that goes on from there."""
        return self if self.run in (None, run) else self._replace(over=False, run=None)


START: Final = PartitionEnd(None)


class EndFiles(Protocol):
    """Small files, which are made once and never changed. All of it may raise ``OSError``."""

    def create(self, name: str, content: bytes) -> None:
        """Make a file; ``Overtaken`` if there is one with another content."""

    def read(self, name: str) -> bytes:
        """``FileNotFoundError`` if there is none."""

    def entries(self) -> list[str]:
        """The names of all files."""

    def delete(self, name: str) -> None:
        """Delete a file; no error if it is gone."""


class LocalEndFiles:
    """Files in a folder that all executors see under the same name."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder.removeprefix("file://"))

    def create(self, name: str, content: bytes) -> None:
        make_private_folder(self._folder)
        hidden = self._folder / f".{name}.{uuid.uuid4().hex}"
        with os.fdopen(open_private(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            # Unlike a rename, a link does not replace what somebody else has made.
            os.link(hidden, self._folder / name)
        except FileExistsError:
            if self.read(name) != content:
                raise Overtaken(f"{self._folder / name} was written by somebody else") from None
        finally:
            hidden.unlink()

    def read(self, name: str) -> bytes:
        with os.fdopen(open_to_read(self._folder / name), "rb") as file:
            return file.read()

    def entries(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [each.name for each in self._folder.iterdir()]
        return []

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)


class PartitionEnds:
    """The ends of one input, in a place that the executors share with the driver."""

    def __init__(self, place: str) -> None:
        if not (is_s3(place) or is_local(place)):
            raise ValueError(
                f"where partitions end cannot be kept in {place}: only a folder that all executors "
                "see, and S3, can tell which task was first"
            )
        self.place = place
        self._files: EndFiles = S3Folder(place) if is_s3(place) else LocalEndFiles(place)

    def decide(self, batch: int, partition: int, end: PartitionEnd) -> PartitionEnd:
        """Write down ``end``, unless another attempt was first; returns what counts."""
        with suppress(Overtaken):
            self._files.create(name_of(batch, partition), json.dumps(end).encode())
            return end
        decided = self.find(batch, partition)
        assert decided is not None  # nobody deletes what the current batch needs
        return decided

    def find(self, batch: int, partition: int) -> PartitionEnd | None:
        """What was decided, if anything was."""
        try:
            return self._read(name_of(batch, partition))
        except FileNotFoundError:
            return None

    def of_batch(self, batch: int, before: list[PartitionEnd]) -> list[PartitionEnd]:
        """Those of a batch that is done; a partition that was over ``before`` it has none."""
        return [
            end if end.over else self._require(batch, partition)
            for partition, end in enumerate(before)
        ]

    def rows_of(self, batch: int, before: list[PartitionEnd]) -> int | None:
        """All rows that were taken for a batch that is done; ``None`` if that is not known."""
        found = [
            self.find(batch, partition) for partition, end in enumerate(before) if not end.over
        ]
        rows = [None if end is None else end.rows for end in found]
        return None if None in rows else sum(each or 0 for each in rows)

    def are_all_over(self, partitions: int, run: int) -> bool:
        """Whether nothing more will come of any partition in this run."""
        last = {partition: batch for batch, partition in sorted(self._known())}
        return len(last) == partitions and all(
            self._read(name_of(batch, partition)).in_run(run).over
            for partition, batch in last.items()
        )

    def forget_before(self, batch: int, over: Collection[int]) -> None:
        """Delete what nobody will ask for, now that ``batch`` is planned.

        ``over``  the partitions that have ended, which is not forgotten
        """
        for number, partition in self._known():
            if number < batch - KEPT and partition not in over:
                self._files.delete(name_of(number, partition))

    def _known(self) -> list[tuple[int, int]]:
        """The batch and the partition of all ends."""
        found = map(NAME.fullmatch, self._files.entries())
        return [(int(each[1]), int(each[2])) for each in found if each]

    def _read(self, name: str) -> PartitionEnd:
        return PartitionEnd(*json.loads(self._files.read(name)))

    def _require(self, batch: int, partition: int) -> PartitionEnd:
        end = self.find(batch, partition)
        if end is None:
            raise OSError(
                f"{self.place}/{name_of(batch, partition)} is missing, where partition "
                f"{partition} ended in batch {batch}; restore it together with the checkpoint"
            )
        return end


def is_of_publishers(offset: object) -> TypeGuard[dict[str, Any]]:
    """Whether Spark wrote it down for publishers, and not for a source of another kind."""
    return isinstance(offset, dict) and offset.keys() == {BATCHES, BEGAN}


def began_in(offset: dict[str, Any]) -> list[PartitionEnd]:
    """Where the last batch before ``offset`` began, in each partition."""
    return [
        PartitionEnd(position, over=over, run=run[0] if run else None)
        for position, over, *run in offset[BEGAN]
    ]


def as_begun(end: PartitionEnd) -> list[Any]:
    """What an offset says of a partition, of which ``began_in`` makes the same again."""
    return [end.position, end.over, *([] if end.run is None else [end.run])]


def name_of(batch: int, partition: int) -> str:
    """The file of an end."""
    return f"{batch}-{partition}.end"
