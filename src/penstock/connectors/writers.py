"""Files and standard output as sinks."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final, TextIO

from penstock.connectors.arguments import PathGiven, require_path, require_texts
from penstock.connectors.json_text import json_text
from penstock.demand import COMPLETED, shorten
from penstock.flow.arguments import require_callable, require_flag
from penstock.reference import AsyncSubscriber
from penstock.runtime import ThreadPool

__all__ = ["Writer", "write_csv", "write_json_lines", "write_standard_output"]

PREFETCH: Final = 16
"""So many elements are on their way to a file."""


def write_json_lines(
    path: PathGiven, *, append: bool = False, encode: Callable[[Any], str] = json_text
) -> Writer:
    """A subscriber that writes a file with one element on each line, as JSON.

    The file is made anew, or goes on if ``append`` is set. ``encode`` makes JSON of an element.

    Demand: 16 elements at a time. When an element is taken, the system has it.

    Errors: what ``encode`` raises, and ``OSError`` of the disk, cancel the stream, go to the hook
    for undelivered errors, and stay in ``error``. At once: ``FileNotFoundError`` if there is no
    such folder, ``IsADirectoryError``.

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
    open_file = opener(name, path, append=append)
    encoded = require_callable(name, encode)
    return Writer(lambda element: f"{encoded(element)}\n", open_file)


def write_csv(path: PathGiven, columns: Iterable[str], *, append: bool = False) -> Writer:
    """A subscriber that writes a CSV file: a line with the names of ``columns``, then elements.

    Elements are mappings, named tuples or dataclasses with these names, or plain tuples of that
    length. ``None`` is an empty field. The file is made anew, or goes on if ``append`` is set, and
    then the names are written only if it is empty.

    Demand: 16 elements at a time. When an element is taken, the system has it.

    Errors: ``ValueError`` for an element with other columns, and ``OSError`` of the disk, cancel
    the stream, go to the hook for undelivered errors, and stay in ``error``. At once:
    ``FileNotFoundError`` if there is no such folder, ``IsADirectoryError``, ``ValueError`` without
    columns.

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
    names = require_texts(name, "columns", columns)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{name}: columns must be different names, at least one, not {names}")
    open_file = opener(name, path, append=append)
    return Writer(partial(csv_line, names), open_file, head=csv_text(names))


def write_standard_output(encode: Callable[[Any], str] = json_text) -> Writer:
    """A subscriber that writes each element on a line of standard output, as JSON.

    ``encode=str`` writes texts as they are. When nobody reads standard output any more, as after
    ``| head``, the stream is cancelled, and that is no error.

    Demand: 16 elements at a time. When an element is taken, the system has it.

    Errors: what ``encode`` raises, and ``OSError`` other than that, cancel the stream, go to the
    hook for undelivered errors, and stay in ``error``.

    Example:
        >>> from penstock.connectors import write_standard_output
        >>> writer = write_standard_output(str)
        >>> Flow.of("JFK", "EWR").subscribe(writer)  # doctest: +SKIP
        JFK
        EWR
    """
    encoded = require_callable("write_standard_output", encode)
    return Writer(lambda element: f"{encoded(element)}\n", lambda: sys.stdout)


class Writer(AsyncSubscriber[Any]):
    """Writes elements on a thread of its own; ``wait`` returns when all is written.

    Called with an element, it writes that at once, on the thread of the caller: so a ``Pipeline``
    uses it, and an element counts as delivered only when the system has it.

    ``error``  why not all was written, if so
    """

    def __init__(
        self, text_of: Callable[[Any], str], open_file: Callable[[], TextIO], *, head: str = ""
    ) -> None:
        self._pool = ThreadPool(name="penstock-writer")
        super().__init__(self._pool, prefetch=PREFETCH)
        self._text_of = text_of
        self._open_file = open_file
        self._head = head
        self._file: TextIO | None = None
        self.error: Exception | None = None

    def __call__(self, element: Any) -> None:
        """Write ``element``; when this returns, the system has it."""
        text = self._text_of(element)
        file = self._opened()
        try:
            file.write(text)
            file.flush()
        except BrokenPipeError:
            silence(file)
            raise

    def close(self) -> None:
        """Close the file, which is made if there was no element."""
        self._opened()
        self._close()

    def receive(self, element: Any) -> bool:
        """Write ``element``; if nobody reads any more, that is the end."""
        try:
            self(element)
        except BrokenPipeError:
            return False
        return True

    def failed(self, error: Exception) -> None:
        """Keep the error, and report it."""
        self.error = error
        super().failed(error)

    def _opened(self) -> TextIO:
        if self._file is None:
            self._file = self._open_file()
            if self._head and self._file.tell() == 0:
                self._file.write(self._head)
        return self._file

    def _finish(self, ending: Exception | None) -> None:
        try:
            if ending is COMPLETED:
                self._opened()  # without any element, too
            self._close()
        except Exception as error:
            ending = error if ending is None or ending is COMPLETED else ending
        super()._finish(ending)
        self._pool.close(wait=False)

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None and file is not sys.stdout:
            file.close()


def silence(file: TextIO) -> None:
    """Let what is left of a file whose reader is gone go nowhere, also when it is closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file.fileno())
    os.close(nowhere)


def opener(name: str, path: PathGiven, *, append: bool) -> Callable[[], TextIO]:
    """What opens the file, later; its folder must be there now."""
    file = require_path(name, path)
    mode = "a" if require_flag(name, "append", append) else "w"
    if not file.parent.is_dir():
        raise FileNotFoundError(f"{name}: there is no folder {file.parent} for {file.name}")
    return partial(open_text, file, mode)


def open_text(path: Path, mode: str) -> TextIO:
    """A file whose lines end as they are written."""
    file: Any = path.open(mode, encoding="utf-8", newline="")
    opened: TextIO = file
    return opened


def csv_line(columns: list[str], element: Any) -> str:
    """An element as a line, when it has these columns."""
    named = by_name(element)
    if named is None:
        if not isinstance(element, tuple | list) or len(element) != len(columns):
            raise ValueError(
                f"write_csv: an element has {', '.join(columns)}, not so {shorten(element)}"
            )
        return csv_text(element)
    if set(named) != set(columns):
        raise ValueError(
            f"write_csv: the columns are {', '.join(columns)}, "
            f"but an element has {', '.join(map(str, named))}"
        )
    return csv_text([named[column] for column in columns])


def by_name(element: Any) -> Mapping[str, Any] | None:
    """The fields of an element, if they have names."""
    if isinstance(element, Mapping):
        return element
    if is_dataclass(element) and not isinstance(element, type):
        return {field.name: getattr(element, field.name) for field in fields(element)}
    as_dict = getattr(element, "_asdict", None)
    return None if as_dict is None else as_dict()


def csv_text(values: Iterable[Any]) -> str:
    """Values as a line."""
    text = StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue()
