"""The command line: ``penstock``. Its commands live in one module each, loaded when called."""

from __future__ import annotations

import atexit
import signal
import sys
from types import FrameType
from typing import Final

__all__ = ["main"]

STOP: Final = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Run the command line, or say what to install where its libraries are missing."""
    atexit.register(ignore_signals)  # the first one is the last that is called
    try:
        from penstock.cli.application import application

        application(prog_name="penstock")
    except ModuleNotFoundError as missing:
        if missing.name not in {"click", "rich"}:
            raise
        print(
            f"penstock: the command line needs {missing.name}; pip install 'penstock[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    finally:
        # All is said and done: whoever asks for a stop now gets the exit code all the same.
        for number in STOP:
            signal.signal(number, heed_the_next)


def heed_the_next(number: int, frame: FrameType | None) -> None:
    """Let a first signal pass, and end by a second one, should the exit take that long."""
    signal.signal(number, signal.SIG_DFL)


def ignore_signals() -> None:
    """From here on Python has no handlers any more: a signal would end it with another code."""
    for number in STOP:
        signal.signal(number, signal.SIG_IGN)
