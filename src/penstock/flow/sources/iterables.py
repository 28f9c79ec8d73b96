"""Flows from what can be iterated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from penstock.flow.elements import Elements, Host, close, started, unclosed
from penstock.flow.stage import Origin

__all__ = ["FromIterable"]


class FromIterable(Origin):
    """The elements of an iterable, anew for each host."""

    waits = False

    def __init__(self, name: str, iterable: Iterable[Any], *, checked: bool = False) -> None:
        super().__init__(name)
        self.iterable = iterable
        self.checked = checked
        self.replay = "none" if isinstance(iterable, Iterator) else "from_start"

    def open(self, host: Host, each: int) -> Elements:
        """Start an iteration."""
        iterator = iter(self.iterable)
        host.sized = iterator
        if iterator is self.iterable:
            return unclosed(iterator)  # it belongs to whoever made it: it is not closed here
        if isinstance(iterator, GeneratorType) or not hasattr(iterator, "close"):
            return iterator
        return started(self._closing(iterator))

    def _closing(self, iterator: Iterator[Any]) -> Elements:
        """Unlike a generator, an iterator with ``close`` is not closed by its end."""
        try:
            yield None
            yield from unclosed(iterator)  # it is closed once, below
        finally:
            close(iterator)
