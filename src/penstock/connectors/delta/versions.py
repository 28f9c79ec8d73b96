"""The rows of a Delta table: those of one version, and then those that each later one has added.

A position is ``[table, version, part, file, rows]``: the id of the table, whether all files of the
version are read or those that are new in it, the file, and how many of its rows were given. Files
come in the order in which they were written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, DeltaProtocolError
from deltalake.fs import DeltaStorageHandler
from pyarrow.dataset import Fragment
from pyarrow.fs import FileSystem, PyFileSystem

from penstock.connectors.delta.place import DeltaPlace, words_of
from penstock.connectors.shared.row_files import BATCH_ROWS, PlacedBatch, require_place
from penstock.flow.resume.resumption import CannotResume

__all__ = ["CONNECTOR", "DeltaRows"]

CONNECTOR: Final = "read_delta"
KINDS: Final = (str, int, str, str, int)
MAPPING: Final = "delta.columnMapping.mode"
ALL: Final = "all"
NEW: Final = "new"
ANEW: Final = "name another checkpoint, which begins with the first row of a version that is there"


class DeltaFile(NamedTuple):
    """A file as the log has it."""

    written: int
    path: str
    size: int


class DeltaRows:
    """The rows of a version; with ``follow`` also those of later ones, when they come."""

    def __init__(self, place: DeltaPlace, version: int | None, *, follow: bool) -> None:
        self._place = place
        self._version = version
        self._follow = follow

    def after(self, position: Any, *, recorded: bool) -> Iterator[PlacedBatch | None]:
        """The rows after a position."""
        table = self.loaded(self._version)
        part, file, given = ALL, "", 0
        if position is not None:
            known, version, part, file, given = require_place(CONNECTOR, position, KINDS)
            self._require_same(table, known, version)
            table = self._at(table, version)
        yield from self._rows(table, part, file, given)
        if self._follow:
            yield from self._later(table)

    def _later(self, table: DeltaTable) -> Iterator[PlacedBatch | None]:
        """The rows of later versions, for ever, as long as it is the same table."""
        known = str(table.metadata().id)
        with self._explained():
            files = PyFileSystem(DeltaStorageHandler(self._place.uri, self._place.options))
        seen = commit_of(files, table.version())
        while True:
            last = table.version()
            with self._explained():
                table.update_incremental()
            if table.version() == last:
                yield None
                if commit_of(files, last) != seen:  # the library would not notice
                    self._require_still(known, last)
                    seen = commit_of(files, last)
                continue
            for version in range(last + 1, table.version() + 1):
                table = self._at(table, version)
                yield from self._rows(table, NEW)
            seen = commit_of(files, table.version())

    def _require_still(self, known: str, last: int) -> None:
        """Refuse another table, or none, in the place of the one that was read up to a version."""
        newest = self.loaded()
        self._require_same(newest, known, last)
        if newest.version() < last:
            raise CannotResume(
                f"{CONNECTOR}: {self._place} has versions up to {newest.version()} only, and "
                f"{last} was read; {ANEW}"
            )

    def loaded(self, version: int | None = None) -> DeltaTable:
        """The table, or an error if there is none or not this version."""
        with self._explained():
            newest = self._place.load()
        if newest is None:
            raise FileNotFoundError(f"{CONNECTOR}: there is no Delta table at {self._place}")
        if version is not None and version > newest.version():
            raise ValueError(
                f"{CONNECTOR}: {self._place} has no version {version}; the newest one is "
                f"{newest.version()}"
            )
        return newest if version is None else self._at(newest, version)

    def _at(self, table: DeltaTable, version: int) -> DeltaTable:
        """Another version of the table."""
        if table.version() == version:
            return table
        try:
            found, words = self._place.load(version), ""
        except (DeltaError, OSError) as error:
            found, words = None, f": {words_of(error)}"
        if found is None:
            raise CannotResume(
                f"{CONNECTOR}: version {version} of {self._place} cannot be read any more, its log "
                f"is gone{words}; {ANEW}"
            )
        return found

    def _require_same(self, table: DeltaTable, known: str, version: int) -> None:
        if str(table.metadata().id) != known:
            raise CannotResume(
                f"{CONNECTOR}: {self._place} is another table than the one that was read: it was "
                f"made anew; {ANEW}"
            )
        if self._version is not None and not self._follow and version != self._version:
            raise CannotResume(
                f"{CONNECTOR}: the checkpoint stands in version {version} of {self._place}, and "
                f"version={self._version} is asked for; keep that one, or name another checkpoint"
            )

    def _rows(
        self, table: DeltaTable, part: str, last: str = "", given: int = 0
    ) -> Iterator[PlacedBatch]:
        """The rows of all files, or of those that are new in this version, after a place."""
        self._require_names(table)
        with self._explained():
            dataset = table.to_pyarrow_dataset()
            fragments = {each.path: each for each in dataset.get_fragments()}
        files = files_of(table) if part == ALL else self._new_files(table, dataset.filesystem)
        for file in self._after(files, last, table):
            place = [str(table.metadata().id), table.version(), part, file.path]
            fragment = fragments[unquote(file.path)]  # the log has names as in an address
            for batch in self._read(fragment, dataset.schema, file, table, given):
                yield PlacedBatch(place, *batch).after(given)
            given = 0

    def _require_names(self, table: DeltaTable) -> None:
        """Refuse column mapping, with which the library would give None for each value."""
        if table.metadata().configuration.get(MAPPING, "none") != "none":
            raise ValueError(
                f"{CONNECTOR}: {self._place} uses what the library cannot read: its columns have "
                f"other names in its files ({MAPPING})"
            )

    def _after(self, files: list[DeltaFile], last: str, table: DeltaTable) -> list[DeltaFile]:
        """The files from that one on in which the checkpoint stands, if one is known."""
        if not last:
            return files
        paths = [each.path for each in files]
        if last not in paths:
            raise CannotResume(
                f"{CONNECTOR}: version {table.version()} of {self._place} has no file {last}, in "
                f"which the checkpoint stands; {ANEW}"
            )
        return files[paths.index(last) :]

    def _read(
        self, fragment: Fragment, schema: pyarrow.Schema, file: DeltaFile, table: DeltaTable,
        given: int,
    ) -> Iterator[tuple[int, pyarrow.RecordBatch]]:  # fmt: skip
        """The batches of a file, with the rows before them, one row group after the other."""
        self._require_file(fragment, file, table)
        before = 0
        with self._explained(f"the file {file.path}: "):
            for group in fragment.split_by_row_group():
                rows = group.count_rows()
                if before + rows > given:
                    start = before
                    for batch in group.to_batches(
                        schema, batch_size=BATCH_ROWS, batch_readahead=1, use_threads=False
                    ):
                        yield start, batch
                        start += batch.num_rows
                before += rows

    def _new_files(self, table: DeltaTable, store: FileSystem) -> list[DeltaFile]:
        """Those that a version has added, by its commit; one that took rows away is refused."""
        version = table.version()
        try:
            with store.open_input_file(f"_delta_log/{version:020}.json") as file:
                actions = [json.loads(line) for line in file.read().splitlines()]
        except FileNotFoundError:
            raise CannotResume(
                f"{CONNECTOR}: version {version} of {self._place} cannot be followed any more, its "
                f"log is gone; {ANEW}"
            ) from None
        if any(each["remove"].get("dataChange", True) for each in actions if "remove" in each):
            info: dict[str, Any] = next(
                (each["commitInfo"] for each in actions if "commitInfo" in each), {}
            )
            raise ValueError(
                f"{CONNECTOR}: version {version} of {self._place} "
                f"({info.get('operation', 'not known')}) has removed or rewritten rows, and only "
                "additions can be followed; read the table anew, under another checkpoint"
            )
        added = [each["add"] for each in actions if "add" in each]
        return sorted(
            DeltaFile(each["modificationTime"], each["path"], each["size"])
            for each in added
            if each.get("dataChange", True)  # else OPTIMIZE has put rows together
        )

    def _require_file(self, fragment: Fragment, file: DeltaFile, table: DeltaTable) -> None:
        """Refuse a file that is not the one of the log."""
        with self._explained():
            found = fragment.filesystem.get_file_info(fragment.path)
        where = f"{CONNECTOR}: version {table.version()} of {self._place} cannot be read any more"
        if not found.is_file:
            raise FileNotFoundError(f"{where}: its file {file.path} is gone, as after VACUUM")
        if found.size != file.size:
            raise ValueError(
                f"{where}: its file {file.path} was rewritten: it has {found.size:,} bytes, and "
                f"{file.size:,} by the log"
            )

    @contextmanager
    def _explained(self, where: str = "") -> Iterator[None]:
        try:
            yield
        except DeltaProtocolError as error:
            raise ValueError(
                f"{CONNECTOR}: {self._place} uses what the library cannot read: {words_of(error)}"
            ) from None
        except (DeltaError, pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{CONNECTOR}: {self._place}: {where}{words_of(error)}") from None


def commit_of(files: FileSystem, version: int) -> tuple[int, int] | None:
    """What tells the commit of a version from that of another table; none if it is gone."""
    try:
        found = files.get_file_info(f"_delta_log/{version:020}.json")
    except OSError:
        return None
    return (found.size, found.mtime_ns) if found.is_file else None


def files_of(table: DeltaTable) -> list[DeltaFile]:
    """The files of a version, in the order in which they were written."""
    actions = pyarrow.table(table.get_add_actions()).select(
        ["modification_time", "path", "size_bytes"]
    )
    rows = zip(*(column.to_pylist() for column in actions.columns), strict=True)
    return sorted(DeltaFile(*row) for row in rows)
