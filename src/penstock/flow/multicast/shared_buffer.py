"""Elements that several readers take at their own pace."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["SharedBuffer"]

T = TypeVar("T")


class SharedBuffer(Generic[T]):
    """A window of a stream: from the oldest element that a reader still needs to the newest.

    Positions count from the start of the stream. What all readers have passed is dropped; while
    there is no reader, everything is kept for the next one. Not thread-safe: the owner locks.
    """

    __slots__ = ("_elements", "_readers_at", "oldest")

    def __init__(self) -> None:
        self._elements: list[T] = []
        self._readers_at: dict[int, int] = {}
        self.oldest = 0

    @property
    def end(self) -> int:
        """The position after the newest element."""
        return self.oldest + len(self._elements)

    def append(self, element: T) -> None:
        """Add the newest element."""
        self._elements.append(element)

    def join(self, position: int) -> None:
        """A reader starts at ``position``."""
        self._readers_at[position] = self._readers_at.get(position, 0) + 1

    def read(self, position: int, most: int) -> list[T]:
        """The elements from ``position`` on, at most ``most`` of them; they stay."""
        start = position - self.oldest
        return self._elements[start : start + most]

    def move(self, position: int, to: int) -> None:
        """A reader moves on from ``position``."""
        if to != position:
            self.join(to)
            self.leave(position)

    def leave(self, position: int) -> None:
        """The reader at ``position`` needs nothing more from there."""
        if self._readers_at[position] > 1:
            self._readers_at[position] -= 1
            return
        del self._readers_at[position]
        if position == self.oldest:
            self._drop_what_nobody_needs()

    def _drop_what_nobody_needs(self) -> None:
        needed = min(self._readers_at, default=self.oldest)
        del self._elements[: needed - self.oldest]
        self.oldest = needed

    def __len__(self) -> int:
        return len(self._elements)
