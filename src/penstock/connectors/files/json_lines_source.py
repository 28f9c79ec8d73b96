"""Files of JSON lines as sources: those that are complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from penstock.connectors.files.from_file import from_file
from penstock.connectors.shared.formats import LINE_BYTES, bounded_lines
from penstock.flow import Flow
from penstock.runtime.arguments import PathGiven, require_file, require_int

__all__ = ["read_json_lines", "value_of"]

NAME: Final = "read_json_lines"


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
    most = require_int(NAME, "max_bytes", max_bytes)
    return from_file(NAME, JsonLinesFile(require_file(NAME, path), most))


class JsonLinesFile:
    """The values in a file."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes

    def __iter__(self) -> Iterator[Any]:
        with self._path.open("rb") as file:
            for number, line in bounded_lines(file, self._path, self._max_bytes):
                if line.strip():
                    yield value_of(line, f"{self._path}, line {number}")


def value_of(line: bytes, place: str) -> Any:
    """What a line says; an error names ``place``."""
    try:
        value = json.loads(line.decode())
    except json.JSONDecodeError as error:
        raise ValueError(f"{place}: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if value is None:
        raise ValueError(f"{place}: null is not an element")
    return value
