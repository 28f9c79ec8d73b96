"""Spark's own part of a checkpoint on S3: it writes here, and what it has written is kept there.

Spark itself writes to S3 only with jars of several hundred megabytes. Its files are small, and do
not change once they have their names. What counts is their order: the plan of a batch is there
before anybody sees a row of it, and what is done is there before the journal forgets its rows. A
plan is made once, so of two runs that plan the same batch, one is refused.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from penstock.spark.checkpoint_files import ArrowFiles
from penstock.spark.journal.errors import JournalInUse
from penstock.spark.journal.s3_folder import S3Folder
from penstock.spark.journal.store import Store
from penstock.spark.temporary_folder import TemporaryFolder

__all__ = ["SparkCopy"]

MADE_ONCE: Final = ("commits", "offsets")
"""The folders of which a file is never replaced; they come last, in this order."""

logger = logging.getLogger("penstock")


class SparkCopy:
    """A folder of this machine, which begins as what is on S3 and ends as that.

    ``held`` says whose the checkpoint is. ``keep`` may be called on any thread.

    ``folder``  the folder, in which Spark's own has its name
    ``files``   what is in it
    """

    def __init__(self, place: str, name: str, held: Store) -> None:
        self._remote = S3Folder(place)
        self._name = name
        self._held = held
        self._kept: dict[str, tuple[int, int]] = {}
        self._keeping = threading.Lock()
        self._copy = TemporaryFolder()
        self.folder = self._copy.path
        self.files = ArrowFiles(str(self.folder))

    def __enter__(self) -> SparkCopy:
        try:
            self._held.claim()
            for path in self._remote.all_below(self._name):
                file = self.folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self._remote.read(path))
                self._kept[path] = state_of(file)
        except BaseException:
            self._copy.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.keep()
        except (JournalInUse, OSError) as trouble:
            # The last batch comes again, as after a kill; another run has it if there is one.
            logger.warning("the end of a run is not in its checkpoint: %s", trouble)
        finally:
            self._copy.remove()

    def keep(self) -> None:
        """What is here is there when this returns; ``JournalInUse`` if another run has come.

        ``Overtaken`` if another run has planned one of the batches.
        """
        with self._keeping:
            found = self._found()
            new = [path for path, state in found.items() if self._kept.get(path) != state]
            gone = [path for path in self._kept if path not in found]
            if not new and not gone:
                return
            self._held.check_claim()
            for path in sorted(new, key=self._order):
                self._send(path)
                self._kept[path] = found[path]
            for path in gone:  # Spark needs them no more
                self._remote.delete(path)
                del self._kept[path]

    def _send(self, path: str) -> None:
        content = (self.folder / path).read_bytes()
        if self._order(path)[0]:
            self._remote.create(path, content)
        else:
            self._remote.put(path, content)

    def _found(self) -> dict[str, tuple[int, int]]:
        """All files that have their names; those that Spark still writes, and checksums, do not."""
        found = {}
        for file in (self.folder / self._name).rglob("*"):
            if file.name.startswith(".") or file.name.endswith(".tmp"):
                continue
            with suppress(FileNotFoundError):  # Spark needs it no more
                if file.is_file():
                    found[str(file.relative_to(self.folder))] = state_of(file)
        return found

    def _order(self, path: str) -> tuple[int, int]:
        """State first, then what is done, then what is planned, the older ones first."""
        folder, _, name = path.removeprefix(f"{self._name}/").partition("/")
        rank = MADE_ONCE.index(folder) + 1 if folder in MADE_ONCE else 0
        return rank, int(name) if name.isdecimal() else -1


def state_of(file: Path) -> tuple[int, int]:
    """What changes when a file does."""
    found = file.stat()
    return found.st_size, found.st_mtime_ns
