"""What a subscriber lets the kit see and do beyond its four methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.api import Publisher, Subscriber

__all__ = ["SubscriberClaims"]


@dataclass(frozen=True, kw_only=True)
class SubscriberClaims:
    """What a subscriber can do, and what the kit may see and steer.

    Each function gets the subscriber that the factory made. ``puppet``, ``received``, ``completed``
    and ``failed`` open the box: with them the kit verifies what cannot be seen from outside.
    """

    element: Callable[[int], Any] = int
    """Makes the element number n to send."""
    poison: Callable[[], Any] | None = None
    """Makes an element at which the subscriber's own code fails."""
    joins: Callable[[Subscriber[Any], Publisher[Any]], object] | None = None
    """Joins it to a publisher, if its users do that by something else than ``subscribe``."""
    stops_after: int | None = None
    """It cancels by itself after so many elements."""

    puppet: Callable[[Subscriber[Any]], Any] | None = None
    """What its user steers it with: an object with ``request(n)`` and ``cancel()``.

    That may be the subscriber itself, and None as long as it has no subscription. Without a puppet
    it has to request by itself.
    """
    puppet_of_many_threads: bool = False
    """The puppet may be used by several threads at once."""
    received: Callable[[Subscriber[Any]], Any] | None = None
    """The elements that it has processed so far."""
    in_sequence: bool = False
    """It processes elements in the sequence in which they come."""
    completed: Callable[[Subscriber[Any]], Any] | None = None
    """Whether it has processed ``on_complete``."""
    failed: Callable[[Subscriber[Any]], Any] | None = None
    """Whether it has processed ``on_error``; the error itself will do."""

    only_hands_over: bool = False
    """No signal calls the subscription or the publisher: that happens elsewhere, later."""
    calls_nothing_cancelled: bool = False
    """It never calls a subscription that it has cancelled."""

    def __post_init__(self) -> None:
        if self.stops_after is not None and self.stops_after < 1:
            raise ValueError(f"stops_after must be at least 1, not {self.stops_after!r}")
        if self.puppet_of_many_threads and self.puppet is None:
            raise ValueError("the claim puppet_of_many_threads needs the claim puppet")
        if self.in_sequence and self.received is None:
            raise ValueError("the claim in_sequence needs the claim received")
