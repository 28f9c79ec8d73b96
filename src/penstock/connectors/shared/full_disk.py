"""A full disk under a file: the error that says so, and names the file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["named", "naming_file", "no_space_for"]

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""A full disk, a quota that is used up, and a file beyond the size that this user may have."""


def no_space_for(connector: str, place: str, words: str, code: int = errno.ENOSPC) -> OSError:
    """The error; ``words`` are those of the system or the library."""
    error = OSError(f"{connector}: there is no space left for {place}: {words}")
    error.errno = code
    return error


def named(error: OSError, connector: str, path: Path) -> OSError:
    """An error of the system, which need not say which file was written, with its name."""
    code = error.errno
    if code in FULL:
        return no_space_for(connector, str(path), os.strerror(code), code)
    if code is not None and error.filename is None:
        error.filename = str(path)
    return error


@contextmanager
def naming_file(connector: str, path: Path) -> Iterator[None]:
    """Errors of the system name this file."""
    try:
        yield
    except OSError as error:
        raise named(error, connector, path) from None
