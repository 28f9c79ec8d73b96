"""What an operator says of itself: what it makes of a stream, and what it takes for that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import Publisher

__all__ = ["OperatorClaims"]

AMPLE: Final = 1_024
"""More elements than an operator should ask for ahead of time without saying so."""


@dataclass(frozen=True, kw_only=True)
class OperatorClaims:
    """What an operator does to a stream."""

    element: Callable[[int], Any] = int
    """Makes the element number n that goes in."""
    model: Callable[[list[Any]], Sequence[Any]] | None = None
    """What comes out of a stream of these elements; without it, the elements themselves."""
    failing: Callable[[Publisher[Any]], Publisher[Any]] | None = None
    """Applies the operator with a function that raises, at the first element or a later one."""
    discarded: Callable[[Publisher[Any]], Collection[Any]] | None = None
    """The elements that an operator, given what applying it returned, has discarded so far."""

    prefetch: int = AMPLE
    """The most elements that it asks for, and holds, while nobody below wants one."""
    unbounded: bool = False
    """It asks for elements without limit, whatever is requested from it."""
    cancels_early: bool = False
    """It cancels the stream above by itself when it has enough."""
    completes_eagerly: bool = False
    """Completion comes without demand behind the last element."""
    errors_overtake: bool = False
    """An error comes at once, ahead of elements that are held for want of demand."""
    absorbs_errors: bool = False
    """An error from above does not come out as an error."""
    shares: bool = False
    """All subscribers share one stream from above."""

    def __post_init__(self) -> None:
        if self.prefetch < 0:
            raise ValueError(f"prefetch must be at least 0, not {self.prefetch!r}")

    def out(self, elements: list[Any]) -> list[Any]:
        """What comes out of a stream of ``elements``."""
        return list(elements if self.model is None else self.model(elements))
