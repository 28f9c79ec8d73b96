"""What an implementation claims to do; what is not claimed is listed, never passed.

Functions among the claims are called on the thread of the check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Any, Final

from penstock.api import UNBOUNDED, Publisher, Subscriber

__all__ = [
    "NotClaimed",
    "OperatorClaims",
    "ProcessorClaims",
    "PublisherClaims",
    "SubscriberClaims",
]


class NotClaimed(Exception):
    """A check needs something that was not claimed; the text says what."""


@dataclass(frozen=True, kw_only=True)
class PublisherClaims:
    """What a publisher can do beyond sending elements."""

    failed: Callable[[], Publisher[Any]] | None = None
    """Makes a publisher whose stream fails, at once or after some elements."""
    max_elements: int = UNBOUNDED
    """The most elements that the factory can be asked for."""
    completes: bool = True
    """Streams of n elements end with on_complete. Without it they may be endless."""
    completes_eagerly: bool = False
    """They end without waiting for demand after the last element."""
    repeatable: bool = False
    """Each publisher that the factory makes sends the same elements in the same order."""

    answers_within: float = 0.0
    """Seconds that an answer may take while no thread of this process moves, since the work is done
    by other processes. Such an implementation is judged in real time."""

    concurrent_requests: bool = False
    """request may be called by several threads at once, which subscribers must not do (2.7)."""
    strict_types: bool = False
    """request with anything but an int, or with a bool, is answered with on_error(TypeError)."""
    explains_illegal_requests: bool = False
    """The error for an illegal request names rule 3.9."""
    passes_interrupts: bool = True
    """A KeyboardInterrupt in a signal that comes from within request passes through to its caller.
    One that runs signals as tasks, and keeps all that they raise, has to say that it does not."""
    reports_to_hook: bool = False
    """What a subscriber raises goes to the hook of ``penstock.runtime``, once."""
    closed: Callable[[Publisher[Any]], int] | None = None
    """How often a publisher has closed the source of a stream so far."""
    unclosable: Callable[[], Publisher[Any]] | None = None
    """Makes a publisher of at least two elements whose source raises when it is closed."""

    multicast: bool = False
    """All subscribers of one publisher get the same elements in the same order."""
    keeps_for_newcomers: bool = False
    """A newcomer starts with the oldest element that another subscriber is still to get."""
    refuses_same_subscriber: bool = False
    """A subscriber that is subscribed gets on_error(RuntimeError) when it subscribes again."""
    stays_completed: bool = False
    """Once its stream has completed, newcomers get on_complete without a request."""
    stays_failed: bool = False
    """Once its stream has failed, newcomers get the same error without a request."""
    shuts_down_when_idle: bool = False
    """Once the last subscription is cancelled, newcomers get a terminal signal and nothing else."""
    keep_alive: Callable[[Publisher[Any]], AbstractContextManager[object]] | None = None
    """Keeps a publisher from shutting down for the time of a ``with`` block."""


def claims_of(kind: type[Any], options: dict[str, Any]) -> Any:
    """The claims, or a ``TypeError`` that names the unknown one and what is allowed."""
    allowed = [field.name for field in fields(kind)]
    for name in options:
        if name not in allowed:
            raise TypeError(f"there is no claim {name!r}; there are {', '.join(allowed)}")
    return kind(**options)


@dataclass(frozen=True, kw_only=True)
class SubscriberClaims:
    """What a subscriber can do, and what the kit may see and steer.

    Each function gets the subscriber that the factory made. ``puppet``, ``received``, ``completed``
    and ``failed`` open the box: with them the kit verifies what cannot be seen from outside.
    """

    element: Callable[[int], Any] = int
    """Makes the element to send for a number."""
    poison: Callable[[], Any] | None = None
    """Makes an element on which the subscriber's own code fails."""
    joins: Callable[[Subscriber[Any], Publisher[Any]], object] | None = None
    """Connects it to a publisher, where its users do not do that by ``subscribe``."""
    stops_after: int | None = None
    """It cancels on its own after this many elements."""

    puppet: Callable[[Subscriber[Any]], Any] | None = None
    """What its user drives it with: an object with ``request(n)`` and ``cancel()``.

    That may be the subscriber itself, and None as long as it has no subscription. Without a puppet
    it has to request on its own.
    """
    puppet_of_many_threads: bool = False
    """The puppet may be used by several threads at once."""
    received: Callable[[Subscriber[Any]], Any] | None = None
    """The elements that it has processed so far."""
    in_order: bool = False
    """It processes elements in the order in which they arrive."""
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
        if self.in_order and self.received is None:
            raise ValueError("the claim in_order needs the claim received")


