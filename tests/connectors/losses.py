"""What a source says that it has lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.connectors.shared.reconnecting import listening

__all__ = ["Losses", "losses"]

PASSWORD = "s3cret"


class Losses:
    """How many elements each time; ``None`` where that is not known. It never hears a password."""

    def __init__(self) -> None:
        self.counts: list[int | None] = []

    def connects_to(self, url: str) -> None:
        assert PASSWORD not in url

    def has_advice(self, words: str) -> None:
        assert PASSWORD not in words

    def has_trouble(self, words: str) -> None:
        assert PASSWORD not in words

    def has_lost(self, elements: int | None, words: str) -> None:
        assert PASSWORD not in words
        self.counts.append(elements)


@contextmanager
def losses() -> Iterator[Losses]:
    """Those of the sources that are made within the block."""
    with listening(found := Losses()):
        yield found
