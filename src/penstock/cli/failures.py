"""Errors on the command line: one clear line; the traceback only with ``--debug``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from penstock.observe.dashboard import DashboardUnavailable
from penstock.pipeline import AssemblyError, SettingsError
from penstock.runtime import printable

__all__ = ["BadInput", "explained", "in_words", "show_traceback"]

SENTENCES: Final = (AssemblyError, SettingsError, DashboardUnavailable)
"""Errors whose text is meant for the user as it is."""


class BadInput(click.ClickException):
    """One sentence on stderr, without the usage of the command."""

    exit_code = 2


@contextmanager
def explained(debug: bool) -> Iterator[None]:
    """Turn errors that the user can fix into one line."""
    try:
        yield
    except BadInput as bad:
        show_traceback(bad.__cause__, debug)
        raise
    except (*SENTENCES, ValueError, TypeError, OSError) as error:
        show_traceback(error, debug)
        raise BadInput(in_words(error)) from None


def show_traceback(error: BaseException | None, debug: bool) -> None:
    """Print the traceback if the user asked for it."""
    if debug and error is not None:
        import traceback

        sys.stderr.write(printable("".join(traceback.format_exception(error)), lines=True))


def in_words(error: BaseException) -> str:
    """An error and its notes, in one paragraph; what is foreign in it commands no terminal."""
    text = str(error) if isinstance(error, SENTENCES) else named(error)
    return printable("\n  ".join([text, *getattr(error, "__notes__", ())]), lines=True)


def named(error: BaseException) -> str:
    """The message with the name of its class, which often says half of it."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
