"""Files with one element on each line, as JSON: a source and a sink."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from penstock.connectors.files.file_start import sink_file
from penstock.connectors.files.from_file import from_file
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.shared.formats import LINE_BYTES, bounded_lines, json_text
from penstock.connectors.shared.writer import Writer
from penstock.flow import Flow
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import PathGiven, require_file, require_int

__all__ = [
    "read_json_lines",
    "value_of",
    "write_json_lines",
]

SOURCE: Final = "read_json_lines"
SINK: Final = "write_json_lines"


def read_json_lines(path: PathGiven, *, max_bytes: int = LINE_BYTES) -> Flow[Any]:
    """The values in a file that has one on each line, as JSON. Empty lines are left out.

    The file is read again for each subscriber.

    Emits when: a value is wanted and a line is left.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the file ends.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact. The end is seen with the request after the last value.

    Replay: from_start.

    Errors: ``ValueError`` with file and line for what is no JSON, or null, which is no element, and
    for a line of more than ``max_bytes``, by default 16 MiB. At once: ``FileNotFoundError``,
    ``IsADirectoryError``.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import read_json_lines
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.jsonl")
        ...     _ = path.write_text('{"delay": 12}\\n{"delay": -3}\\n')
        ...     read_json_lines(path).to_list().run_sync()
        [{'delay': 12}, {'delay': -3}]
    """
    most = require_int(SOURCE, "max_bytes", max_bytes)
    return from_file(SOURCE, JsonLinesFile(require_file(SOURCE, path), most))


class JsonLinesFile:
    """The values in a file."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes

    def __iter__(self) -> Iterator[Any]:
        with self._path.open("rb") as file:
            for number, line in bounded_lines(file, self._path, self._max_bytes):
                text = line.removeprefix(BOM_UTF8) if number == 1 else line
                if text.strip():
                    yield value_of(text, f"{self._path}, line {number}")


def value_of(line: bytes, place: str) -> Any:
    """What a line says; an error names ``place``."""
    try:
        value = json.loads(line.decode())
    except json.JSONDecodeError as error:
        column = min(error.pos, len(error.doc.rstrip("\r\n"))) + 1
        raise ValueError(f"{place}: {error.msg} at column {column}") from None
    except RecursionError:
        raise ValueError(f"{place}: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if value is None:
        raise ValueError(f"{place}: null is not an element")
    return value


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

    Demand: 16 to 1,024 elements at a time. When an element is taken, the system has it.

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
    place = sink_file(
        SINK,
        path,
        append=append,
        overwrite=overwrite,
        rotate_bytes=rotate_bytes,
        rotate_every=rotate_every,
    )
    return Writer(TextFile(place, require_callable(SINK, encode)))
