"""CSV files as sinks."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import timedelta
from io import StringIO
from typing import Any

from penstock.connectors.files.file_start import sink_file
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.shared.formats import require_columns, values_of
from penstock.connectors.shared.writer import Writer
from penstock.runtime.arguments import PathGiven

__all__ = ["write_csv"]


def write_csv(
    path: PathGiven,
    columns: Iterable[str],
    *,
    append: bool = False,
    overwrite: bool = False,
    rotate_bytes: int | None = None,
    rotate_every: float | timedelta | None = None,
) -> Writer:
    """A subscriber that writes a CSV file: a line with the names of ``columns``, then elements.

    Elements are mappings, named tuples or dataclasses with these names, or plain tuples of that
    length. ``None`` is an empty field. A file that is there already is refused, unless ``append``
    goes on after its last line, without the names, or ``overwrite`` replaces it; a restart of a
    checkpoint needs neither, and goes on where it was.

    With ``rotate_bytes`` the file is renamed when it has at least so many, with ``rotate_every``
    when its first rows are so many seconds old: to ``flights.000001.csv``, ``flights.000002.csv``
    and so on, each of which begins with the names. That happens between two batches, or where there
    are none between two rows, when some were written.

    Demand: 16 elements at a time. When an element is taken, the system has it.

    Delivery: exactly once, with a checkpoint. A record beside the file, ``flights.csv.delivery``,
    says up to where it counts; what a crash leaves after that is cut off.

    Errors: ``ValueError`` for an element with other columns, ``FileExistsError``,
    ``DeliveryRefused`` if somebody else writes or has changed the file, or a file has the name that
    a rotated one is to get, and ``OSError`` of the disk, cancel the stream, go to the hook for
    undelivered errors, and stay in ``error``. At once: ``FileNotFoundError`` if there is no such
    folder, ``IsADirectoryError``, ``ValueError`` without columns, and for ``append`` and
    ``overwrite`` together.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import write_csv
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.csv")
        ...     Flow.of(("JFK", 12), ("EWR", None)).subscribe(
        ...         writer := write_csv(path, ["origin", "delay"]))
        ...     _ = writer.wait()
        ...     path.read_text().split()
        ['origin,delay', 'JFK,12', 'EWR,']
    """
    name = "write_csv"
    names = require_columns(name, columns)
    place = sink_file(
        name,
        path,
        append=append,
        overwrite=overwrite,
        rotate_bytes=rotate_bytes,
        rotate_every=rotate_every,
    )
    return Writer(
        TextFile(place, lambda element: csv_text(values_of(name, names, element)), csv_text(names))
    )


def csv_text(values: Iterable[Any]) -> str:
    """Values as a line."""
    text = StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue()
