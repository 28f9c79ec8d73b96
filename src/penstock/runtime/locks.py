"""The shape of a lock. Classes that need one take a factory, so that a test can own each switch."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, TypeAlias

__all__ = ["Lock", "NewLock"]


class Lock(Protocol):
    """What we use of ``threading.RLock``: it is entered, left, and never held across a call out.

    The same thread must be able to enter it twice: a signal handler, or a ``__del__``, may cancel a
    stream at a moment when the thread that it interrupts is about to do the same.
    """

    def __enter__(self) -> bool:
        """Wait until nobody holds the lock, then hold it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lock."""


NewLock: TypeAlias = Callable[[], Lock]
"""Makes a lock; ``threading.RLock`` unless a test brings its own."""
