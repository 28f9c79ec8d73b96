"""CSV files: a source and a sink."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import StringIO
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, Final
from uuid import UUID

from penstock.connectors.files.file_start import sink_file
from penstock.connectors.files.from_file import from_file
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.shared.formats import (
    LINE_BYTES,
    LineTooLong,
    bounded_lines,
    length_of,
    require_columns,
)
from penstock.connectors.shared.rows import RowValues
from penstock.connectors.shared.writer import Writer
from penstock.flow import Flow
from penstock.flow.checks import require_callable
from penstock.runtime import shorten
from penstock.runtime.arguments import PathGiven, require_file, require_int
from penstock.runtime.secret_fields import is_secret
from penstock.runtime.shown_text import shown_value, shown_words

__all__ = [
    "read_csv",
    "write_csv",
]

SOURCE: Final = "read_csv"
SINK: Final = "write_csv"
LINE_END: Final = "\r\n"
FLAT: Final = frozenset({NoneType, bool, int, float, str, Decimal, date, datetime, time, UUID})
"""Classes of values that are nothing but their text."""
Types = Mapping[str, Callable[[str], Any]]
"""What makes values of the texts in a column."""


def read_csv(
    path: PathGiven, *, types: Types | None = None, max_bytes: int = LINE_BYTES
) -> Flow[dict[str, Any]]:
    """The rows of a CSV file whose first line names the columns, as dictionaries of texts.

    ``types`` turns columns into something else: ``{"delay": float}``. In those columns a field
    without a text is ``None``. The file is UTF-8, and is read again for each subscriber.

    Emits when: a row is wanted and one is left.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: the file ends.
    Cancels when: the subscriber does; the file is closed.

    Demand: exact. The end is seen with the request after the last row.

    Replay: from_start.

    Errors: ``ValueError`` with file and line for a row of another length, for a field that
    ``types`` cannot turn, and for a row of more than ``max_bytes``, by default 16 MiB, however many
    lines its quotes make of it. At once: ``FileNotFoundError``, ``IsADirectoryError``,
    ``ValueError`` for a file without a first line, or a column in ``types`` that it does not name.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.connectors import read_csv
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "flights.csv")
        ...     _ = path.write_text("origin,delay\\nJFK,12\\nEWR,\\n")
        ...     read_csv(path, types={"delay": float}).to_list().run_sync()
        [{'origin': 'JFK', 'delay': 12.0}, {'origin': 'EWR', 'delay': None}]
    """
    table = CsvFile(
        require_file(SOURCE, path),
        require_types(types),
        require_int(SOURCE, "max_bytes", max_bytes),
    )
    table.require_columns()
    return from_file(SOURCE, table)


class CsvLines:
    """The lines of a file as texts; ``number`` is that of the last one that was read.

    Those of one row have no more than ``max_bytes`` together: quotes may go over many lines.
    """

    def __init__(self, file: BinaryIO, path: Path, max_bytes: int) -> None:
        self._lines = bounded_lines(file, path, max_bytes)
        self._path = path
        self._max_bytes = max_bytes
        self._row_bytes = 0
        self.number = 0

    def end_row(self) -> None:
        """The next line is the first one of another row."""
        self._row_bytes = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number = number
            if self._row_bytes + length_of(line) > self._max_bytes:
                raise LineTooLong(f"{self._path}, line {number}", self._max_bytes, "row")
            self._row_bytes += len(line)
            yield line.decode("utf-8-sig" if self.number == 1 else "utf-8")


class CsvFile:
    """The rows of a file; the functions of ``types`` are called on the thread of the run."""

    def __init__(self, path: Path, types: Types, max_bytes: int) -> None:
        self._path = path
        self._types = types
        self._max_bytes = max_bytes

    def require_columns(self) -> None:
        """Raise ``ValueError`` unless the first line names all columns that there are types for."""
        with self._path.open("rb") as file:
            columns = next(csv.reader(self._lines(file), strict=True), [])
        if not columns:
            raise ValueError(f"{SOURCE}: {self._path} has no first line that names its columns")
        if len(set(columns)) != len(columns):
            raise ValueError(f"{SOURCE}: {self._path} names a column twice in {', '.join(columns)}")
        for name in self._types:
            if name not in columns:
                raise ValueError(
                    f"{SOURCE}: types has {name!r}, but the columns of {self._path} are "
                    f"{', '.join(columns)}"
                )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as file:
            lines = self._lines(file)
            rows = csv.reader(lines, strict=True)
            try:
                columns = next(rows, [])
                lines.end_row()
                for fields in rows:
                    lines.end_row()
                    if fields:  # an empty line has none
                        yield self._row(columns, fields)
            except LineTooLong:
                raise
            except (csv.Error, ValueError) as error:
                raise ValueError(f"{self._path}, line {lines.number}: {error}") from error

    def _lines(self, file: BinaryIO) -> CsvLines:
        return CsvLines(file, self._path, self._max_bytes)

    def _row(self, columns: list[str], fields: list[str]) -> dict[str, Any]:
        if len(fields) != len(columns):
            raise ValueError(f"{len(fields)} fields, but there are {len(columns)} columns")
        row: dict[str, Any] = dict(zip(columns, fields, strict=True))
        for name, turn in self._types.items():
            row[name] = turned(name, row[name], turn)
        return row


def turned(name: str, text: str, turn: Callable[[str], Any]) -> Any:
    """What a field says."""
    if not text:
        return None
    try:
        return turn(text)
    except Exception as error:
        words = shown_words(type(error).__name__, str(error), name)
        cause = None if is_secret(name) else error  # a traceback would show it as well
        raise ValueError(f"{name} is {shown_value(name, text)}: {words}") from cause


def is_for_python(value: Any) -> bool:
    """Whether its text would be one that only Python reads."""
    if isinstance(value, str):
        return False
    if isinstance(value, Collection) or is_dataclass(value) or callable(value):
        return True
    return str(value).startswith("<")  # as of an object that has no text of its own


def require_types(types: Types | None) -> Types:
    """``types``, when it maps names to functions."""
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise TypeError(f"{SOURCE}: types maps columns to functions, not {shorten(types)}")
    return {name: require_callable(SOURCE, turn) for name, turn in types.items()}


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
    length. ``None`` is an empty field, as an empty text is. A file that is there already is
    refused, unless ``append`` goes on after its last line, without the names, or ``overwrite``
    replaces it; a restart of a checkpoint needs neither, and goes on where it was.

    With ``rotate_bytes`` the file is renamed when it has at least so many, with ``rotate_every``
    when its first rows are so many seconds old: to ``flights.000001.csv``, ``flights.000002.csv``
    and so on, each of which begins with the names. That happens between two batches, or where there
    are none between two rows, when some were written.

    Demand: 16 to 1,024 elements at a time. When an element is taken, the system has it.

    Delivery: exactly once, with a checkpoint. A record beside the file, ``flights.csv.delivery``,
    says up to where it counts; what a crash leaves after that is cut off.

    Errors: ``ValueError`` for an element with other columns, ``TypeError`` for bytes, lists and
    dictionaries, which have no form in CSV, ``FileExistsError``, ``DeliveryRefused`` if somebody
    else writes or has changed the file, or a file has the name that a rotated one is to get, and
    ``OSError`` of the disk, cancel the stream, go to the hook for undelivered errors, and stay in
    ``error``. At once: ``FileNotFoundError`` if there is no such folder, ``IsADirectoryError``,
    ``ValueError`` without columns, and for ``append`` and ``overwrite`` together.

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
    names = require_columns(SINK, columns)
    place = sink_file(
        SINK,
        path,
        append=append,
        overwrite=overwrite,
        rotate_bytes=rotate_bytes,
        rotate_every=rotate_every,
    )
    text = CsvText(names)
    return Writer(
        TextFile(place, text.line, lines_of=text.lines, head=text.of_row(names), line_end=LINE_END)
    )


class CsvText:
    """Makes lines of elements, which are quoted within a value. For one thread at a time."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._values = RowValues(SINK, names)
        self._text = StringIO(newline="")
        self._writer = csv.writer(self._text, lineterminator=LINE_END)

    def of_row(self, values: Iterable[Any]) -> str:
        """Values as a line, without its end."""
        self._writer.writerow(values)
        return self._taken().removesuffix(LINE_END)

    def line(self, element: Any) -> str:
        """An element as a line, without its end."""
        values = self._values(element)
        if not FLAT.issuperset(map(type, values)):
            self._require_flat(values)
        return self.of_row(values)

    def lines(self, elements: list[Any]) -> str | None:
        """Many as lines with their ends; ``None`` if that takes a look at each of them."""
        rows = self._values.of_all(elements)
        if rows is None or not FLAT.issuperset(map(type, chain.from_iterable(rows))):
            return None
        try:
            self._writer.writerows(rows)
        except ValueError:  # an integer of too many digits, and the rows before it count
            self._taken()
            return None
        return self._taken()

    def _taken(self) -> str:
        text = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return text

    def _require_flat(self, values: Iterable[Any]) -> None:
        """Refuse what would become a text that only Python reads."""
        for name, value in zip(self._names, values, strict=True):
            if is_for_python(value):
                raise TypeError(
                    f"{SINK}: {name} is {shown_value(name, value)}, which has no form in CSV; make "
                    "a text of it, or several columns"
                )
