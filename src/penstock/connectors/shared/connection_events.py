"""Listeners that are told where sources connect to, and what keeps them from their work.

Code that assembles sources, as a pipeline does, may listen to all of them; no source needs to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

__all__ = ["SourceListener", "announced", "current_listener", "listening"]


class SourceListener(Protocol):
    """Is told by a source what happens to it; called on any thread."""

    def connects_to(self, url: str) -> object:
        """The source was assembled, and will connect there when it runs. The url has no secrets."""

    def has_advice(self, words: str) -> object:
        """The source works as it was assembled, but should be changed. No secrets in ``words``."""

    def has_trouble(self, words: str) -> object:
        """Something keeps it from its work; an empty text says that all is well again."""

    def has_lost(self, elements: int | None, words: str) -> object:
        """Elements can never be read any more: so many, or ``None`` if it is not known how many."""


_listener: ContextVar[SourceListener | None] = ContextVar("listener of sources", default=None)


@contextmanager
def listening(listener: SourceListener) -> Iterator[None]:
    """Have ``listener`` told by all sources that are assembled meanwhile, whenever they run."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current_listener() -> SourceListener | None:
    """The listener of a source that is assembled now."""
    return _listener.get()


def announced(url: str) -> SourceListener | None:
    """Say where a source connects to; returns the listener to tell what keeps it from that."""
    listener = current_listener()
    if listener is not None:
        listener.connects_to(url)
    return listener
