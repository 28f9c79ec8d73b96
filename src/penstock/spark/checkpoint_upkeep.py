"""What people do with a checkpoint while no run has it: look, back it up, rewind it, begin again.

Nothing is deleted that cannot be had again: a checkpoint that is reset is set aside, and one that
is rewound still has all rows that come again. Sinks that are exactly once know what they have, and
refuse a checkpoint that is older than they are.
"""

from __future__ import annotations

import os
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from penstock.spark.checkpoint import HELD, SPARK, Checkpoint
from penstock.spark.checkpoint_files import is_local
from penstock.spark.checkpoint_owner import (
    ABOUT,
    REMEDY,
    STREAM,
    CheckpointError,
    read_about,
)
from penstock.spark.journal.errors import JournalError, JournalInUse, JournalUnusable
from penstock.spark.journal.local_store import LOCK
from penstock.spark.journal.reader import JournalReader
from penstock.spark.journal.store import open_store

__all__ = [
    "CheckpointSummary",
    "JournalSummary",
    "back_up",
    "held",
    "rewind",
    "rows_of",
    "set_aside",
    "summary_of",
]

PRIVATE: Final = 0o600
LOCKS: Final = Path("/proc/locks")
"""Has a line for each: number, kind, ..., process, device and file; one who waits has an arrow."""
NOT_KNOWN: Final = "not known here"


class JournalRowCount(NamedTuple):
    """The rows that a journal keeps at one moment."""

    start: int
    end: int
    identity: str
    sealed: bool


def rows_of(place: str) -> JournalRowCount:
    """What a journal holds, read without opening it for a writer."""
    reader = JournalReader(place)
    try:
        bounds = reader.bounds()
    except JournalUnusable as unusable:
        if isinstance(unusable.__cause__, FileNotFoundError):
            return JournalRowCount(0, 0, "", False)  # a run has ended before it was made
        raise
    return JournalRowCount(bounds.start, bounds.end, reader.identity, bounds.sealed)


class JournalSummary(NamedTuple):
    """The rows of an input: those that are kept, from and to, and how many Spark has not done."""

    schema: str
    start: int
    end: int
    waiting: int
    sealed: bool


class CheckpointSummary(NamedTuple):
    """What is in a checkpoint.

    ``done``     the last batch that is done, -1 if none is
    ``planned``  the last one that was begun; after ``done``, it comes again
    ``oldest``   the batch that it could be rewound to, with which the rows that are kept begin
    ``user``     who has it now; empty if nobody has it
    """

    place: str
    pipeline: str
    inputs: tuple[str, ...]
    starts: int
    done: int
    planned: int
    oldest: int
    journals: tuple[JournalSummary, ...]
    user: str


def summary_of(checkpoint: Checkpoint) -> CheckpointSummary:
    """What a checkpoint holds; nothing in it is changed, and a run may have it."""
    name, inputs = owner_of(checkpoint)
    journals = journals_of(checkpoint, inputs)
    done, positions = checkpoint.progress(journals)
    planned = checkpoint.planned_batch
    schemas = [each for each in inputs if not each.startswith(STREAM)]
    return CheckpointSummary(
        checkpoint.place,
        name,
        inputs,
        len(checkpoint.epoch().starts),
        done,
        -1 if planned is None else planned,
        oldest_target(checkpoint, journals, done),
        tuple(
            JournalSummary(schema, rows.start, rows.end, rows.end - position, rows.sealed)
            for schema, rows, position in zip(schemas, journals, positions, strict=True)
        ),
        user_of(checkpoint),
    )


@contextmanager
def held(checkpoint: Checkpoint) -> Iterator[None]:
    """Keep all runs out meanwhile; refuses a checkpoint that a run has."""
    with ExitStack() as holding:
        for place in lockable(checkpoint):
            store = open_store(place)
            try:
                store.claim()
            except JournalInUse as error:
                raise CheckpointError(
                    f"the checkpoint {checkpoint.place} is in use: {error}"
                ) from error
            holding.callback(store.release)
        yield


def back_up(checkpoint: Checkpoint, file: Path) -> None:
    """Write all of a checkpoint into a new file, for its owner alone."""
    owner_of(checkpoint)
    folder = local_folder(checkpoint, "exported")
    with held(checkpoint):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        try:
            with os.fdopen(descriptor, "wb") as target:
                with tarfile.open(fileobj=target, mode="w:gz") as archive:
                    archive.add(folder, arcname=folder.name)
                target.flush()
                os.fsync(target.fileno())
        except BaseException:
            file.unlink(missing_ok=True)
            raise


