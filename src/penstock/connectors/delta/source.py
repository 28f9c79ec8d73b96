"""Tables of Delta Lake as sources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from penstock.connectors.delta.place import DeltaPlace
from penstock.connectors.delta.versions import CONNECTOR, DeltaRows
from penstock.connectors.shared.row_files import from_rows, require_end
from penstock.flow import Flow
from penstock.runtime import Clock
from penstock.runtime.arguments import (
    PathGiven,
    require_clock,
    require_flag,
    require_int,
    require_seconds,
)

__all__ = ["read_delta"]


def read_delta(
    table: PathGiven,
    *,
    version: int | None = None,
    follow: bool = False,
    until_end: bool = False,
    poll: float | timedelta = 1.0,
    batches: bool = False,
    storage_options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Flow[Any]:
    """The rows of a table of Delta Lake as dictionaries, or Arrow batches, without Spark.

    ``table`` is a folder, or the address of one in a store, for which ``storage_options`` has what
    the library ``deltalake`` needs; none of it is shown. All rows come as they are in ``version``,
    by default the newest one when the first row is wanted, whatever is written meanwhile. Files
    come in the order in which they were written.

    With ``follow`` it never ends: then come the rows that each later version has added, for which
    the log is looked at every ``poll`` seconds. A version that has deleted, changed or replaced
    rows ends it with an error; one that has only put rows into other files (OPTIMIZE) adds none.
    With ``until_end`` it completes where there is no later one: a job that runs now and then takes
    what was added since the last time, if it has a checkpoint.

    A pipeline goes on after a restart with the next row, in the version that it was reading.

    Emits when: a row is wanted and one is there.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the last row of the version was given; if it follows, as ``until_end`` says.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact. One row group is held at a time.

    Replay: position, the version, the file and the row.

    Errors: ``FileNotFoundError`` for a file of the version that is gone, as after VACUUM;
    ``ValueError`` for a version whose log is gone, a file that was rewritten, a table that was made
    anew, a version that cannot be followed, and for what the library cannot read, such as deletion
    vectors and column mapping. At once, for a folder: ``FileNotFoundError`` if it is no table,
    ``ValueError`` for a version that there is not. At once: ``TypeError`` and ``ValueError`` for
    arguments that cannot be used.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import read_delta, write_delta
        >>> with TemporaryDirectory() as place:
        ...     table = Path(place, "flights")
        ...     Flow.of({"delay": 12}, {"delay": -3}).subscribe(writer := write_delta(table))
        ...     _ = writer.wait()
        ...     read_delta(table).to_list().run_sync()
        [{'delay': 12}, {'delay': -3}]
    """
    place = DeltaPlace.checked(CONNECTOR, table, storage_options)
    if version is not None:
        require_int(CONNECTOR, "version", version, least=0)
    ends = require_end(CONNECTOR, follow=follow, until_end=until_end)
    rows = DeltaRows(place, version, follow=follow)
    if place.folder is not None:
        rows.loaded(version)  # refuses at once
    seconds = require_seconds(CONNECTOR, "poll", poll)
    return from_rows(
        CONNECTOR,
        rows,
        batches=require_flag(CONNECTOR, "batches", batches),
        poll=seconds if follow and not ends else None,
        clock=require_clock(CONNECTOR, clock),
    )
