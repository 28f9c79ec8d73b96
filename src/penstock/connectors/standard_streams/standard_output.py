"""Standard output as a sink."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from penstock.connectors.shared.formats import json_text
from penstock.connectors.shared.writer import Writer
from penstock.delivery import Epoch, Level
from penstock.flow.checks import require_callable

__all__ = ["write_standard_output"]


def write_standard_output(encode: Callable[[Any], str] = json_text) -> Writer:
    """A subscriber that writes each element on a line of standard output, as JSON.

    ``encode=str`` writes texts as they are. When nobody reads standard output any more, as after
    ``| head``, the stream is cancelled, and that is no error.

    Demand: 16 elements at a time. When an element is taken, the system has it.

    Delivery: at most once. Nothing is kept, and what a crash interrupts may be printed again.

    Errors: what ``encode`` raises, and ``OSError`` other than that, cancel the stream, go to the
    hook for undelivered errors, and stay in ``error``.

    Example:
        >>> from penstock.connectors import write_standard_output
        >>> writer = write_standard_output(str)
        >>> Flow.of("JFK", "EWR").subscribe(writer)  # doctest: +SKIP
        JFK
        EWR
    """
    return Writer(StandardOutput(require_callable("write_standard_output", encode)))


class StandardOutput:
    """A line for each element, as it comes; batches mean nothing here.

    ``encode`` is called on the thread that calls the sink.
    """

    level: Level = "at most once"

    def __init__(self, encode: Callable[[Any], str]) -> None:
        self._encode = encode

    def check(self, epoch: Epoch | None) -> str:
        """Nothing can be wrong beforehand."""
        return "writes to standard output, which keeps nothing"

    def open(self, epoch: Epoch | None) -> None:
        """Nothing to do: the system has opened it."""

    def begin(self, batch: int) -> bool:
        """Always wanted: what was printed before is not known."""
        return True

    def __call__(self, element: Any) -> None:
        """Write it; when this returns, the system has it."""
        line = f"{self._encode(element)}\n"
        file = sys.stdout
        try:
            file.write(line)
            file.flush()
        except BrokenPipeError:
            silence(file)
            raise

    def commit(self, batch: int) -> None:
        """Nothing to do: each row was written when it came."""

    def close(self) -> None:
        """It stays open for others."""


def silence(file: TextIO) -> None:
    """Let what is left of a file whose reader is gone go nowhere, also when it is closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file.fileno())
    os.close(nowhere)