def set_aside(checkpoint: Checkpoint) -> Path:
    """Give a checkpoint another name, so that the next run begins again; the new name."""
    owner_of(checkpoint)
    folder = local_folder(checkpoint, "reset")
    aside = folder.with_name(f"{folder.name}.{time.strftime('%Y%m%dT%H%M%S')}")
    with held(checkpoint):
        if aside.exists():
            raise CheckpointError(f"{aside} is there already; try again in a second")
        folder.rename(aside)
    return aside


def rewind(checkpoint: Checkpoint, batch: int) -> None:
    """Let the next run go on after ``batch``: those after it come again."""
    _, inputs = owner_of(checkpoint)
    folder = local_folder(checkpoint, "rewound")
    with held(checkpoint):
        journals = journals_of(checkpoint, inputs)
        checkpoint.require_whole(journals)
        done, _ = checkpoint.progress(journals)
        oldest = oldest_target(checkpoint, journals, done)
        if not oldest <= batch <= done:
            raise CheckpointError(
                f"{checkpoint.place} can be rewound to batch {oldest} at the earliest, since what "
                f"went before is not kept, and to {done}, the last that is done; not to {batch}"
            )
        last = checkpoint.planned_batch
        for number in range(batch if last is None else last, batch, -1):
            # In this order it is whole whenever the machine stops.
            forget(folder / SPARK / "commits", number)
            forget(folder / SPARK / "offsets", number)


def forget(folder: Path, batch: int) -> None:
    """Remove what Spark wrote down of a batch, and its checksum."""
    (folder / str(batch)).unlink(missing_ok=True)
    (folder / f".{batch}.crc").unlink(missing_ok=True)


def owner_of(checkpoint: Checkpoint) -> tuple[str, tuple[str, ...]]:
    """The pipeline, and what it reads."""
    text = checkpoint.remembered(ABOUT)
    if text is None:
        raise CheckpointError(f"{checkpoint.place} holds no checkpoint: there is no {ABOUT}")
    name, inputs = read_about(checkpoint.place, text)
    return name, tuple(inputs)


def journals_of(checkpoint: Checkpoint, inputs: tuple[str, ...]) -> list[JournalRowCount]:
    """What the journals hold."""
    count = sum(not each.startswith(STREAM) for each in inputs)
    try:
        return [rows_of(checkpoint.for_journal(number)) for number in range(count)]
    except JournalError as error:
        raise CheckpointError(f"{error}; {REMEDY}") from error


def oldest_target(checkpoint: Checkpoint, journals: Sequence[JournalRowCount], done: int) -> int:
    """The first batch after which all rows are kept: of what is done before, some are gone."""
    oldest = done
    while oldest > 0 and has_rows_after(checkpoint, journals, oldest - 1):
        oldest -= 1
    return oldest


def has_rows_after(checkpoint: Checkpoint, journals: Sequence[JournalRowCount], batch: int) -> bool:
    """Whether Spark still knows where a batch ended, and the journals have what follows."""
    if not checkpoint.is_done(batch):
        return False
    ends = checkpoint.ends_of(batch, journals)
    return all(each.start <= end for each, end in zip(journals, ends, strict=True))


def user_of(checkpoint: Checkpoint) -> str:
    """Who has it, by the system's table of locks: to try them could keep a run out that starts."""
    if not is_local(checkpoint.place) or not LOCKS.exists():
        return NOT_KNOWN
    files = [Path(place.removeprefix("file://")) / LOCK for place in lockable(checkpoint)]
    locked = {file.stat().st_ino for file in files if file.exists()}
    for line in LOCKS.read_text().splitlines():
        _, kind, _, _, process, place, *_ = line.replace("-> ", "").split()
        if kind == "FLOCK" and int(place.rpartition(":")[2]) in locked:
            return f"the process {process} has it"
    return ""


def lockable(checkpoint: Checkpoint) -> Iterator[str]:
    """All that a run would lock, as far as it is there."""
    for name in sorted(checkpoint.names):
        if name == HELD or name.startswith("journal-"):
            yield f"{checkpoint.place}/{name}"


def local_folder(checkpoint: Checkpoint, what: str) -> Path:
    """The folder of a checkpoint; others cannot be handled as one thing."""
    if not is_local(checkpoint.place):
        raise CheckpointError(
            f"{checkpoint.place} is not on this machine, and only a local checkpoint can be "
            f"{what}: copy it with a tool of its store, or name another place"
        )
    return Path(checkpoint.place.removeprefix("file://"))
