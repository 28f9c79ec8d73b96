"""What an operator says of itself: what it makes of a stream, and what it takes for that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import Publisher
from penstock.tck.claims import PublisherClaims

__all__ = ["OperatorClaims"]

AMPLE: Final = 1_024
"""More elements than an operator should ask for ahead of time without saying so."""


@dataclass(frozen=True, kw_only=True)
class OperatorClaims(PublisherClaims):
    """What an operator does to a stream.

    The claims of a publisher are about its lower side, above which the kit puts a publisher. So
    ``failed`` can be left out, since the kit lets that one fail. ``closed`` has no meaning here.
    """

    repeatable: bool = True
    """What comes out depends on what goes in, and on nothing else."""
    element: Callable[[int], Any] = int
    """Makes the element number n that goes in."""
    expected: Callable[[list[Any]], Sequence[Any]] | None = None
    """What comes out of a stream of these elements; without it, the elements themselves."""
    needs_elements: int = 0
    """A stream of fewer elements than these ends by an error, as the last of none would."""
    in_sequence: bool = True
    """What comes out has the sequence of ``expected``."""
    failing: Callable[[Publisher[Any]], Publisher[Any]] | None = None
    """Applies the operator with a function that raises, at the first element or a later one."""
    watched: Callable[[Publisher[Any], Callable[[], None]], Publisher[Any]] | None = None
    """Applies the operator with a function that calls this one, for an element at least."""
    poison: Callable[[], Any] | None = None
    """Makes an element at which the operator's own code fails."""
    discarded: Callable[[Publisher[Any]], Collection[Any]] | None = None
    """The elements that an operator, given what applying it returned, has discarded so far."""

    prefetch: int = AMPLE
    """The most elements that it asks for, and holds, while nobody below wants one."""
    unbounded: bool = False
    """It asks for elements without limit, whatever is requested from it."""
    cancels_early: bool = False
    """It cancels the stream above by itself when it has enough, and completes."""
    errors_overtake: bool = False
    """An error comes at once, ahead of elements that are held for want of demand."""
    absorbs_errors: bool = False
    """An error from above does not come out as an error."""
    resubscribes: bool = False
    """It subscribes to its source again when a stream of it has ended."""
    shares: bool = False
    """All subscribers share one stream from above."""
    holds_elements: bool = False
    """It keeps elements when a stream is over, for the next subscriber."""
    keeps_context: bool = False
    """Signals and functions run in the context of who subscribed, if the source's own do."""
    calls_nothing_cancelled: bool = False
    """It never calls a subscription that it has cancelled."""

    def __post_init__(self) -> None:
        for name in ("prefetch", "needs_elements"):
            number = getattr(self, name)
            if number < 0:
                raise ValueError(f"{name} must be at least 0, not {number!r}")

    def out(self, elements: list[Any]) -> list[Any]:
        """What comes out of a stream of ``elements``."""
        return list(elements if self.expected is None else self.expected(elements))
