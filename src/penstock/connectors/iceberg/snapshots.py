"""The rows of an Iceberg table: those of one snapshot, then those that each later one has added.

A position is ``[table, snapshot, part, file, rows]``: the id of the table, whether all files of the
snapshot are read or those that are new in it, the file, and how many of its rows were given. Files
come in the order of their commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import pyarrow
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.snapshots import Operation, Snapshot

from penstock.connectors.iceberg.catalog import IcebergPlace, words_of
from penstock.connectors.shared.row_files import PlacedBatch, require_place
from penstock.flow.resume.resumption import CannotResume

__all__ = ["CONNECTOR", "IcebergRows"]

CONNECTOR: Final = "read_iceberg"
KINDS: Final = (str, int, str, str, int)
ALL: Final = "all"
NEW: Final = "new"
ANEW: Final = "name another checkpoint, which begins with the first row of a snapshot that is there"


class IcebergRows:
    """The rows of a snapshot; with ``follow`` also those of later ones, when they come."""

    def __init__(self, place: IcebergPlace, snapshot: int | None, *, follow: bool) -> None:
        self._place = place
        self._snapshot = snapshot
        self._follow = follow

    def after(self, position: Any, *, recorded: bool) -> Iterator[PlacedBatch | None]:
        """The rows after a position."""
        with self._explained():
            catalog = self._place.opened()
        try:
            with self._explained():
                table = self._place.load(catalog)
            if table is None:
                raise FileNotFoundError(f"{CONNECTOR}: the catalog has no table {self._place}")
            yield from self._after(table, position)
        finally:
            if catalog is not self._place.catalog:
                catalog.close()

    def _after(self, table: Table, position: Any) -> Iterator[PlacedBatch | None]:
        part, file, given = ALL, "", 0
        if position is None:
            last = self._first(table)
        else:
            known, number, part, file, given = require_place(CONNECTOR, position, KINDS)
            self._require_same(table, known, number)
            last = self._found(table, number)
        if last is not None:
            yield from self._rows(table, last, part, file, given)
        while self._follow:
            with self._explained():
                table.refresh()
            later = self._later(table, last)
            if not later:
                yield None
            for last in later:
                yield from self._rows(table, last, NEW)

    def _first(self, table: Table) -> Snapshot | None:
        """The snapshot to begin with; ``None`` if the table has none yet."""
        if self._snapshot is None:
            return table.current_snapshot()
        found = table.snapshot_by_id(self._snapshot)
        if found is None:
            raise ValueError(f"{CONNECTOR}: {self._place} has no snapshot {self._snapshot}")
        return found

    def _found(self, table: Table, number: int) -> Snapshot:
        found = table.snapshot_by_id(number)
        if found is None:
            raise CannotResume(
                f"{CONNECTOR}: snapshot {number} of {self._place}, in which the checkpoint stands, "
                f"has expired; {ANEW}"
            )
        return found

    def _require_same(self, table: Table, known: str, number: int) -> None:
        if str(table.metadata.table_uuid) != known:
            raise CannotResume(
                f"{CONNECTOR}: {self._place} is another table than the one that was read: it was "
                f"made anew; {ANEW}"
            )
        if self._snapshot is not None and not self._follow and number != self._snapshot:
            raise CannotResume(
                f"{CONNECTOR}: the checkpoint stands in snapshot {number} of {self._place}, and "
                f"snapshot={self._snapshot} is asked for; keep that one, or name another "
                "checkpoint"
            )

    def _later(self, table: Table, last: Snapshot | None) -> list[Snapshot]:
        """The snapshots since that one, oldest first; it has to be one of their ancestors."""
        later: list[Snapshot] = []
        each = table.current_snapshot()
        while each is not None and (last is None or each.snapshot_id != last.snapshot_id):
            later.append(each)
            parent = each.parent_snapshot_id
            each = None if parent is None else table.snapshot_by_id(parent)
        if last is not None and each is None:
            raise ValueError(
                f"{CONNECTOR}: snapshot {last.snapshot_id} of {self._place} is none of those that "
                "the newest one came from: the table was rolled back, or snapshots have expired; "
                "read it anew, under another checkpoint"
            )
        return later[::-1]

    def _rows(
        self, table: Table, snapshot: Snapshot, part: str, last: str = "", given: int = 0
    ) -> Iterator[PlacedBatch]:
        """The rows of all files, or of those that are new in this snapshot, after a place."""
        if part == NEW and not self._adds_rows(snapshot):
            return
        with self._explained():
            scan = table.scan(snapshot_id=snapshot.snapshot_id)
            commits = commits_of(table, snapshot)
            tasks = [(commits[task.file.file_path], task) for task in scan.plan_files()]
        if part == NEW:
            tasks = [each for each in tasks if each[0].snapshot == snapshot.snapshot_id]
        tasks.sort(key=lambda each: (each[0].sequence, each[1].file.file_path))
        for task in self._from([task for _, task in tasks], last, snapshot):
            place = [str(table.metadata.table_uuid), snapshot.snapshot_id, part]
            before = 0
            for batch in self._read(table, task, scan.projection(), snapshot):
                yield PlacedBatch([*place, task.file.file_path], before, batch).after(given)
                before += batch.num_rows
            given = 0

    def _from(self, tasks: list[FileScanTask], last: str, snapshot: Snapshot) -> list[FileScanTask]:
        """The files from that one on in which the checkpoint stands, if one is known."""
        if not last:
            return tasks
        paths = [each.file.file_path for each in tasks]
        if last not in paths:
            raise CannotResume(
                f"{CONNECTOR}: snapshot {snapshot.snapshot_id} of {self._place} has no file {last},"
                f" in which the checkpoint stands; {ANEW}"
            )
        return tasks[paths.index(last) :]

    def _adds_rows(self, snapshot: Snapshot) -> bool:
        """Whether it adds rows; one that takes some away is refused."""
        operation = None if snapshot.summary is None else snapshot.summary.operation
        if operation in (Operation.APPEND, Operation.REPLACE):
            return operation is Operation.APPEND  # else rows were put into other files
        raise ValueError(
            f"{CONNECTOR}: snapshot {snapshot.snapshot_id} of {self._place} "
            f"({'not known' if operation is None else operation.value}) has removed or rewritten "
            "rows, and only additions can be followed; read the table anew, under another "
            "checkpoint"
        )

    def _read(
        self, table: Table, task: FileScanTask, schema: Schema, snapshot: Snapshot
    ) -> Iterator[pyarrow.RecordBatch]:
        """The batches of a file, without rows that are deleted."""
        path = task.file.file_path
        where = f"{CONNECTOR}: snapshot {snapshot.snapshot_id} of {self._place} cannot be read"
        file = table.io.new_input(path)
        with self._explained():
            size = len(file) if file.exists() else None
        if size is None:
            raise FileNotFoundError(f"{where} any more: its file {path} is gone")
        if size != task.file.file_size_in_bytes:
            raise ValueError(
                f"{where} any more: its file {path} was rewritten: it has {size:,} bytes, and "
                f"{task.file.file_size_in_bytes:,} by the manifest"
            )
        with self._explained(f"the file {path}: "):
            reading = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
            yield from reading.to_record_batches([task])

    @contextmanager
    def _explained(self, where: str = "") -> Iterator[None]:
        try:
            yield
        except Exception as error:  # each kind of catalog and of store has errors of its own
            raise ValueError(f"{CONNECTOR}: {self._place}: {where}{words_of(error)}") from None


class Commit(NamedTuple):
    """When a file came into the table; in tables of the first format the number is 0 for all."""

    sequence: int
    snapshot: int | None


def commits_of(table: Table, snapshot: Snapshot) -> dict[str, Commit]:
    """The commit of each file of a snapshot."""
    return {
        entry.data_file.file_path: Commit(entry.sequence_number or 0, entry.snapshot_id)
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    }
