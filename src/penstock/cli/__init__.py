"""The command line: ``penstock``. Its commands live in one module each, loaded when called.

``application.py``   the ``penstock`` command and the list of its subcommands, none of which is
                     loaded for --help
``run.py``           ``penstock run``: runs a pipeline, shows what it does, and ends it without loss
``check.py``         ``penstock check``: checks all that a run would need, without moving data
``checkpoint.py``    ``penstock checkpoint``: look at a checkpoint, back it up, rewind it, or begin
                     again
``doctor.py``        ``penstock doctor``: whether a pipeline on Spark can run here, and if not, what
                     to do
``demo.py``          ``penstock demo``: a blizzard goes through Spark, with a page to watch it
``init.py``          ``penstock init``: writes a small working pipeline with its test
``deploy.py``        ``penstock deploy``: writes the files that run a pipeline for months, and those
                     that watch it
``spec.py``          ``penstock spec``: the 43 rules and the glossary, for people and, by --json,
                     for programs
``tck.py``           ``penstock tck``: verifies what a factory makes against the rules, without a
                     test file
``arguments.py``     the arguments of commands: the options of ``run`` and ``check``, and what a
                     reference names
``places.py``        whether a place can hold a checkpoint: tried out, and left as it was
``spark_check.py``   what a pipeline needs to run on Spark: its functions, its checkpoint, its query
``findings.py``      what ``check`` and ``doctor`` find, one line for each thing they check
``progress.py``      what ``penstock run`` says while a pipeline runs, and what a terminal shows
``log_progress.py``  what it says without a terminal: a line now and then, or next to nothing
``service.py``        what it tells the service manager that has started it, such as systemd
``failures.py``      errors on the command line: one clear line; the traceback only with ``--debug``
"""

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
        # All is done: a signal that asks for a stop now must not change the exit code.
        for number in STOP:
            signal.signal(number, heed_the_next)


def heed_the_next(number: int, frame: FrameType | None) -> None:
    """Let a first signal pass, and end by a second one, should the exit take that long."""
    signal.signal(number, signal.SIG_DFL)


def ignore_signals() -> None:
    """From here on Python has no handlers any more: a signal would end it with another code."""
    for number in STOP:
        signal.signal(number, signal.SIG_IGN)