@dataclass(frozen=True, kw_only=True)
class ProcessorClaims(PublisherClaims):
    """What a processor can do.

    The claims of a publisher are about its downstream side; the kit puts a publisher upstream. So
    ``failed`` and ``closed`` can be left out: the kit makes that one fail, and counts its cancels.
    """

    repeatable: bool = True
    """What comes out depends on what goes in, and on nothing else."""
    element: Callable[[int], Any] = int
    """Makes the input element for a number."""
    expected: Callable[[Any], Any] | None = None
    """What comes out for an element that went in; without it, the element itself."""
    poison: Callable[[], Any] | None = None
    """Makes an element on which the processor's own code fails."""
    calls_nothing_cancelled: bool = False
    """It never calls a subscription that it has cancelled."""

    recovers: bool = False
    """An error from upstream does not end the stream downstream: it goes on, or completes."""
    asks_when_asked: bool = False
    """It requests nothing upstream until something is requested from it."""
    cancels_upstream: bool = False
    """It cancels upstream once its last subscriber has left."""
    takes_unasked: bool = False
    """It keeps at least two elements that arrive without demand, and sends them when requested."""
    from_source: Callable[[Publisher[Any]], Any] | None = None
    """Makes a processor that subscribes to a publisher once it has a subscriber, not before."""

    def out(self, element: Any) -> Any:
        """What comes out for ``element``."""
        return element if self.expected is None else self.expected(element)


AMPLE: Final = 1_024
"""More elements than an operator should ask for ahead of time without saying so."""


@dataclass(frozen=True, kw_only=True)
class OperatorClaims(PublisherClaims):
    """What an operator does to a stream.

    The claims of a publisher are about its downstream side; the kit puts a publisher upstream. So
    ``failed`` can be left out, since the kit makes that one fail. ``closed`` has no meaning here.
    """

    repeatable: bool = True
    """What comes out depends on what goes in, and on nothing else."""
    element: Callable[[int], Any] = int
    """Makes the input element for a number."""
    expected: Callable[[list[Any]], Sequence[Any]] | None = None
    """What comes out of a stream of these elements; without it, the elements themselves."""
    needs_elements: int = 0
    """A stream of fewer elements ends with an error, as ``last`` of an empty one does."""
    in_order: bool = True
    """What comes out is in the order of ``expected``."""
    failing: Callable[[Publisher[Any]], Publisher[Any]] | None = None
    """Applies the operator with a function that raises, at the first element or a later one."""
    watched: Callable[[Publisher[Any], Callable[[], None]], Publisher[Any]] | None = None
    """Applies the operator with a function that calls the given one for at least one element."""
    poison: Callable[[], Any] | None = None
    """Makes an element on which the operator's own code fails."""
    discarded: Callable[[Publisher[Any]], Collection[Any]] | None = None
    """The elements that an operator, given what applying it returned, has discarded so far."""

    prefetch: int = AMPLE
    """The most elements that it requests and holds while there is no demand downstream."""
    unbounded: bool = False
    """It requests elements without limit, whatever is requested from it."""
    cancels_early: bool = False
    """It cancels upstream on its own once it has enough, and completes."""
    errors_overtake: bool = False
    """An error is delivered at once, ahead of elements that are held for lack of demand."""
    absorbs_errors: bool = False
    """An error from upstream does not come out as an error."""
    resubscribes: bool = False
    """It subscribes to its source again when a stream of it has ended."""
    shares: bool = False
    """All subscribers share one stream from upstream."""
    holds_elements: bool = False
    """It keeps elements after a stream is over, for the next subscriber."""
    keeps_context: bool = False
    """Signals and functions run in the context of the subscriber, if those of the source do."""
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
