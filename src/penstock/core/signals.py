"""The signals of a publisher as values: what came, and what a test or an operator makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from penstock.runtime import shorten

__all__ = ["OnComplete", "OnError", "OnNext", "OnSubscribe", "Signal"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnSubscribe:
    """``on_subscribe`` came, ``at`` so many seconds of the recording's clock."""

    at: float = field(default=0.0, compare=False, repr=False)

    def __str__(self) -> str:
        return "on_subscribe()"


@dataclass(frozen=True, slots=True, init=False)
class OnNext(Generic[T]):
    """``on_next`` brought an element. When it came does not count in a comparison."""

    element: T
    at: float = field(default=0.0, compare=False, repr=False)

    def __init__(self, element: T, at: float = 0.0) -> None:
        # Not by name, as a frozen dataclass does: a flow may make one for each element.
        SET_ELEMENT(self, element)
        SET_AT(self, at)

    def __str__(self) -> str:
        return f"on_next({shorten(self.element)})"


SET_ELEMENT: Final = vars(OnNext)["element"].__set__
SET_AT: Final = vars(OnNext)["at"].__set__


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
