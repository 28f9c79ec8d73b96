"""Files with one element on each line, as JSON, as sinks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from penstock.connectors.files.file_start import sink_file
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.shared.formats import json_text
from penstock.connectors.shared.writer import Writer
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import PathGiven

__all__ = ["write_json_lines"]


def write_json_lines(
    path: PathGiven,
    *,
    append: bool = False,
    overwrite: bool = False,
    rotate_bytes: int | None = None,
    rotate_every: float | timedelta | None = None,
    encode: Callable[[Any], str] = json_text,
) -> Writer:
    """A subscriber that writes a file with one element on each line, as JSON.

    A file that is there already is refused, unless ``append`` goes on after its last line or
    ``overwrite`` replaces it; a restart of a checkpoint needs neither, and goes on where it was.
    ``encode`` makes JSON of an element.

    With ``rotate_bytes`` the file is renamed when it has at least so many, with ``rotate_every``
    when its first rows are so many seconds old: to ``flights.000001.jsonl``,
    ``flights.000002.jsonl`` and so on. That happens between two batches, or where there are none
    between two rows, when some were written.

    Demand: 16 elements at a time. When an element is taken, the system has it.

    Delivery: exactly once, with a checkpoint. A record beside the file, ``flights.jsonl.delivery``,
    says up to where it counts; what a crash leaves after that is cut off.

    Errors: what ``encode`` raises, ``FileExistsError``, ``DeliveryRefused`` if somebody else writes
    or has changed the file, or a file has the name that a rotated one is to get, and ``OSError`` of
    the disk, cancel the stream, go to the hook for undelivered errors, and stay in ``error``. At
    once: ``FileNotFoundError`` if there is no such folder, ``IsADirectoryError``, ``ValueError``
    for ``append`` and ``overwrite`` together.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import write_json_lines
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.jsonl")
        ...     Flow.of({"delay": 12}, {"delay": -3}).subscribe(writer := write_json_lines(path))
        ...     _ = writer.wait()
        ...     path.read_text()
        '{"delay": 12}\\n{"delay": -3}\\n'
    """
    name = "write_json_lines"
    place = sink_file(
        name,
        path,
        append=append,
        overwrite=overwrite,
        rotate_bytes=rotate_bytes,
        rotate_every=rotate_every,
    )
    encoded = require_callable(name, encode)
    return Writer(TextFile(place, lambda element: f"{encoded(element)}\n"))
