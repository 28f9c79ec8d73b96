"""What a processor says of itself beyond what any publisher can say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.api import Publisher
from penstock.tck.claims import PublisherClaims

__all__ = ["ProcessorClaims"]


@dataclass(frozen=True, kw_only=True)
class ProcessorClaims(PublisherClaims):
    """What a processor can do.

    The claims of a publisher are about its lower side, above which the kit puts a publisher. So
    ``failed`` and ``closed`` can be left out: the kit lets that one fail, and sees its cancels.
    """

    repeatable: bool = True
    """What comes out depends on what goes in, and on nothing else."""
    element: Callable[[int], Any] = int
    """Makes the element number n that goes in."""
    expected: Callable[[Any], Any] | None = None
    """What comes out for an element that went in; without it, the element itself."""
    poison: Callable[[], Any] | None = None
    """Makes an element at which the processor's own code fails."""
    calls_nothing_cancelled: bool = False
    """It never calls a subscription that it has cancelled."""

    recovers: bool = False
    """An error from above does not end the stream below: it goes on, or completes."""
    asks_when_asked: bool = False
    """It requests nothing from above before something was requested from it."""
    cancels_upstream: bool = False
    """It cancels the stream above when its last subscriber has left."""
    takes_unasked: bool = False
    """It keeps at least two elements that come without demand, and sends them when requested."""
    from_source: Callable[[Publisher[Any]], Any] | None = None
    """Makes a processor that subscribes to a publisher once it has a subscriber, not before."""

    def out(self, element: Any) -> Any:
        """What comes out for ``element``."""
        return element if self.expected is None else self.expected(element)
