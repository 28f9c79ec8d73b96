"""A buffer with a bound."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from penstock.api import UNBOUNDED
from penstock.runtime import NewLock
from penstock.runtime.arguments import require_int
from penstock.runtime.executor import ReentrantLock

__all__ = ["BoundedBuffer"]

T = TypeVar("T")


class BoundedBuffer(Generic[T]):
    """Elements on their way from one thread to another, oldest first, at most ``capacity``.

    The reader takes a chunk at a time, so that crossing threads costs one lock per chunk.
    """

    __slots__ = ("_elements", "_lock", "_peak", "capacity")

    def __init__(self, capacity: int, new_lock: NewLock = ReentrantLock) -> None:
        self.capacity = require_int("BoundedBuffer", "capacity", capacity)
        self._lock = new_lock()
        self._elements: deque[T] = deque()
        self._peak = 0

    def offer(self, element: T) -> bool:
        """Append ``element``; ``False`` when there is no room, and then nothing changed."""
        with self._lock:
            if len(self._elements) >= self.capacity:
                return False
            self._elements.append(element)
            if len(self._elements) > self._peak:
                self._peak = len(self._elements)
            return True

    def put(self, element: T) -> None:
        """Append ``element`` where there must be room; ``OverflowError`` when there is none."""
        with self._lock:
            elements = self._elements
            if len(elements) < self.capacity:
                elements.append(element)
                if len(elements) > self._peak:
                    self._peak = len(elements)
                return
        raise OverflowError(f"{self!r} is full, and yet one more element came")

    def take(self, most: int = UNBOUNDED) -> list[T]:
        """Take out the oldest elements, at most ``most`` of them."""
        with self._lock:
            elements = self._elements
            if most >= len(elements):
                chunk = list(elements)
                elements.clear()
                return chunk
            return [elements.popleft() for _ in range(most)]

    @property
    def room(self) -> int:
        """How many elements fit in now."""
        return self.capacity - len(self._elements)

    @property
    def peak(self) -> int:
        """The most elements that were ever inside at once."""
        return self._peak

    def __len__(self) -> int:
        return len(self._elements)

    def __repr__(self) -> str:
        return f"BoundedBuffer({len(self)} of {self.capacity})"
