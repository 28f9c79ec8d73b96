"""The signals of a publisher as values: what came, and what a test or an operator makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from penstock.runtime import shorten

__all__ = ["OnComplete", "OnError", "OnNext", "OnSubscribe", "Signal"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnSubscribe:
    """``on_subscribe`` came, ``at`` so many seconds of the recording's clock."""

    at: float = field(default=0.0, compare=False, repr=False)

    def __str__(self) -> str:
        return "on_subscribe()"


@dataclass(frozen=True, slots=True)
class OnNext(Generic[T]):
    """``on_next`` brought an element. When it came does not count in a comparison."""

    element: T
    at: float = field(default=0.0, compare=False, repr=False)

    def __str__(self) -> str:
        return f"on_next({shorten(self.element)})"


@dataclass(frozen=True, slots=True)
class OnError:
    """``on_error`` ended the stream. Two of them are equal when the error is the same object."""

    error: Exception
    at: float = field(default=0.0, compare=False, repr=False)

    def __str__(self) -> str:
        return f"on_error({shorten(self.error)})"


@dataclass(frozen=True, slots=True)
class OnComplete:
    """``on_complete`` ended the stream."""

    at: float = field(default=0.0, compare=False, repr=False)

    def __str__(self) -> str:
        return "on_complete()"


Signal: TypeAlias = OnSubscribe | OnNext[T] | OnError | OnComplete
"""What a publisher signals to a subscriber."""
