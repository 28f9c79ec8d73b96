"""Tables of Delta Lake as sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow

from penstock.connectors.delta.place import DeltaPlace
from penstock.connectors.delta.table import CONNECTOR, DeltaSink
from penstock.connectors.shared.durable_files import require_parent
from penstock.connectors.shared.lake_table import COMMIT_ROWS, require_schema
from penstock.connectors.shared.writer import Writer
from penstock.runtime.arguments import PathGiven, require_int, require_text, require_texts

__all__ = ["write_delta"]


def write_delta(
    table: PathGiven,
    *,
    schema: pyarrow.Schema | None = None,
    partition_by: str | Iterable[str] = (),
    name: str = "penstock",
    commit_rows: int = COMMIT_ROWS,
    storage_options: Mapping[str, str] | None = None,
) -> Writer:
    """A subscriber that adds rows to a table of Delta Lake, without Spark.

    ``table`` is a folder, or the address of one in a store, such as ``s3://bucket/flights``, for
    which ``storage_options`` has what the library ``deltalake`` needs; none of it is shown. A store
    without conditional writes is not written.
    Elements are mappings, named tuples or dataclasses with the names of the columns, Arrow batches
    or tables, or, if there is a ``schema``, plain tuples. The table is made with the first rows if
    it is not there; rows that are there stay. Without a ``schema`` the types are those of the
    table, or of the first rows.

    Each batch is one commit. It says by the application transaction ``name`` which batch that was;
    two pipelines that write into one table need a ``name`` each. Others may add to the table at the
    same time. A commit that was cut off leaves files that no version has; VACUUM removes them.

    Demand: 16 to 1,024 elements at a time. A batch is held until it is complete. Without batches,
    rows are committed by ``commit_rows``, with the first one that comes a second after the last
    commit, and at the end.

    Delivery: exactly once, with a checkpoint. The rows of a batch and its number are one commit.

    Errors: ``ValueError`` for an element with other columns or types, ``DeliveryRefused`` for a
    table that has not these columns, belongs to another checkpoint or is written by a second
    pipeline of that name, and ``OSError``, cancel the stream, go to the hook for undelivered
    errors, and stay in ``error``. At once: ``FileNotFoundError`` if there is no folder for the
    folder, ``NotADirectoryError``, ``TypeError`` and ``ValueError`` for arguments that cannot be
    used.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from deltalake import DeltaTable
        >>> from penstock.connectors import write_delta
        >>> with TemporaryDirectory() as place:
        ...     table = Path(place, "flights")
        ...     Flow.of({"delay": 12}, {"delay": -3}).subscribe(writer := write_delta(table))
        ...     _ = writer.wait()
        ...     DeltaTable(table).to_pyarrow_table().to_pylist()
        [{'delay': 12}, {'delay': -3}]
    """
    place = DeltaPlace.checked(CONNECTOR, table, storage_options)
    if place.folder is not None:
        require_parent(CONNECTOR, place.folder)
    columns = [partition_by] if isinstance(partition_by, str) else partition_by
    return Writer(
        DeltaSink(
            place,
            require_schema(CONNECTOR, schema),
            partition_by=require_texts(CONNECTOR, "partition_by", columns),
            mark_name=require_text(CONNECTOR, "name", name),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
        )
    )
