"""Whom sources tell that something keeps them from their work.

Whoever assembles sources, as a pipeline does, may listen to each of them; no source needs to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Trouble", "listener", "listening_for_trouble"]

Trouble = Callable[[str], object]
"""Gets a sentence, or an empty text when all is well again."""

_listener: ContextVar[Trouble | None] = ContextVar("trouble", default=None)


@contextmanager
def listening_for_trouble(trouble: Trouble) -> Iterator[None]:
    """Have ``trouble`` told by all sources that are assembled meanwhile, whenever they run."""
    token = _listener.set(trouble)
    try:
        yield
    finally:
        _listener.reset(token)


def listener() -> Trouble | None:
    """Who wants to be told by a source that is assembled now."""
    return _listener.get()
