"""The place that a pipeline's journals and Spark's checkpoint share, and what it remembers.

    pipeline.json    whose it is
    runs.json        each start of the pipeline; see ``penstock.delivery.Epoch``
    state.json       what the state in it means; see ``state.py``
    journal-0/       the rows of the first input that has a journal; see ``journal/``
    held/            the lock of a run that has no journal, whose lock would do
    spark/           Spark's own: ``offsets/N`` is written when batch N is planned, ``commits/N``
                     when it is done

Spark starts again without a word when files of its checkpoint are gone. Here that is refused.

A local one is for its owner alone: nobody else can enter the folder, whatever Spark makes in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from pyarrow import ArrowInvalid

from penstock.delivery import Epoch
from penstock.spark.checkpoint_copy import SparkCopy
from penstock.spark.checkpoint_files import CheckpointFiles, files_at
from penstock.spark.checkpoint_owner import (
    ABOUT,
    REMEDY,
    STREAM,
    CheckpointError,
    about,
    require_same,
)
from penstock.spark.journal.errors import JournalInUse, JournalUnusable
from penstock.spark.journal.local_store import TEMPORARY
from penstock.spark.journal.private_files import NotPrivate, require_private_folder
from penstock.spark.journal.s3_folder import Overtaken, is_s3
from penstock.spark.journal.store import open_store
from penstock.spark.workers.journal_source import is_of_journal, position_of

__all__ = ["STREAM", "Checkpoint", "CheckpointError", "CheckpointProgress", "JournalExtent"]

RUNS: Final = "runs.json"
SPARK: Final = "spark"
HELD: Final = "held"
LINES: Final = 3
"""Of the plan of a batch: the version, what holds for all of it, and at least one offset."""


class JournalExtent(Protocol):
    """Which rows a journal has, and which journal it is."""

    @property
    def start(self) -> int:
        """The first row that is kept."""

    @property
    def end(self) -> int:
        """Where the next row will stand."""

    @property
    def identity(self) -> str:
        """Tells it from all others."""


class CheckpointProgress(NamedTuple):
    """How far Spark has come: the last batch that is done, and where it ended in each journal."""

    batch: int
    positions: tuple[int, ...]


class Checkpoint:
    """A folder, local or in any file system that ``pyarrow.fs`` knows."""

    def __init__(self, place: str | Path) -> None:
        self.place = str(place) if "://" in str(place) else str(Path(place).absolute())
        try:
            self._files = files_at(self.place)
        except (ArrowInvalid, OSError, JournalUnusable) as error:
            raise CheckpointError(f"{self.place} is no place for a checkpoint: {error}") from error
        self._copy: SparkCopy | None = None
        self.run = 1  # which one it is, of those that it has had

    def claim(self, name: str, inputs: Sequence[str]) -> None:
        """Make the folder the one of the pipeline ``name``, or find that it is."""
        try:
            self._files.make(ABOUT)
            if not self.holds(name, inputs):
                self._files.write_after(ABOUT, json.dumps(about(name, inputs)), None)
        except NotPrivate as error:
            raise CheckpointError(f"the checkpoint cannot be used: {error}") from error
        except Overtaken as error:
            raise self._in_use() from error
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {self.place} cannot be written: {error}"
            ) from error

    def holds(self, name: str, inputs: Sequence[str]) -> bool:
        """Whether the pipeline ``name`` was here before; refuses the folder of another one."""
        self._require_own()
        found = self._read(ABOUT)
        if found is None:
            self._require_free()
            return False
        require_same(self.place, name, inputs, found)
        return True

    def hold(self) -> Callable[[], None]:
        """Keep other runs out until what this returns is called, for a run without journals."""
        if self._copy is not None:
            return nothing
        store = open_store(f"{self.place}/{HELD}")
        try:
            store.claim()
        except JournalInUse as error:
            raise self._in_use() from error
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self.place} cannot be held: {error}") from error
        return store.release

    def begin_run(self) -> Epoch:
        """Write down that a run starts; what others wrote meanwhile is not replaced."""
        before = self._read(RUNS)
        epoch = self.next_epoch()
        try:
            self._files.write_after(RUNS, epoch.text, before)
        except Overtaken as error:
            raise self._in_use() from error
        self.run = len(epoch.starts)
        return epoch

    def next_epoch(self) -> Epoch:
        """The epoch of a run that would start now; nothing is written."""
        planned = self._last("offsets")
        return Epoch.begun(self.epoch().starts, -1 if planned is None else planned)

    def epoch(self) -> Epoch:
        """The starts so far, none of them if there was none."""
        text = self._read(RUNS)
        if text is None:
            return Epoch(())
        try:
            return Epoch.read(text)
        except ValueError:
            raise CheckpointError(f"{self.place}/{RUNS} is damaged; {REMEDY}") from None

    def remember(self, file: str, text: str) -> None:
        """Keep a text beside the rest, for the next run."""
        self._files.write(file, text)

    def remembered(self, file: str) -> str | None:
        """What an earlier run has kept."""
        return self._read(file)

    @property
    def has_plans(self) -> bool:
        """Whether Spark has ever planned a batch here."""
        return self._last("offsets") is not None

    @property
    def for_spark(self) -> str:
        """Where Spark keeps its own."""
        return f"{self.plans}/{SPARK}"

    @property
    def plans(self) -> str:
        """The place that has what Spark has planned and done, as far as this run knows."""
        return self.place if self._copy is None else str(self._copy.folder)

    @property
    def has_copy(self) -> bool:
        """Whether Spark writes somewhere else, from where ``keep`` takes it."""
        return self._copy is not None

    def copy_for_spark(self, leaving: ExitStack) -> None:
        """On S3, where Spark cannot write: let it write here, and keep that there."""
        if not is_s3(self.place):
            return
        held = open_store(f"{self.place}/{HELD}")
        try:
            self._copy = leaving.enter_context(SparkCopy(self.place, SPARK, held))
        except JournalInUse as error:
            raise self._in_use() from error
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self.place} cannot be read: {error}") from error

    def keep(self) -> None:
        """What Spark has planned and done is in the checkpoint when this returns."""
        if self._copy is not None:
            try:
                self._copy.keep()
            except (JournalInUse, Overtaken) as error:
                raise self._in_use() from error
            except OSError as error:
                raise CheckpointError(
                    f"the checkpoint {self.place} cannot be written: {error}"
                ) from error

    def for_journal(self, number: int) -> str:
        """Where the rows of an input are kept."""
        return f"{self.place}/journal-{number}"

    def progress(
        self, journals: Sequence[JournalExtent], last: CheckpointProgress | None = None
    ) -> CheckpointProgress:
        """How far Spark has come. If it is known how far it had, that takes one look at a file."""
        batch = self._last("commits") if last is None else self._next_done(last.batch)
        if batch is None:
            return last or CheckpointProgress(-1, tuple(journal.start for journal in journals))
        return CheckpointProgress(batch, self.ends_of(batch, journals))

    def is_done(self, batch: int) -> bool:
        """Whether Spark still knows that a batch is done, and of what it was made."""
        return self._has(f"{SPARK}/commits/{batch}") and self._has(f"{SPARK}/offsets/{batch}")

    def ends_of(self, batch: int, journals: Sequence[JournalExtent]) -> tuple[int, ...]:
        """Where a batch ended in each journal, as Spark wrote it down."""
        offsets = self._offsets(batch)
        if len(offsets) != len(journals):
            raise self._damaged(batch)
        return tuple(self._position(offsets, journal.identity) for journal in journals)

    @property
    def names(self) -> list[str]:
        """What is in it."""
        return self._entries("")

    @property
    def planned_batch(self) -> int | None:
        """The number of the last batch that was planned, if any was."""
        return self._last("offsets")

    @property
    def unfinished_batch(self) -> int | None:
        """The number of the batch that was planned and is not done, if there is one."""
        planned = self._last("offsets")
        return None if planned == self._last("commits") else planned

    def unfinished(self, journals: Sequence[JournalExtent]) -> tuple[tuple[int, int], ...]:
        """The rows of the batch that was planned and is not done, from and to, for each journal."""
        planned, done = self.unfinished_batch, self._last("commits")
        if planned is None:
            return tuple((journal.start, journal.start) for journal in journals)
        begun = tuple(0 for _ in journals) if done is None else self.ends_of(done, journals)
        return tuple(zip(begun, self.ends_of(planned, journals), strict=True))

    def planned_end(self, identity: str) -> int | None:
        """Where the last batch that Spark has planned ends in a journal, if it has planned any."""
        batch = self._last("offsets")
        if batch is None:
            return None
        offsets = self._offsets(batch)
        if not offsets:
            raise self._damaged(batch)
        return self._position(offsets, identity)

    def require_whole(self, journals: Sequence[JournalExtent]) -> None:
        """Refuse a checkpoint from which Spark would not go on where it was."""
        planned, done = self._last("offsets"), self._last("commits")
        if planned is None:
            self._require_nothing_committed(done, journals)
            return
        self._require_readable("metadata", {"id"})
        if done is not None and not planned - 1 <= done <= planned:
            raise CheckpointError(
                f"{self.for_spark} ends with the plan of batch {planned} but the completion of "
                f"batch {done}: files are missing; {REMEDY}"
            )
        if done is None and planned > 0:
            raise CheckpointError(f"{self.for_spark}/commits is missing or empty; {REMEDY}")
        if done is not None:
            self._require_readable(f"commits/{done}", set())
        for batch in {planned, max(planned - 1, 0)}:  # those that Spark looks at
            for journal, position in zip(journals, self.ends_of(batch, journals), strict=True):
                self._require_rows(journal, position, batch)
        for journal in journals:
            self._require_committed(journal, done, journals)

    def _in_use(self) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.place} is in use by another run of the pipeline; stop that "
            "one, or name another place"
        )

    def _require_own(self) -> None:
        """Refuse a local folder that is not one's own, if it is there."""
        folder = self._files.folder
        try:
            if folder is not None and folder.exists():
                require_private_folder(folder)
        except NotPrivate as error:
            raise CheckpointError(f"the checkpoint cannot be used: {error}") from error

    def _require_free(self) -> None:
        """Refuse a folder in which there is something; a crash may have left a file of ours."""
        others = {*self._entries("")} - {ABOUT + TEMPORARY}
        if SPARK in others:
            raise CheckpointError(f"{self.place}/{ABOUT} is missing; {REMEDY}")
        if others:
            raise CheckpointError(
                f"{self.place} is not empty and holds no checkpoint of penstock; name another place"
            )

    def _require_readable(self, file: str, fields: set[str]) -> None:
        """Refuse a file of Spark that does not end with an object in JSON that has these fields."""
        lines = (self._read(f"{SPARK}/{file}") or "").splitlines() or [""]
        try:
            if fields <= json.loads(lines[-1]).keys():
                return
        except (ValueError, AttributeError):
            pass
        raise CheckpointError(f"{self.for_spark}/{file} is missing or damaged; {REMEDY}")

    def _require_nothing_committed(
        self, done: int | None, journals: Sequence[JournalExtent]
    ) -> None:
        if done is not None or any(journal.start for journal in journals):
            raise CheckpointError(
                f"{self.for_spark} has no plan of any batch although rows were processed: files "
                f"are missing, and to begin again would lose rows; {REMEDY}"
            )

    def _require_rows(self, journal: JournalExtent, position: int, batch: int) -> None:
        if position > journal.end:
            raise CheckpointError(
                f"batch {batch} in {self.for_spark} goes up to row {position}, but the journal "
                f"beside it ends at row {journal.end}: rows are missing; {REMEDY}"
            )

    def _require_committed(
        self, journal: JournalExtent, done: int | None, journals: Sequence[JournalExtent]
    ) -> None:
        number = list(journals).index(journal)
        position = 0 if done is None else self.ends_of(done, journals)[number]
        if journal.start > position:
            raise CheckpointError(
                f"{self.for_spark} is older than the journal beside it, which begins at row "
                f"{journal.start}; batches up to row {position} are done; {REMEDY}"
            )

    def _position(self, offsets: Sequence[dict[str, Any]], identity: str) -> int:
        """Where a batch ended in the journal of that identity."""
        ends = [each for each in offsets if each["journal"] == identity]
        return position_of(ends[0] if ends else {}, identity)

    def _offsets(self, batch: int) -> list[dict[str, Any]]:
        """Where a batch ended, one entry for each journal; what else Spark reads is its own."""
        lines = (self._read(f"{SPARK}/offsets/{batch}") or "").splitlines()
        if lines[:1] != ["v1"] or len(lines) < LINES:
            raise self._damaged(batch)
        return [each for each in map(parsed, lines[2:]) if is_of_journal(each)]

    def _damaged(self, batch: int) -> CheckpointError:
        file = f"{self.place}/{SPARK}/offsets/{batch}"
        return CheckpointError(f"{file} is missing or damaged; {REMEDY}")

    def _next_done(self, batch: int) -> int | None:
        """The number of the batch after ``batch``, if it is done."""
        return batch + 1 if self._has(f"{SPARK}/commits/{batch + 1}") else None

    def _last(self, folder: str) -> int | None:
        """The number of the last batch in one of Spark's folders."""
        return max(
            map(int, filter(str.isdecimal, self._entries(f"{SPARK}/{folder}"))), default=None
        )

    def _entries(self, folder: str) -> list[str]:
        return self._files_of(folder).entries(folder)

    def _read(self, file: str) -> str | None:
        try:
            return self._files_of(file).read(file)
        except NotPrivate as error:
            raise CheckpointError(f"the checkpoint cannot be used: {error}") from error

    def _has(self, file: str) -> bool:
        return self._files_of(file).has(file)

    def _files_of(self, path: str) -> CheckpointFiles:
        """Where a file is: what Spark writes is here first."""
        is_copied = self._copy is not None and path.partition("/")[0] == SPARK
        return self._copy.files if is_copied and self._copy is not None else self._files


def nothing() -> None:
    """Whoever has a copy holds the checkpoint with it."""


def parsed(line: str) -> object:
    """An offset, if it is JSON; those of other sources need not be."""
    try:
        return json.loads(line)
    except ValueError:
        return None
