"""A Delta table that has each row once, over kills and restarts of a checkpoint.

The mark is two application transactions of the commit that has the rows: under the name of the
pipeline the number of the batch, and under that name with ``.run`` the start that has written it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from penstock.arrow.leaf_types import family_of
from penstock.connectors.delta.place import LOG, DeltaPlace, words_of
from penstock.connectors.shared.durable_files import require_writable
from penstock.connectors.shared.lake_table import LakeTable, MarkChanged
from penstock.delivery import DeliveryRefused
from penstock.runtime.shown_text import shown_words

__all__ = ["CONNECTOR", "DeltaSink"]

CONNECTOR: Final = "write_delta"
NULLS: Final = ("", "__HIVE_DEFAULT_PARTITION__")
"""Texts that Delta takes for null where they are values of a partition."""
RUN: Final = ".run"
RUN_BYTES: Final = 8
SYSTEM: Final = "(os error "
"""How the library writes the errors of the disk."""
SIGNED: Final = {
    pyarrow.uint8(): pyarrow.int16(),
    pyarrow.uint16(): pyarrow.int32(),
    pyarrow.uint32(): pyarrow.int64(),
    pyarrow.uint64(): pyarrow.int64(),
}


class DeltaSink(LakeTable):
    """Adds rows to a Delta table, made with the first ones if it is not there."""

    def __init__(
        self,
        place: DeltaPlace,
        schema: pyarrow.Schema | None,
        *,
        partition_by: list[str],
        mark_name: str,
        commit_rows: int,
    ) -> None:
        self._place = place
        self._partition_by = partition_by
        self._mark_name = mark_name
        self._table: DeltaTable | None = None
        super().__init__(CONNECTOR, f"the Delta table {place}", schema, commit_rows=commit_rows)

    def load(self, *, check: bool = False) -> pyarrow.Schema | None:
        """The newest version; a folder with other files is refused."""
        try:
            if self._table is None or self._place.is_gone:
                self._table = self._place.load()
            else:
                self._table.update_incremental()
        except (DeltaError, OSError) as error:
            raise DeliveryRefused(f"{self.name} cannot be read: {words_of(error)}") from None
        if self._table is None:
            self._require_room()
            return None
        self._require_partitions(self._table)
        return pyarrow.schema(self._table.schema())

    def unload(self) -> None:
        """Keep no version."""
        self._table = None

    def load_mark(self) -> str | None:
        """The two numbers, as a mark."""
        if self._table is None:
            return None
        try:
            batch = self._table.transaction_version(self._mark_name)
            run = self._table.transaction_version(self._mark_name + RUN)
        except (DeltaError, OSError) as error:
            raise DeliveryRefused(f"{self.name} cannot be read: {words_of(error)}") from None
        if batch is None or run is None:
            return None
        return json.dumps({"run": run.to_bytes(RUN_BYTES, signed=True).hex(), "batch": batch})

    def store(self, rows: pyarrow.Table, mark: str | None, known: str | None) -> None:
        """One commit; the library refuses one whose application has committed meanwhile.

        It does so only upon a version that was loaded: a table is made first, without rows.
        """
        self._require_partition_values(rows)
        transactions = [] if mark is None else transactions_of(self._mark_name, mark)
        try:
            with self._explained():
                if self._table is None:
                    self._table = self._made(rows.schema)
                    self._require_mark(known, mark)
                write_deltalake(
                    self._table,
                    rows.combine_chunks(),  # of several chunks the library mixes the order
                    mode="append",
                    commit_properties=CommitProperties(app_transactions=transactions),
                )
        except CommitFailedError as error:
            self.unload()
            self.load()
            self._require_mark(known, mark)
            raise OSError(f"{CONNECTOR}: {self._place}: {words_of(error)}") from None

    def stored_schema(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """Delta has fewer types than Arrow."""
        try:
            plain = pyarrow.schema([field.with_type(plain_type(field.type)) for field in schema])
            # Only as text it has forgotten the types of Arrow.
            return pyarrow.schema(Schema.from_json(Schema.from_arrow(plain).to_json()))
        except Exception as error:  # of the class Exception itself
            raise ValueError(
                f"{CONNECTOR}: Delta Lake has no type for one of the columns {schema_words(schema)}"
                f": {words_of(error)}"
            ) from None

    def _made(self, schema: pyarrow.Schema) -> DeltaTable:
        """A new table; or the one that somebody else has made at the same time."""
        try:
            DeltaTable.create(
                self._place.uri,
                schema,
                partition_by=self._partition_by or None,
                storage_options=self._place.options or None,
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except Exception:
            if self._place.load() is None:
                raise
        made = self._place.load()
        assert made is not None
        return made

    def _require_mark(self, known: str | None, mark: str | None) -> None:
        """Without a mark of our own, it is nobody's rival."""
        if mark is not None and self.load_mark() != known:
            raise MarkChanged

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain what the library raises, some of it without a class of its own."""
        try:
            yield
        except (CommitFailedError, MarkChanged):
            raise
        except OSError as error:
            raise OSError(f"{CONNECTOR}: {self._place}: {words_of(error)}") from None
        except Exception as error:
            if SYSTEM in str(error):
                raise OSError(f"{CONNECTOR}: {self._place}: {words_of(error)}") from None
            words = shown_words(type(error).__name__, words_of(error))
            raise ValueError(f"{CONNECTOR}: {self._place}: {words}") from None

    def _require_room(self) -> None:
        folder = self._place.folder
        if folder is None:
            return
        if not folder.is_dir():
            require_writable(CONNECTOR, folder.parent)
            return
        require_writable(CONNECTOR, folder)
        others = sorted(path.name for path in folder.iterdir())
        if others not in ([], [LOG]):  # somebody may be about to make the first version
            raise DeliveryRefused(
                f"{CONNECTOR}: the folder {folder} holds {others[0]} and is no Delta table; give "
                "one that is empty, or another name"
            )

    def _require_partitions(self, table: DeltaTable) -> None:
        there = partitions_of(table)
        if self._partition_by and self._partition_by != there:
            raise DeliveryRefused(
                f"{self.name} is partitioned by {', '.join(there) or 'nothing'}, and not by "
                f"{', '.join(self._partition_by)}; leave partition_by out, or give another table"
            )

    def _require_partition_values(self, rows: pyarrow.Table) -> None:
        """Refuse what Delta has no text for, as which it keeps the values of partitions."""
        for name in self._partition_by if self._table is None else partitions_of(self._table):
            column = rows.column(name)
            family = family_of(column.type)
            if family == "bytes":
                raise ValueError(
                    f"{self.connector}: {self._place}: {name} has bytes, and a partition of Delta "
                    "has a text; give another column to partition by"
                )
            if family == "text":
                for text in NULLS:
                    if pc.any(pc.equal(column, text)).as_py():
                        raise ValueError(
                            f"{self.connector}: {self._place}: {name} cannot be {text!r}, since "
                            "Delta takes that for null in a column to partition by"
                        )
            if family == "decimal" and pc.any(pc.less(column, 0)).as_py():
                raise ValueError(
                    f"{self.connector}: {self._place}: {name} cannot be less than 0: of such "
                    "decimals the library of Delta makes partitions that nobody can read"
                )


def partitions_of(table: DeltaTable) -> list[str]:
    """The columns by which a table is partitioned."""
    columns: list[str] = table.metadata().partition_columns
    return columns


def transactions_of(name: str, mark: str) -> list[Transaction]:
    """A mark as two numbers; those of a run are 16 hexadecimal digits."""
    found: Any = json.loads(mark)
    run = int.from_bytes(bytes.fromhex(found["run"]), signed=True)
    return [Transaction(name, found["batch"], None), Transaction(name + RUN, run, None)]


def plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """What any reader of Delta has: moments in microseconds, and whole numbers with a sign."""
    if pyarrow.types.is_timestamp(kind):
        return pyarrow.timestamp("us", "UTC" if kind.tz else None)
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([each.with_type(plain_type(each.type)) for each in kind])
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        return pyarrow.list_(kind.value_field.with_type(plain_type(kind.value_type)))
    return SIGNED.get(kind, kind)


def schema_words(schema: pyarrow.Schema) -> str:
    """Its columns and their types."""
    return ", ".join(f"{field.name} {field.type}" for field in schema)
