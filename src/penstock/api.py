"""The standard on one page: the four types of Reactive Streams and the largest demand.

    on_subscribe  on_next*  (on_error | on_complete)?

A publisher sends these signals to a subscriber, one at a time and never more elements than the
subscriber asked for through its subscription. All methods are plain calls: a signal neither
blocks nor awaits. The types are structural, so a class of any other library that has these
methods takes part. ``penstock spec 3.9`` explains the rules that the docstrings name.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar, runtime_checkable

__all__ = ["UNBOUNDED", "Processor", "Publisher", "Subscriber", "Subscription"]

T_co = TypeVar("T_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

UNBOUNDED: Final = 2**63 - 1
"""The largest demand. A sum of requests that reaches it counts as "no limit" (rule 3.17)."""


@runtime_checkable
class Publisher(Protocol[T_co]):
    """Provides elements in order, to each subscriber at the pace of its own demand."""

    def subscribe(self, subscriber: Subscriber[T_co]) -> None:
        """Start a stream to ``subscriber``, which gets ``on_subscribe`` before all else.

        ``None`` raises ``TypeError``; every other failure is an ``on_error`` after
        ``on_subscribe``, never an exception to the caller.

        Rules: 1.1 to 1.8 for the signals that follow, 1.9, 1.10, 1.11.
        """


@runtime_checkable
class Subscriber(Protocol[T_contra]):
    """Receives one stream, and decides through its subscription how much of it and when."""

    def on_subscribe(self, subscription: Subscription) -> None:
        """The stream is ready; nothing flows before ``subscription.request``.

        Called once. A subscriber that already has a subscription cancels the new one.

        Rules: 1.9, 2.1, 2.5, 2.12, 2.13, 3.2.
        """

    def on_next(self, element: T_contra) -> None:
        """The next element; there are never more of them than were requested.

        May still arrive for a while after ``cancel``. ``None`` is not an element.

        Rules: 1.1, 1.3, 2.2, 2.8, 2.11, 2.13.
        """

    def on_error(self, error: Exception) -> None:
        """The stream failed; nothing follows. Needs no demand.

        Rules: 1.4, 1.6, 1.7, 2.3, 2.4, 2.10, 2.13.
        """

    def on_complete(self) -> None:
        """The stream ended well; nothing follows. Needs no demand.

        Rules: 1.5, 1.6, 1.7, 2.3, 2.4, 2.9, 2.13.
        """


@runtime_checkable
class Subscription(Protocol):
    """The bond between one publisher and one subscriber, held by the subscriber."""

    def request(self, n: int) -> None:
        """Ask for ``n`` more elements; requests add up, at most to ``UNBOUNDED``.

        Never raises: ``n <= 0`` is answered by ``on_error(ValueError)``, something that is no
        ``int`` by ``on_error(TypeError)``. Ignored once the subscription is cancelled.

        Rules: 2.7, 3.1 to 3.4, 3.6, 3.8 to 3.11, 3.16, 3.17.
        """

    def cancel(self) -> None:
        """Stop the stream, soon rather than at once, and drop the subscriber.

        Never raises, may be called from any thread and as often as one likes.

        Rules: 2.6, 2.7, 3.1, 3.5, 3.7, 3.12 to 3.15.
        """


@runtime_checkable
class Processor(Subscriber[T_contra], Publisher[R_co], Protocol[T_contra, R_co]):
    """A stage: a subscriber to what is upstream and a publisher to what is downstream.

    Rules: 4.1, 4.2, and all those of both sides.
    """
