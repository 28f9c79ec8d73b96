"""Elements that come in portions: one by one they cost no step of Python."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import chain
from typing import Any, Final, TypeAlias

from penstock.flow.engine.run_context import PENDING, Elements

__all__ = ["NOTHING_YET", "Chunks", "chunked"]

Chunks: TypeAlias = Generator[Iterable[Any], None, None]
"""Elements and ``PENDING``, in portions."""

NOTHING_YET: Final = (PENDING,)
"""A portion of which nothing is there."""


class ChunkedElements(chain[Any]):
    """The elements of all portions that a generator gives."""

    __slots__ = ("chunks",)

    chunks: Chunks

    def close(self) -> None:
        """Cancel what gives them."""
        self.chunks.close()


def chunked(chunks: Chunks) -> Elements:
    """The elements of ``chunks``, one by one."""
    elements = ChunkedElements.from_iterable(chunks)
    assert isinstance(elements, ChunkedElements)
    elements.chunks = chunks
    return elements
