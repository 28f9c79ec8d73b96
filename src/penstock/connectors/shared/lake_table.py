"""The base of sinks that store all rows of a batch and its number in one commit.

Tables of files have no transaction that stays open: a commit is made of all that it is to hold,
upon the version of the table that was loaded before, and fails if the mark has changed since.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final

import pyarrow

from penstock.connectors.shared.arrow_rows import (
    GROUP_ROWS,
    GatheringSink,
    RowGroup,
    storing_those_before,
)
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, Level
from penstock.runtime import shorten

__all__ = ["COMMIT_ROWS", "LakeTable", "require_schema"]

COMMIT_ROWS: Final = 100_000
COMMIT_BYTES: Final = 128 << 20
COMMIT_SECONDS: Final = 1.0


class LakeTable(GatheringSink):
    """Exactly once, for any table whose commits can carry a mark, which subclasses reach by hooks.

    Rows are gathered as Arrow batches until ``commit``. Without batches they are committed by
    ``commit_rows``, or about 128 MiB, with the first one that comes a second or more after the last
    commit, and by ``close``. The hooks are called on the thread that calls the sink.

    ``name``  what messages to the user call it
    """

    level: Level = "exactly once"

    def __init__(
        self,
        connector: str,
        name: str,
        schema: pyarrow.Schema | None,
        *,
        commit_rows: int = COMMIT_ROWS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.name = name
        self.connector = connector
        self._schema = None if schema is None else self.stored_schema(schema.remove_metadata())
        self._commit_rows = commit_rows
        self._clock = clock
        self._group = RowGroup(connector, self._schema, stored=self.stored_schema)
        self._is_open = False
        self._is_there = False
        self._last_commit = 0.0
        self._mark: str | None = None
        self._progress = BatchProgress(name)

    # The hooks.

    @abstractmethod
    def load(self, *, check: bool = False) -> pyarrow.Schema | None:
        """Load the newest version of the table: its schema, ``None`` if there is none.

        Refuses a place where none can be made. With ``check`` nothing may be touched.
        """

    @abstractmethod
    def load_mark(self) -> str | None:
        """The mark in the version that was loaded."""

    @abstractmethod
    def store(self, rows: pyarrow.Table, mark: str | None, known: str | None) -> None:
        """Add rows and replace the mark, if there is one, in one commit.

        All of it counts when this returns. Raises ``MarkChanged`` if the mark is not ``known`` any
        more, which it was when the table was loaded.
        """

    @abstractmethod
    def stored_schema(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """The types that a table has for these; ``ValueError`` if it has none."""

    @abstractmethod
    def unload(self) -> None:
        """Forget the table that was loaded."""

    # What a pipeline calls.

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; nothing is touched."""
        try:
            schema = self.load(check=True)
            if schema is None:
                BatchProgress(self.name, epoch)
                return f"makes {self.name}"
            self._require_fits(schema)
            mark = None if epoch is None else self.load_mark()
            BatchProgress(self.name, epoch, mark)
            if epoch is None or mark is None:
                return f"adds to {self.name}"
            return f"goes on in {self.name} after batch {epoch.last_batch(mark, self.name):,}"
        finally:
            self.unload()

    def open(self, epoch: Epoch | None) -> None:
        """Load the table, and compare its mark with the checkpoint."""
        try:
            found = self.load()
            if found is not None:
                self._require_fits(found)
            self._mark = None if epoch is None or found is None else self.load_mark()
            self._progress = BatchProgress(self.name, epoch, self._mark)
        except BaseException:
            self.unload()
            raise
        schema = self._schema if found is None else self._in_our_order(found)
        self._group = RowGroup(self.connector, schema, stored=self.stored_schema)
        self._group.look_after(0)
        self._last_commit = self._clock()
        self._is_there = found is not None
        self._is_open = True

    def begin(self, batch: int) -> bool:
        """Discard what was received of the batch earlier."""
        self._group.clear()
        self._group.look_after(GROUP_ROWS)
        return self._progress.begin(batch)

    def commit(self, batch: int) -> None:
        """Store the batch with its mark; one without rows leaves no trace."""
        self._commit(self._progress.mark(batch))
        self._progress.committed(batch)

    def close(self) -> None:
        """Give up what was not committed; without batches, commit it."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            if not self._progress.in_batch:
                storing_those_before(partial(self._commit, None))
        finally:
            self._group.clear()
            self.unload()

    def _look(self) -> None:
        """Outside of batches, commit what is due, and look again after the next row."""
        if self._progress.in_batch:
            return
        if self._is_due:
            self._commit(None)
        self._group.look_after(0)

    @property
    def _is_due(self) -> bool:
        return (
            len(self._group) >= self._commit_rows
            or self._group.bytes >= COMMIT_BYTES
            or self._clock() - self._last_commit >= COMMIT_SECONDS
        )

    def _commit(self, mark: str | None) -> None:
        if len(self._group):
            rows = self._group.take()
            found = self.load()
            if found is not None:
                require_same(self.name, found, rows.schema)
                rows = rows.select(found.names)
                self._require_known_mark()
            elif self._is_there:
                raise DeliveryRefused(
                    f"{self.name} is gone since this pipeline was opened, with the rows that it "
                    "had; restore it, or begin anew with another checkpoint"
                )
            try:
                self.store(rows, mark, self._mark)
            except (MarkChanged, OSError) as error:
                self._require_stored(mark, error)
            self._is_there = True
            if mark is not None:
                self._mark = mark
        self._last_commit = self._clock()

    def _require_stored(self, mark: str | None, error: MarkChanged | OSError) -> None:
        """Of a commit that seems to have failed, the answer alone may have been lost.

        No other run has our mark. Who asks again after a lost answer finds it, and takes it for a
        rival's.
        """
        with suppress(DeliveryRefused):  # it cannot be reached now; the next start looks again
            self.load()
            if mark is not None and self.load_mark() == mark:
                return
        raise self._rival() if isinstance(error, MarkChanged) else error

    def _require_known_mark(self) -> None:
        if self._progress.epoch is not None and (found := self.load_mark()) != self._mark:
            raise self._progress.loss(self._mark, found) or self._rival()

    def _rival(self) -> DeliveryRefused:
        return DeliveryRefused(
            f"{self.name} was written by another pipeline since this one was opened; stop that "
            "one, or write somewhere else"
        )

    def _in_our_order(self, found: pyarrow.Schema) -> pyarrow.Schema:
        """The columns of the table as ``schema`` names them, by which plain tuples go."""
        if self._schema is None:
            return found
        return pyarrow.schema([found.field(name) for name in self._schema.names])

    def _require_fits(self, found: pyarrow.Schema) -> None:
        if self._schema is not None:
            require_same(self.name, found, self._schema)


class MarkChanged(Exception):
    """Somebody else has committed under the same mark."""


def require_same(name: str, found: pyarrow.Schema, wanted: pyarrow.Schema) -> None:
    """Refuse a table that has other columns, or other types, than our rows."""
    if sorted(found.names) != sorted(wanted.names):
        raise DeliveryRefused(
            f"{name} has the columns {', '.join(found.names)}, and the rows have "
            f"{', '.join(wanted.names)}; give another table, or rows with its columns"
        )
    for mine in wanted:
        other = found.field(mine.name)
        if other.type != mine.type:
            raise DeliveryRefused(
                f"{name} has {other.type} for {mine.name}, and the rows have {mine.type}; give "
                "another table, or rows with its types"
            )


def require_schema(connector: str, schema: Any) -> pyarrow.Schema | None:
    """The schema that the user gave, if one."""
    if not isinstance(schema, pyarrow.Schema | None):
        raise TypeError(f"{connector}: schema must be a pyarrow.Schema, not {shorten(schema)}")
    return schema
