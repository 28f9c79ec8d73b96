"""Databases of DuckDB: how they are opened, who else has them, what their errors mean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import duckdb

from penstock.connectors.shared.query_reading import Busy
from penstock.runtime import printable

__all__ = ["explanation", "opened", "still_open", "words_of"]

OTHER_WAY: Final = "different configuration"
OURSELVES: Final = ", which is this one: it reads with read_only=True"
ABSENT: Final = re.compile("not found|does not have a column")
UNWRITTEN: Final = "Could not write file"
HOLDER: Final = re.compile(r"held in (.+? \(PID \d+\))")


def opened(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """A connection; ``Busy``, with who it is, if another program has the file.

    DuckDB has one instance for each file in a program. One that this program writes already is read
    through it; one that it only reads has to be let go of before it is written.
    """
    try:
        return duckdb.connect(str(path), read_only=read_only)
    except duckdb.ConnectionException as error:
        if OTHER_WAY not in str(error):
            raise
        if not read_only:
            raise Busy(OURSELVES) from error
        return duckdb.connect(str(path))
    except duckdb.IOException as error:
        if "lock" not in str(error):
            raise
        found = HOLDER.search(str(error))
        raise Busy(f", {printable(found[1])}" if found else "") from error


def still_open(connector: str, path: Path, seconds: float, busy: Busy) -> str:
    """That another program has not let go of the file, and which one."""
    return (
        f"{connector}: a program has kept {path} open for {seconds:g} s{busy}; stop that one, or "
        "give a longer timeout"
    )


def words_of(error: Exception) -> str:
    """What DuckDB says, without the lines that show the statement, in one line."""
    said = str(error).partition("\n\nLINE ")[0]
    return printable(" ".join(said.split()))


def explanation(connector: str, path: Path, error: Exception) -> Exception:
    """An error in one line, by what can be done about it."""
    words = f"{connector}: {path}: {words_of(error)}"
    if isinstance(error, duckdb.CatalogException):
        return LookupError(words)
    if isinstance(error, duckdb.BinderException) and ABSENT.search(str(error)):
        return LookupError(words)
    if isinstance(error, duckdb.IOException) or UNWRITTEN in str(error):
        if "not a valid DuckDB" in str(error):
            return ValueError(f"{connector}: {path} is no DuckDB database")
        if "Permission denied" in str(error):
            return PermissionError(words)
        return OSError(words)
    return ValueError(words)
