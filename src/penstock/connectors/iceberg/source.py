"""Tables of Iceberg as sources."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.connectors.iceberg.catalog import CatalogGiven, IcebergPlace
from penstock.connectors.iceberg.snapshots import CONNECTOR, IcebergRows
from penstock.connectors.shared.row_files import from_rows, require_end
from penstock.flow import Flow
from penstock.runtime import Clock
from penstock.runtime.arguments import require_clock, require_flag, require_int, require_seconds

__all__ = ["read_iceberg"]


def read_iceberg(
    catalog: CatalogGiven,
    table: str,
    *,
    snapshot: int | None = None,
    follow: bool = False,
    until_end: bool = False,
    poll: float | timedelta = 1.0,
    batches: bool = False,
    clock: Clock | None = None,
) -> Flow[Any]:
    """The rows of a table of Apache Iceberg as dictionaries, or Arrow batches, without Spark.

    ``catalog`` is the name of one that pyiceberg has settings for, a dictionary of such settings,
    or a catalog of pyiceberg; nothing of it is shown. ``table`` is a namespace and a name in it.
    All rows come as they are in ``snapshot``, by default the newest one when the first row is
    wanted, whatever is written meanwhile. Files come in the order of their commits; in tables of
    the first version of the format, in that of their names.

    With ``follow`` it never ends: then come the rows that each later snapshot has added, for which
    the catalog is asked every ``poll`` seconds. A snapshot that has deleted, changed or replaced
    rows ends it with an error; one that has only put rows into other files adds none. With
    ``until_end`` it completes where there is no later one: a job that runs now and then takes what
    was added since the last time, if it has a checkpoint.

    A pipeline goes on after a restart with the next row, in the snapshot that it was reading.

    Emits when: a row is wanted and one is there.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the last row of the snapshot was given; if it follows, as ``until_end`` says.
    Cancels when: the subscriber does; what is ours of the catalog is closed.

    Demand: exact. One data file is held at a time, since the library reads it as a whole.

    Replay: position, the snapshot, the file and the row.

    Errors: ``FileNotFoundError`` for a table that there is not, or a file of the snapshot that is
    gone; ``ValueError`` for a snapshot that has expired, a file that was rewritten, a table that
    was made anew or rolled back, a snapshot that cannot be followed, and for what the library
    fails with. At once: ``TypeError`` and ``ValueError`` for arguments that cannot be used.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from pyiceberg.catalog.sql import SqlCatalog
        >>> from penstock.connectors import read_iceberg, write_iceberg
        >>> with TemporaryDirectory() as place:
        ...     catalog = SqlCatalog("ours", uri=f"sqlite:///{place}/ours.db", warehouse=place)
        ...     catalog.create_namespace("lake")
        ...     flights = Flow.of({"delay": 12}, {"delay": -3})
        ...     flights.subscribe(writer := write_iceberg(catalog, "lake.flights"))
        ...     _ = writer.wait()
        ...     print(read_iceberg(catalog, "lake.flights").to_list().run_sync())
        ...     catalog.close()
        [{'delay': 12}, {'delay': -3}]
    """
    place = IcebergPlace.checked(CONNECTOR, catalog, table)
    if snapshot is not None:
        require_int(CONNECTOR, "snapshot", snapshot, least=0)
    seconds = require_seconds(CONNECTOR, "poll", poll)
    ends = require_end(CONNECTOR, follow=follow, until_end=until_end)
    return from_rows(
        CONNECTOR,
        IcebergRows(place, snapshot, follow=follow),
        batches=require_flag(CONNECTOR, "batches", batches),
        poll=seconds if follow and not ends else None,
        clock=require_clock(CONNECTOR, clock),
    )
