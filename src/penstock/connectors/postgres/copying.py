"""Rows on their way into a table by COPY, kept until they are committed.

So they can be sent again, by another connection, when one is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from tempfile import SpooledTemporaryFile
from typing import Any, Final

import psycopg
from psycopg.copy import Copy, LibpqWriter
from psycopg.types.composite import TupleDumper
from psycopg.types.json import JsonbDumper

from penstock.connectors.postgres.connecting import is_lost
from penstock.connectors.shared.formats import fields_of, json_text
from penstock.runtime import shorten
from penstock.runtime.shown_text import shown_words

__all__ = ["CopiedRows", "RowRefused", "shown_row"]

MEMORY_BYTES: Final = 16 << 20
"""What is kept of a batch in memory; the rest is in a temporary file."""
BLOCK_BYTES: Final = 1 << 18
LINE: Final = re.compile(r",\D*(\d+)")
"""Where the server says at which row a COPY failed, in whatever language."""


class RowRefused(ValueError):
    """A row that cannot be sent, or that the server does not take."""


class KeepingWriter(LibpqWriter):
    """Sends what is written and keeps it; after a loss, it only keeps it.

    So all rows of a batch are made into text once, whatever becomes of the connection.
    """

    def __init__(self, cursor: psycopg.Cursor[Any], kept: SpooledTemporaryFile[bytes]) -> None:
        super().__init__(cursor)
        self._kept = kept
        self.loss: psycopg.Error | None = None

    def write(self, data: Any) -> None:
        """Take the text of some rows."""
        self._kept.write(data)
        self.send(data)

    def send(self, data: Any) -> None:
        """What is kept already."""
        if self.loss is None:
            try:
                super().write(data)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
                self.loss = error

    def finish(self, exc: BaseException | None = None) -> None:
        """Wait for what the server says of all rows."""
        if self.loss is not None:
            raise self.loss
        super().finish(exc)


class StructDumper(JsonbDumper):
    """Dictionaries as JSON, with dates and all named tuples within."""

    def dump(self, obj: Any) -> bytes:
        """Its text."""
        return json_text(obj).encode()


class TupleOrStructDumper(TupleDumper):
    """Named tuples as JSON, such as the structs of Spark; other tuples as composite values."""

    def dump(self, obj: tuple[Any, ...]) -> Any:
        """Its text."""
        return super().dump(obj) if fields_of(obj) is None else json_text(obj).encode()


class CopiedRows:
    """The rows of one transaction."""

    def __init__(self) -> None:
        self._kept: SpooledTemporaryFile[bytes] | None = None
        self._ending: AbstractContextManager[Copy] | None = None
        self._copy: Copy | None = None

    @property
    def is_started(self) -> bool:
        """Whether rows can be written."""
        return self._copy is not None

    def start(self, connection: psycopg.Connection[Any], statement: str) -> None:
        """Begin to copy, with the rows that were kept."""
        connection.adapters.register_dumper(dict, StructDumper)
        connection.adapters.register_dumper(tuple, TupleOrStructDumper)
        cursor = connection.cursor()
        kept = self._kept = self._kept or nothing_kept()
        writer = KeepingWriter(cursor, kept)
        ending = cursor.copy(statement, writer=writer)
        self._copy, self._ending = ending.__enter__(), ending
        kept.seek(0)
        while block := kept.read(BLOCK_BYTES):
            writer.send(block)

    def write(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add rows; a connection that is lost is noticed by ``finish``."""
        assert self._copy is not None
        write = self._copy.write_row
        row: Sequence[Any] = ()
        try:
            for row in rows:
                write(row)
        except psycopg.Error as error:
            if error.sqlstate is not None:
                raise
            raise RowRefused(unwritable(columns, row, error)) from None
        except (UnicodeError, ValueError, TypeError, OverflowError) as error:
            raise RowRefused(unwritable(columns, row, error)) from None

    def finish(self) -> None:
        """All rows were written: raises what the server has against them."""
        ending, self._ending, self._copy = self._ending, None, None
        if ending is not None:
            ending.__exit__(None, None, None)

    def abandon(self) -> None:
        """The server need not answer any more."""
        ending, self._ending, self._copy = self._ending, None, None
        if ending is not None:
            with suppress(Exception):
                ending.__exit__(None, None, None)

    def clear(self) -> None:
        """Forget all rows."""
        self.abandon()
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def refused(self, columns: Sequence[str], error: psycopg.Error) -> str:
        """The row at which a COPY failed, if the server says which."""
        found = LINE.search(error.diag.context or "")
        if found is None or self._kept is None:
            return ""
        self._kept.seek(0)
        for number, line in enumerate(self._kept, 1):
            if number == int(found[1]):
                values = line.decode(errors="replace").rstrip("\n").split("\t")
                return f"; the row is {shown_row(columns, values)}"
        return ""


def nothing_kept() -> SpooledTemporaryFile[bytes]:
    """A place for what is kept."""
    return SpooledTemporaryFile(max_size=MEMORY_BYTES)


def unwritable(columns: Sequence[str], row: Sequence[Any], error: Exception) -> str:
    """Why a row cannot be sent."""
    words = shown_words(type(error).__name__, " ".join(str(error).split()))
    return f"a value has no form in PostgreSQL: {words}; the row is {shown_row(columns, row)}"


def shown_row(columns: Sequence[str], row: Sequence[Any]) -> str:
    """A row as messages show it."""
    return shorten(dict(zip(columns, row, strict=False)))
