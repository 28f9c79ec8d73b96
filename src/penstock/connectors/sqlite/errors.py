"""What the errors of SQLite mean to somebody who writes into a table."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

from penstock.connectors.shared.full_disk import no_space_for
from penstock.delivery import DeliveryRefused

__all__ = ["WrittenTable", "code_of"]

CHANGED: Final = re.compile("no such (table|column)|has no column named")
LOCKED: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
CLOSED: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def code_of(error: Exception) -> int:
    """SQLite's number for it; 0 if it comes from Python's module."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


class WrittenTable(NamedTuple):
    """Where an error came from: the connector, the file, what the table is called, the patience."""

    connector: str
    path: Path
    name: str
    timeout: float

    def explanation(self, error: sqlite3.Error, *, staged: bool = False) -> Exception:
        """One line that names the file; ``staged`` if rows went into a temporary table."""
        code = code_of(error)
        if code in LOCKED:
            return TimeoutError(
                f"{self.connector}: another program has been writing into {self.path} for "
                f"{self.timeout:g} s; stop that one, or give a longer timeout"
            )
        if code == sqlite3.SQLITE_NOTADB:
            return DeliveryRefused(f"{self.connector}: {self.path} is no SQLite database")
        if code in CLOSED:
            return PermissionError(
                f"{self.connector}: {self.path} cannot be written by this user: {error}"
            )
        if code == sqlite3.SQLITE_FULL:
            place = f"the temporary table of {self.path}" if staged else str(self.path)
            return no_space_for(self.connector, place, str(error))
        return self._about_rows(error)

    def _about_rows(self, error: sqlite3.Error) -> Exception:
        if CHANGED.search(str(error)):
            return DeliveryRefused(f"{self.name} cannot take the rows: {error}")
        if isinstance(error, sqlite3.IntegrityError):
            return ValueError(f"{self.connector}: {self.name} refuses a row: {error}")
        named = type(error)(f"{self.connector}: {self.name}: {error}")
        named.sqlite_errorcode = getattr(error, "sqlite_errorcode", 0)
        named.sqlite_errorname = getattr(error, "sqlite_errorname", "")
        return named
