"""Flows from what can be iterated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from penstock.flow.engine.run_context import Elements, RunContext, close, started, unclosed
from penstock.flow.engine.stage import Origin

__all__ = ["FromIterable"]


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
