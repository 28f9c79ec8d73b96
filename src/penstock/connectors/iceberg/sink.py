"""Tables of Iceberg as sinks."""

from __future__ import annotations

import pyarrow

from penstock.connectors.iceberg.catalog import CatalogGiven, IcebergPlace
from penstock.connectors.iceberg.table import CONNECTOR, IcebergSink
from penstock.connectors.shared.lake_table import COMMIT_ROWS, require_schema
from penstock.connectors.shared.writer import Writer
from penstock.runtime.arguments import require_int, require_text

__all__ = ["write_iceberg"]


def write_iceberg(
    catalog: CatalogGiven,
    table: str,
    *,
    schema: pyarrow.Schema | None = None,
    name: str = "penstock",
    commit_rows: int = COMMIT_ROWS,
) -> Writer:
    """A subscriber that adds rows to a table of Apache Iceberg, without Spark.

    ``catalog`` is the name of one that pyiceberg has settings for, a dictionary of such settings,
    or a catalog of pyiceberg; nothing of it is shown. ``table`` is a namespace and a name in it.
    Elements are mappings, named tuples or dataclasses with the names of the columns, Arrow batches
    or tables, or, if there is a ``schema``, plain tuples. The table is made with the first rows if
    it is not there; rows that are there stay. Without a ``schema`` the types are those of the
    table, or of the first rows.

    Each batch is one commit. It says by the property ``penstock.mark`` of the table, or that of
    another ``name``, which batch that was; two pipelines that write into one table need a ``name``
    each. Others may add to the table at the same time. A commit that was cut off leaves files that
    no snapshot has; removing orphan files removes them.

    Demand: 16 to 1,024 elements at a time. A batch is held until it is complete. Without batches,
    rows are committed by ``commit_rows``, with the first one that comes a second after the last
    commit, and at the end.

    Delivery: exactly once, with a checkpoint. The rows of a batch and its number are one commit.

    Errors: ``ValueError`` for an element with other columns or types, ``DeliveryRefused`` for a
    catalog that cannot be loaded, a table that has not these columns, belongs to another checkpoint
    or is written by a second pipeline of that name, and ``OSError``, cancel the stream, go to the
    hook for undelivered errors, and stay in ``error``. At once: ``TypeError`` and ``ValueError``
    for arguments that cannot be used.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from pyiceberg.catalog.sql import SqlCatalog
        >>> from penstock.connectors import write_iceberg
        >>> with TemporaryDirectory() as place:
        ...     catalog = SqlCatalog("ours", uri=f"sqlite:///{place}/ours.db", warehouse=place)
        ...     catalog.create_namespace("lake")
        ...     flights = Flow.of({"delay": 12}, {"delay": -3})
        ...     flights.subscribe(writer := write_iceberg(catalog, "lake.flights"))
        ...     _ = writer.wait()
        ...     print(catalog.load_table("lake.flights").scan().to_arrow().to_pylist())
        ...     catalog.close()
        [{'delay': 12}, {'delay': -3}]
    """
    return Writer(
        IcebergSink(
            IcebergPlace.checked(CONNECTOR, catalog, table),
            require_schema(CONNECTOR, schema),
            mark_name=require_text(CONNECTOR, "name", name),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
        )
    )
