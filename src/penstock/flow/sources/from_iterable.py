"""Flows from what can be iterated, and flows without elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from types import GeneratorType
from typing import Any

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started, unclosed
from penstock.flow.engine.stage import Origin

__all__ = [
    "Error",
    "FromIterable",
    "Never",
]


class FromIterable(Origin):
    """The elements of an iterable, iterated again for each run, on the thread that pulls it."""

    waits = False

    def __init__(self, name: str, iterable: Iterable[Any], *, checked: bool = False) -> None:
        super().__init__(name)
        self.iterable = iterable
        self.checked = checked
        self.replay = "none" if isinstance(iterable, Iterator) else "from_start"

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Start an iteration."""
        iterator = iter(self.iterable)
        run.sized = iterator
        if iterator is self.iterable:
            return unclosed(iterator)  # it belongs to its maker: it is not closed here
        if isinstance(iterator, GeneratorType) or not hasattr(iterator, "close"):
            return iterator
        return started(self._closing(iterator))

    def _closing(self, iterator: Iterator[Any]) -> Elements:
        """Unlike a generator, an iterator with ``close`` is not closed by its end."""
        try:
            yield None
            yield from unclosed(iterator)  # it is closed once, by `finally`
        finally:
            close(iterator)


class Error(Origin):
    """Nothing but an error."""

    replay = "from_start"
    waits = False
    checked = True

    def __init__(self, error: Exception) -> None:
        super().__init__("error")
        self._error = error

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Fail at once."""
        raise self._error


class Never(Origin):
    """Nothing at all."""

    replay = "from_start"
    checked = True

    def __init__(self) -> None:
        super().__init__("never")

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Wait forever."""
        return repeat(PENDING)
